"""Effects that vary in time act on the joint they name, when they should."""

import numpy as np
import pytest

from gaploop.core import Knob, KnobSpace, Prior, Target
from gaploop.robots.gantry import Gantry
from gaploop.sim import World
from gaploop.tasks.peg import Peg


def _x(commands: np.ndarray, **effects: float) -> np.ndarray:
    """(T + 1,) joint x under commands (T,), with constant effects."""
    knobs = tuple(
        Knob(
            name=path, gap="execution", unit="1", nominal=value,
            prior=Prior(low=value - 1.0, high=value + 1.0), targets=(Target(path=path),),
        )
        for path, value in effects.items()
    )  # fmt: skip
    world = World(Peg(), space=KnobSpace(knobs=knobs))
    sent = np.zeros((len(commands), 1, 3))
    sent[:, 0, 0] = commands
    return world.replay(world.attempts(1, 0), sent).truth["q"][:, 0, 0]


STEP = np.full(40, 0.01)


def test_coulomb_friction_leaves_an_error_it_can_hold():
    held = 2.0 / Gantry().stiffness
    error = 0.01 - _x(STEP, **{"effect:stribeck.coulomb": 2.0, "effect:stribeck.static": 2.0})[-1]
    assert 0.2 * held < error <= 1.05 * held


def test_stiction_holds_at_rest_what_coulomb_friction_lets_go():
    small = np.full(40, 3.0 / Gantry().stiffness)
    stuck = _x(small, **{"effect:stribeck.coulomb": 1.0, "effect:stribeck.static": 4.0})
    free = _x(small, **{"effect:stribeck.coulomb": 1.0, "effect:stribeck.static": 1.0})
    assert abs(stuck[-1]) < 0.1 * small[0]
    assert free[-1] > 0.5 * small[0]


def test_a_push_acts_while_it_lasts_and_on_its_joint_alone():
    x = _x(
        0 * STEP,
        **{"effect:push.force[0]": 4.0, "effect:push.start": 0.5, "effect:push.length": 0.5},
    )
    assert np.abs(x[:11]).max() < 1e-9
    assert x[18:20] == pytest.approx(4.0 / Gantry().stiffness, rel=0.02)
    assert np.abs(x[-1]) < 1e-5
    y = _x(0 * STEP, **{"effect:push.force[1]": 4.0, "effect:push.length": 2.0})
    assert np.abs(y).max() < 1e-9
