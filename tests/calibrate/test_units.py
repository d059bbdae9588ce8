"""Units' zeros: found where they are off, left alone where they are not."""

from dataclasses import replace

import numpy as np
import pytest

from gaploop.calibrate.config import CalibrateConfig
from gaploop.calibrate.units import calibrate_units, matter, unit_zeros
from gaploop.core import Episode
from gaploop.policies import ChunkRunner
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes
from gaploop.tasks.peg import Peg
from gaploop.testing.blind import Blind

QUICK = CalibrateConfig(logs=4, held_out=2, starts=1, budget=40, walkers=8, burn=4, steps=4)


@pytest.fixture(scope="module")
def world() -> World:
    return World(Peg())


def _logs(world: World, unit: str, n: int = 4, **off: float) -> list[Episode]:
    knobs = world.space.nominal
    for name, value in off.items():
        knobs[world.space.index(name)] = value
    attempts = world.attempts(n, 3, knobs=knobs)
    record = world.rollout(attempts, ChunkRunner(Blind(world.spec)))
    made = to_episodes(
        world, attempts, record, world.task.judge(record), origin="rollout", policy="",
        world_kind="stand-in",
    )  # fmt: skip
    facts = ("outcome",)
    return [replace(e, unit=unit, facts=tuple(f for f in e.facts if f.key in facts)) for e in made]


def test_one_bad_unit_of_three_is_found_with_other_knobs_off(world: World) -> None:
    shared = {"gain": 1.05, "delay": 0.05, "hole_bias_x": 2e-3}
    logs = [e for u in "abc" for e in _logs(world, u, **shared, zero_x=2e-3 * (u == "b"))]
    zeros = unit_zeros(world, logs, [1] * len(logs), QUICK)
    at = world.space.index("zero_x")
    assert zeros["b", 1].values[at] == pytest.approx(2e-3, abs=3e-4)
    assert abs(zeros["a", 1].values[at]) < 3e-4
    assert abs(zeros["c", 1].values[at]) < 3e-4
    others = [i for i, k in enumerate(world.space.knobs) if k.gap != "mechanical"]
    assert not np.any([z.values[others] for z in zeros.values()])
    assert matter(world, zeros)


def test_sound_units_are_known_to_be_sound(world: World) -> None:
    logs = [e for u in "ab" for e in _logs(world, u, gain=1.08, stiffness=3000.0)]
    assert not matter(world, unit_zeros(world, logs, [1] * len(logs), QUICK))
    posterior = calibrate_units(world, logs, [1] * len(logs), QUICK, 0)
    assert posterior.shifts == {}
    at = world.space.index("zero_x")
    assert posterior.sd[at] < 0.3 * world.space.knobs[at].prior.width
    assert abs(posterior.mean[at]) < 5e-4


def test_a_unit_is_where_its_newest_logs_say(world: World) -> None:
    old, new = _logs(world, "a", zero_y=1.2e-3), _logs(world, "a", zero_y=2.0e-3)
    batches = [1] * len(old) + [2] * len(new)
    posterior = calibrate_units(world, [*old, *new], batches, QUICK, 0)
    at = world.space.index("zero_y")
    assert posterior.space.names == world.space.names
    assert set(posterior.shifts) == {"a"}
    assert posterior.shifts["a"][at] == pytest.approx(2e-3, abs=1.5e-4)
    own = posterior.of("a")
    assert own.mean[at] == pytest.approx(2e-3, abs=3e-4)
    assert posterior.of("nobody") is posterior
    verdict = own.verdict("zero_y")
    assert verdict is not None
    assert verdict.verdict == "identified"
    assert verdict.mean == pytest.approx(own.mean[at])
