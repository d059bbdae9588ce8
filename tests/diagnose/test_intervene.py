import numpy as np

from gaploop.core import Judgement
from gaploop.diagnose.intervene import Particles, intervene
from gaploop.diagnose.shapley import coalitions

COLUMNS = {"sensor": (0,), "execution": (1, 2)}


class Counted:
    """Succeeds where the sum of the knobs is small; remembers how much it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, knobs: np.ndarray, layout: np.ndarray, seeds: np.ndarray) -> Judgement:
        self.asked += len(knobs)
        success = knobs.sum(axis=1) < 1.0
        n = len(knobs)
        return Judgement(
            success=success, second=success, stage=np.full(n, 1), margin=layout[:, 0],
            onset=np.zeros(n), weights=np.ones((3, n), np.float32), tags=("x",) * n,
        )  # fmt: skip


def particles(knobs: np.ndarray) -> Particles:
    n = len(knobs)
    return Particles(
        knobs=knobs, layout=np.arange(n, dtype=float)[:, None], seeds=np.arange(n, dtype=np.uint64),
        trained=np.zeros_like(knobs),
    )  # fmt: skip


def test_each_coalition_gets_its_own_outcomes() -> None:
    rerun = Counted()
    there = particles(np.array([[0.2, 2.0, 0.0], [2.0, 0.1, 0.1], [2.0, 2.0, 0.0]]))
    found = intervene(rerun, there, COLUMNS, coalitions(("sensor", "execution")))
    assert found.success[frozenset()].tolist() == [False, False, False]
    assert found.success[frozenset({"sensor"})].tolist() == [False, True, False]
    assert found.success[frozenset({"execution"})].tolist() == [True, False, False]
    assert found.success[frozenset(COLUMNS)].tolist() == [True, True, True]
    assert found.count(frozenset({"sensor"})) == (1, 3)
    assert found.as_is.margin.tolist() == [0.0, 1.0, 2.0]
    assert found.simulations == rerun.asked == 12


def test_equal_attempts_run_once() -> None:
    rerun = Counted()
    # nothing of `sensor` is off, so putting it back is the same attempt
    there = particles(np.array([[0.0, 2.0, 0.0], [0.0, 0.1, 0.1]]))
    found = intervene(rerun, there, COLUMNS, coalitions(("sensor", "execution")))
    assert rerun.asked == 4
    assert np.array_equal(found.success[frozenset({"sensor"})], found.success[frozenset()])
    assert found.success[frozenset({"execution"})].tolist() == [True, True]
