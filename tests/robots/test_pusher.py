"""The pusher: home is zero, and its knobs do what they say."""

import numpy as np
import pytest

from gaploop.core import KnobSpace
from gaploop.robots.pusher import Pusher
from gaploop.sim import World
from gaploop.tasks.slide import Slide


@pytest.fixture(scope="module")
def world() -> World:
    return World(Slide(), space=KnobSpace(knobs=Pusher().knobs()))


def _step(world: World, column: int = 0, **values: float) -> np.ndarray:
    """(51,) a joint after a 10 mm step command that touches nothing."""
    knobs = world.space.nominal
    for name, value in values.items():
        knobs[world.space.index(name)] = value
    commands = np.zeros((50, 1, 2))
    commands[:, :, column] = 0.01
    layout = np.array([0.09, 0.0, 0.4, 0.0])
    attempts = world.attempts(1, 0, knobs=knobs, layout=layout)
    return world.replay(attempts, commands).truth["q"][:, 0, column]


def test_at_home_nothing_moves(world):
    recording = world.replay(world.attempts(1, 0), np.zeros((50, 1, 2)))
    assert np.abs(recording.truth["q"]).max() < 1e-9


@pytest.mark.parametrize("column", [0, 1])
def test_a_step_settles_on_the_command(world, column):
    assert _step(world, column)[-1] == pytest.approx(0.01, abs=1e-5)


def test_gain_and_joint_zero_move_the_goal(world):
    assert _step(world, gain=0.9)[-1] == pytest.approx(0.009, abs=1e-5)
    assert _step(world, zero_x=0.003)[-1] == pytest.approx(0.007, abs=1e-5)
    assert _step(world, 1, zero_y=-0.003)[-1] == pytest.approx(0.013, abs=1e-5)


def test_a_delay_moves_the_answer_by_as_much(world):
    on_time, late = _step(world, delay=0.0), _step(world, delay=0.04)
    assert np.allclose(late[3:], on_time[1:-2], atol=1e-9)


def test_a_stiffer_servo_is_faster(world):
    soft, hard = _step(world, stiffness=2500.0), _step(world, stiffness=6500.0)
    assert (soft < 0.005).sum() > (hard < 0.005).sum()
