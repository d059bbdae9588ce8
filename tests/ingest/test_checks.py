"""The engine itself: what it says does not depend on how the frames were cut into batches."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaploop.core import Contract, Episode, Label, Signal, declared
from gaploop.ingest import ScreenConfig
from gaploop.ingest.checks import batches, examine
from gaploop.ingest.checks.batch import Stream, reduce
from gaploop.ingest.checks.odd import middle, odd_ones
from gaploop.ingest.checks.roles import commanded, grippers, quaternions


def _episode(seed: int, frames: int, fault: str) -> Episode:
    rng = np.random.default_rng(seed)
    times = np.arange(frames) / 20.0
    pace, phase = rng.uniform(0.5, 1.5, 3), rng.uniform(0, 6, 3)
    action = 0.4 * np.sin(times[:, None] * pace + phase)
    state = np.roll(action, 2, axis=0) + 1e-3 * rng.standard_normal(action.shape)
    state[:2] = action[0]
    if fault == "nan":
        state[5, 1] = np.nan
    if fault == "sign":
        state[:, 0] *= -1
    if fault == "frozen":
        state[30:80] = state[30]
    if fault == "degrees":
        state = np.degrees(state)
    signals = {
        key: Signal(name=key, unit="rad", columns=("a", "b", "c"), times=times, values=x)
        for key, x in (("action", action), ("observation.state", state))
    }
    outcome = Label(subject="", key="outcome", value={"success": True}, author="test")
    contract = Contract(action_mode=declared("absolute"), log_rate=declared(20.0))
    return Episode(
        signals=signals, contract=contract, robot="arm", facts=(outcome,), source=f"log {seed}"
    )


_FAULTS = ("", "", "", "nan", "sign", "frozen", "degrees")
_CODES = {
    "nan": "nan",
    "sign": "joint_sign",
    "frozen": "frozen_signal",
    "degrees": "unit_mismatch",
}


@settings(max_examples=25, deadline=None)
@given(
    faults=st.lists(st.sampled_from(_FAULTS), min_size=5, max_size=9),
    lengths=st.lists(st.integers(120, 260), min_size=9, max_size=9),
    rows=st.integers(1, 1500),
)
def test_batches_of_any_size_say_the_same(
    faults: Sequence[str], lengths: Sequence[int], rows: int
) -> None:
    episodes = [
        _episode(i, n, f) for i, (f, n) in enumerate(zip(faults, lengths, strict=False))
    ]  # fmt: skip
    whole, cut = batches(episodes, rows=10**9), batches(episodes, rows=rows)
    first, second = examine(whole, ScreenConfig())[1], examine(cut, ScreenConfig())[1]

    def told(seen):
        return sorted((e, s.code, s.severity, s.feature) for e, s in seen)

    assert told(first) == told(second)


@pytest.mark.parametrize("fault", sorted(_CODES))
def test_a_planted_fault_is_named_in_its_episode_and_no_other(fault: str) -> None:
    episodes = [_episode(i, 200, fault if i == 4 else "") for i in range(7)]
    seen = examine(batches(episodes), ScreenConfig())[1]
    assert {e for e, s in seen if s.code == _CODES[fault]} == {4}
    others = {s.code for e, s in seen if e != 4 and s.severity != "info"}
    assert not others


@given(
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=8),
    seed=st.integers(0, 2**16),
)
def test_reduce_is_the_ufunc_over_each_episode(lengths: list[int], seed: int) -> None:
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    x = np.random.default_rng(seed).standard_normal((2, bounds[-1]))
    found = reduce(np.add, x, bounds)
    for e, n in enumerate(lengths):
        rows = x[:, bounds[e] : bounds[e + 1]]
        assert np.allclose(found[:, e], rows.sum(axis=1) if n else 0)


def test_a_stream_holds_the_reading_before_a_hole() -> None:
    values = np.array([[1.0], [np.nan], [np.inf], [4.0], [np.nan]])
    stream = Stream("x", values, np.arange(5.0), np.array([0, 4, 5]))
    assert stream.good is not None
    assert stream.x.tolist()[0][:4] == [1.0, 1.0, 1.0, 4.0]
    assert np.isfinite(stream.x).all()
    assert stream.steps[0, 4] == 0, "an episode's first row has no change"


def test_the_odd_ones_lie_apart_from_the_largest_group() -> None:
    values = np.array([1.0, 1.01, 0.99, 5.0, np.nan, 1.0])
    odd, centre = odd_ones(values, 0.1)
    assert odd.tolist() == [False, False, False, True, False, False]
    assert centre == pytest.approx(1.0)
    nothing = middle(np.full((2, 3), np.nan), axis=0)
    assert np.isnan(nothing).all()


def test_of_two_groups_as_large_the_worse_one_is_odd() -> None:
    values = np.array([0.0, 0.0, 0.1, 8.0, 8.0, 8.1])
    odd, _ = odd_ones(values, 0.5, worse=abs)
    assert odd.tolist() == [False] * 3 + [True] * 3


def test_columns_are_paired_by_what_they_are_called() -> None:
    action = ("action.elbow.pos", "action.gripper.pos")
    reading = ("state.gripper.pos", "state.elbow.pos")
    assert commanded(action, reading) == [(0, 1), (1, 0)]
    assert commanded(("0", "1"), ("0", "1")) == [(0, 0), (1, 1)]
    assert commanded(("0", "1"), ("0", "1", "2")) == []
    assert grippers(action) == [1]
    assert quaternions(("x", "y", "z", "qw", "qx", "qy", "qz")) == [(3, "wxyz")]
    assert quaternions(("ee.x", "ee.y", "ee.z")) == []
