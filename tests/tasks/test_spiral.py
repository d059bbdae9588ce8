"""The expert that searches: it does what a trusting one cannot, and knows no more than a policy."""

import numpy as np

from gaploop.core import generator
from gaploop.sim import World
from gaploop.tasks.experts.spiral import SearchedPeg, SpiralExpert
from gaploop.tasks.peg import Peg

WORLD = World(SearchedPeg())
N = 60


def knobs(**values: float) -> np.ndarray:
    made = WORLD.space.nominal.copy()
    for name, value in values.items():
        made[WORLD.space.index(name)] = value
    return made


def success(knobs: np.ndarray, expert: SpiralExpert) -> np.ndarray:
    recording = WORLD.rollout(WORLD.attempts(N, 3, knobs=knobs), expert)
    return WORLD.task.judge(recording).success


def test_the_same_task_with_another_expert() -> None:
    plain, searched = Peg(), SearchedPeg()
    assert searched.spec == plain.spec
    assert searched.mjcf() == plain.mjcf()
    assert isinstance(searched.expert(), SpiralExpert)


def test_it_inserts_where_the_reading_is_right() -> None:
    assert success(knobs(), SpiralExpert(WORLD.spec)).all()


def test_searching_finds_a_hole_that_the_reading_misses() -> None:
    off = knobs(hole_bias_x=3.2e-3, hole_bias_y=-1.0e-3)
    searching, trusting = SpiralExpert(WORLD.spec), SpiralExpert(WORLD.spec)
    trusting.pace = 1e-9
    assert success(off, searching).mean() > 0.8
    assert success(off, trusting).mean() < 0.1


def test_it_reads_no_truth() -> None:
    rows = np.tile(knobs(hole_bias_x=2e-3), (4, 1))
    attempts = WORLD.attempts(4, 1, knobs=rows)

    class Blinded(SpiralExpert):
        def act(self, step: int, observation: np.ndarray, truth: dict) -> np.ndarray:
            return super().act(step, observation, {})

    seen = WORLD.rollout(attempts, SpiralExpert(WORLD.spec))
    unseen = WORLD.rollout(attempts, Blinded(WORLD.spec))
    np.testing.assert_array_equal(seen.command, unseen.command)


def test_most_of_the_prior_can_be_shown() -> None:
    rows = WORLD.space.from_unit(generator(1, "u").random((N, len(WORLD.space))))
    assert success(rows, SpiralExpert(WORLD.spec)).mean() > 0.7
