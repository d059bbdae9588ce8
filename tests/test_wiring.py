"""What the wiring decides by itself: when a posterior stands, what a candidate is trained on."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gaploop import wiring
from gaploop.core import (
    Admission,
    BucketChange,
    Curation,
    Episode,
    Exam,
    HardSet,
    Label,
    Mend,
    Signal,
)
from gaploop.release import ReleaseRule
from gaploop.train import TrainConfig


def turn(*logs: tuple[bool | None, bool]) -> Any:
    """A round with these (success, helped) whose policy carries no mend."""
    told = [SimpleNamespace(success=success, helped=helped) for success, helped in logs]
    return SimpleNamespace(logs=lambda: told, mends=(), policy_folder=lambda name, back: back)


def posterior(shifts: Any = None) -> Any:
    return SimpleNamespace(episodes=("a",), shifts=shifts or {})


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> list[Mend]:
    """Mends of the policy that acted the round before."""
    mends: list[Mend] = []
    monkeypatch.setattr("gaploop.policies.mend.read_mends", lambda folder: tuple(mends))
    return mends


@pytest.mark.parametrize(
    ("log", "stands"),
    [((True, False), True), ((True, True), False), ((False, False), False), ((None, False), False)],
)
def test_a_posterior_stands_where_the_policy_did_everything_alone(
    before: list[Mend], log: tuple[bool | None, bool], stands: bool
) -> None:
    assert wiring._stands(turn((True, False), log), posterior()) is stands


def test_it_does_not_where_units_differ_or_mends_changed(before: list[Mend]) -> None:
    assert not wiring._stands(turn((True, False)), posterior({"unit-1": 0}))
    mend = Mend(feature="action", cause="mechanical", order=(0,), scale=(1.0,), offset=(0.1,))
    before.append(mend)
    assert not wiring._stands(turn((True, False)), posterior())


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, float]]:
    """Sources and their weights of each training."""
    seen: list[dict[str, float]] = []

    def fit(turn: Any, sources: list[list[str]], weights: list[float]) -> tuple[str, str]:
        seen.append(dict(zip((s[0] for s in sources), weights, strict=True)))
        return "new", "report"

    def made(turn: Any) -> tuple[list[list[str]], list[float]]:
        rounds = [k for k in range(4) if f"data@r{k}" in turn.refs]
        return [[turn.refs[f"data@r{k}"]] for k in rounds], [2.0**k for k in rounds]

    monkeypatch.setattr(wiring, "_trained", fit)
    monkeypatch.setattr(wiring, "_all_mends", lambda turn: ())
    monkeypatch.setattr(wiring, "_mended", lambda turn, policy, mends: policy)
    monkeypatch.setattr(wiring, "demonstrations", made)
    return seen


def third(trains: bool, refs: dict[str, str], field_share: float = 0.5) -> Any:
    """Round 3; without data of its own unless `refs` says so."""
    refs = {"data@r0": "d0", "data@r2": "d2", **refs}
    curation = SimpleNamespace(trains=trains)
    config = SimpleNamespace(train=TrainConfig(field_half=20, field_share=field_share))
    return SimpleNamespace(
        number=3, refs=refs, config=config, need=lambda name, cls: curation,
        ref=lambda name, back=0: refs.get(f"{name}@r{3 - back}", ""),
        episodes=lambda name: [refs[f"{name}@r3"]] * 20,
    )  # fmt: skip


def test_the_field_gets_its_share(trained: list[dict[str, float]]) -> None:
    wiring.train(third(True, {"data@r3": "d3", "admitted@r3": "a3"}))
    total = sum(trained[0].values())
    assert {k: v / total for k, v in trained[0].items()} == pytest.approx(
        {"d0": 0.75 / 13, "d2": 0.75 * 4 / 13, "d3": 0.75 * 8 / 13, "a3": 0.25}
    )


def test_corrections_are_trained_on_without_new_demonstrations(
    trained: list[dict[str, float]],
) -> None:
    assert wiring.train(third(True, {"admitted@r3": "a3"}))["candidate"] == "new"
    assert set(trained[0]) == {"d0", "d2", "a3"}


def test_successes_alone_train_nothing(trained: list[dict[str, float]]) -> None:
    made = wiring.train(third(False, {"admitted@r3": "a3", "policy@r2": "old"}))
    assert made == {"candidate": "old"}
    assert trained == []


def test_a_share_of_nothing_leaves_the_field_out(trained: list[dict[str, float]]) -> None:
    wiring.train(third(True, {"data@r3": "d3", "admitted@r3": "a3"}, 0.0))
    assert set(trained[0]) == {"d0", "d2", "d3"}


def attempt(value: float, held: bool | None = None) -> Episode:
    """A success of unit `a` whose commands are `value`; `held` None: nobody watched."""
    times = np.arange(3) * 0.1
    signals = {"action": Signal(name="action", times=times, values=np.full((3, 1), value))}
    facts = [Label(subject="", key="outcome", value={"success": True}, author="test")]
    if held is not None:
        span = np.array([[False], [held], [False]])
        signals["torque"] = Signal(name="torque", times=times, values=np.zeros((3, 1)))
        signals["intervention"] = Signal(name="intervention", times=times, values=span)
    if held:
        facts.append(Label(subject="", key="intervention", value={}, author="test"))
    return Episode(signals=signals, facts=tuple(facts), unit="a")


def curated(*episodes: Episode, mends: tuple[Mend, ...] = ()) -> Curation:
    return Curation(
        prescriptions=(), hard_set=HardSet(version=1, buckets=()), around=(), mends=mends,
        admissions=tuple(
            Admission(episode=e.id, destination="train", reason="r") for e in episodes
        ),
    )  # fmt: skip


def test_all_rounds_are_admitted_as_this_rounds_candidate_meets_them() -> None:
    rounds = {0: [attempt(3.0)], 1: [attempt(2.0, held=True)], 2: [attempt(1.0), attempt(9.0)]}
    past = {1: curated(*rounds[1]), 2: curated(rounds[2][0])}  # one was not admitted
    now = SimpleNamespace(
        number=3, sound=lambda back=0: rounds[back], need=lambda name, cls, back: past[back]
    )
    zero, path = (
        Mend(feature="action", cause=cause, order=(0,), scale=(1.0,), offset=(0.5,))
        for cause in ("mechanical", "contract")
    )
    kept = wiring._admitted(cast("Any", now), curated(*rounds[0], mends=(zero, path)))
    shown = {float(e.signals["action"].values[0, 0]): e for e in kept}
    assert sorted(shown) == [1.5, 2.5, 3.5]
    assert {frozenset(e.signals) for e in kept} == {frozenset({"action", "frame_weight"})}
    # one dataset has one set of columns, and only what the person did of a helped attempt
    weights = {k: e.signals["frame_weight"].values.tolist() for k, e in shown.items()}
    assert weights == {1.5: [1, 1, 1], 2.5: [0, 1, 0], 3.5: [1, 1, 1]}


@pytest.mark.parametrize(("wins", "acts"), [((16, 3), "first"), ((3, 16), "second")])
def test_a_policy_that_fell_in_the_field_gives_way_to_the_one_before(
    wins: tuple[int, int], acts: str
) -> None:
    """Round 2: the first policy acted in round 1, the second one in this round."""
    refs = {"policy@r0": "first", "policy@r1": "second", "candidate@r2": "third"}
    unchanged = BucketChange(
        bucket="calibrated", before_k=90, after_k=90, n=150, p_value=1.0, lo=-5.0, hi=5.0,
        direction="unchanged", fresh=True,
    )  # fmt: skip
    exam = Exam(
        policy="third", against="second", hard_set="h", scores=(), baseline=(), healed=(),
        changes=(replace(unchanged, bucket="worked", before_k=95, after_k=95), unchanged),
    )  # fmt: skip

    def episodes(name: str, back: int) -> list[Any]:
        won = wins[1 - back]
        return [SimpleNamespace(success=i < won, helped=False, facts=()) for i in range(20)]

    now = SimpleNamespace(
        number=2, need=lambda name, cls: exam, config=SimpleNamespace(release=ReleaseRule()),
        ref=lambda name, back=0: refs[f"{name}@r{2 - back}"], episodes=episodes,
        cell=SimpleNamespace(objects=SimpleNamespace(put=lambda decision: decision.verdict)),
    )  # fmt: skip
    verdict = "roll back" if acts == "first" else "hold"
    assert wiring.release(cast("Any", now)) == {"decision": verdict, "policy": acts}
