"""The gantry: home is zero, and its knobs do what they say."""

import numpy as np
import pytest

from gaploop.core import KnobSpace
from gaploop.robots.gantry import Gantry
from gaploop.sim import World
from gaploop.tasks.peg import Peg


@pytest.fixture(scope="module")
def world() -> World:
    return World(Peg(), space=KnobSpace(knobs=Gantry().knobs()))


def _step(world: World, **values: float) -> np.ndarray:
    """(45,) joint x after a 10 mm step command."""
    knobs = world.space.nominal
    for name, value in values.items():
        knobs[world.space.index(name)] = value
    commands = np.zeros((44, 1, 3))
    commands[:, :, 0] = 0.01
    layout = np.zeros(2)
    return world.replay(world.attempts(1, 0, knobs=knobs, layout=layout), commands).truth["q"][
        :, 0, 0
    ]


def test_at_home_nothing_moves(world):
    recording = world.replay(world.attempts(1, 0), np.zeros((44, 1, 3)))
    assert np.abs(recording.truth["q"]).max() < 1e-9


def test_a_step_settles_on_the_command(world):
    assert _step(world)[-1] == pytest.approx(0.01, abs=1e-5)


def test_gain_and_joint_zero_move_the_goal(world):
    assert _step(world, gain=0.9)[-1] == pytest.approx(0.009, abs=1e-5)
    assert _step(world, zero_x=1e-3)[-1] == pytest.approx(0.009, abs=1e-5)


def test_delay_shifts_the_answer(world):
    late, prompt = _step(world, delay=0.1), _step(world, delay=0.0)
    assert np.allclose(late[2:], prompt[:-2], atol=1e-9)


def test_a_stiffer_servo_is_faster(world):
    soft, stiff = _step(world, stiffness=2000.0), _step(world, stiffness=7200.0)
    assert (stiff[2:8] > soft[2:8]).all()
