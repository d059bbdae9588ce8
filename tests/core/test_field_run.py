import numpy as np

from gaploop.core import Episode, Label, Signal, field_run


def attempt(success: bool | None, takeovers: int = 0) -> Episode:
    signal = Signal(name="action", times=np.zeros(1), values=np.zeros((1, 1)))
    facts = [
        Label(subject="", key="intervention", value={"start": i}, author="test")
        for i in range(takeovers)
    ]
    if success is not None:
        facts.append(Label(subject="", key="outcome", value={"success": success}, author="test"))
    return Episode(signals={"action": signal}, facts=tuple(facts))


def test_what_a_person_helped_with_is_not_the_policys_success() -> None:
    attempts = [attempt(True)] * 12 + [attempt(True, 1)] * 5 + [attempt(False, 2), attempt(False)]
    run = field_run("p", [*attempts, attempt(None), attempt(None, 1)])
    assert (run.k, run.helped, run.n, run.takeovers) == (12, 5, 19, 7)
    assert round(run.per_100) == 37


def test_no_attempt_has_no_takeovers() -> None:
    assert field_run("p", []).per_100 == 0.0
