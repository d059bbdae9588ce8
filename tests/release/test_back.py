"""The field has a say about a policy that the exam released."""

from typing import Literal

import numpy as np
import pytest

from gaploop.core import BucketChange, Exam, FieldRun
from gaploop.release import ReleaseRule, decide
from gaploop.release.back import agrees


def runs(*counts: tuple[str, int]) -> list[FieldRun]:
    return [FieldRun(policy=policy, k=k, n=20) for policy, k in counts]


def exam(before: int, after: int, direction: Literal["rose", "unchanged"]) -> Exam:
    """A candidate examined against policy `new` at 150 fresh starts."""
    fresh = BucketChange(
        bucket="anywhere", before_k=before, after_k=after, n=150, p_value=0.0, lo=0.0, hi=0.0,
        direction=direction, fresh=True,
    )  # fmt: skip
    worked = BucketChange(
        bucket="worked", before_k=90, after_k=95, n=100, p_value=1.0, lo=-3.0, hi=12.0,
        direction="unchanged",
    )  # fmt: skip
    return Exam(
        policy="candidate", against="new", hard_set="h", scores=(), baseline=(),
        changes=(worked, fresh), healed=(),
    )  # fmt: skip


FELL = runs(("old", 16), ("new", 3))


def test_a_policy_that_fell_in_the_field_is_taken_back() -> None:
    decision = decide(exam(120, 122, "unchanged"), ReleaseRule(), FELL)
    assert (decision.verdict, decision.back_to) == ("roll back", "old")
    assert "3/20" in decision.sentence
    assert "16/20" in decision.sentence
    assert [g.passed for g in decision.gates] == [True, False, True, False]


def test_chance_takes_nothing_back() -> None:
    for k, verdict in ((12, "hold"), (11, "roll back")):
        decision = decide(exam(90, 92, "unchanged"), ReleaseRule(), runs(("old", 16), ("new", k)))
        assert decision.verdict == verdict


def test_going_back_without_need_is_rarer_than_the_level() -> None:
    """Two equally good policies, 20 attempts each."""
    rng = np.random.default_rng(0)
    rule = ReleaseRule()
    for rate in (0.3, 0.6, 0.9):
        counts = rng.binomial(20, rate, (400, 2))
        back = [bool(agrees(runs(("old", a), ("new", b)), rule)[1]) for a, b in counts.tolist()]
        assert np.mean(back) < rule.field_doubt


def test_a_candidate_that_mends_what_the_exam_shows_goes_out() -> None:
    """The exam has the acting policy fail as the field has it: it was told why."""
    decision = decide(exam(20, 140, "rose"), ReleaseRule(), FELL)
    assert (decision.verdict, decision.back_to) == ("promote", "")
    assert "20/150 -> 140/150" in decision.sentence
    assert "3/20 in the field, 16/20" in decision.sentence
    assert decision.gates[3].passed is False


def test_a_candidate_that_only_beats_a_bad_policy_in_a_wrong_world_does_not() -> None:
    decision = decide(exam(110, 140, "rose"), ReleaseRule(), FELL)
    assert (decision.verdict, decision.back_to) == ("roll back", "old")
    assert "does not show this" in decision.sentence
    assert decide(exam(110, 140, "rose"), ReleaseRule()).verdict == "promote"


def test_the_reference_is_the_best_earlier_policy_by_all_its_runs() -> None:
    field = runs(("first", 2), ("best", 14), ("bad", 3), ("best", 18), ("last", 4))
    gate, back = agrees(field, ReleaseRule())
    assert back == "best"
    assert "32/40" in gate.evidence
    assert agrees([*field[:-1], *runs(("best", 10))], ReleaseRule())[1] == ""


@pytest.mark.parametrize("field", [[], runs(("only", 0)), [FieldRun(policy="x", k=0, n=0)]])
def test_without_an_earlier_policy_there_is_nothing_to_go_back_to(field: list[FieldRun]) -> None:
    gate, back = agrees(field, ReleaseRule())
    assert (gate.passed, back) == (True, "")
    assert decide(exam(20, 140, "rose"), ReleaseRule(), field).verdict == "promote"
