"""A stored attempt runs again, bit for bit, or says why not."""

from dataclasses import replace

import numpy as np
import pytest

from gaploop.core import InputError, KnobError, KnobSpace, Scenario, UsageError
from gaploop.sim import World
from gaploop.sim.scenario import attempts_of, compare, run
from gaploop.tasks.peg import Peg


@pytest.fixture(scope="module")
def world() -> World:
    return World(Peg())


@pytest.fixture(scope="module")
def stored(world):
    """A recording of four attempts, and the third as a scenario."""
    knobs = world.space.sample(np.random.default_rng(1), 4)
    attempts = world.attempts(4, 3, knobs=knobs)
    recording = world.rollout(attempts, world.task.expert())
    scenario = Scenario(
        task="peg", world=world.digest, layout=attempts.layout[2], knobs=attempts.knobs[2],
        knob_names=world.space.names, seed=int(attempts.seeds[2]), horizon=44,
        controls=recording.command[:, 2],
    )  # fmt: skip
    return recording, scenario


def test_stored_controls_give_the_stored_attempt(world, stored):
    recording, scenario = stored
    again = run(World(Peg()), scenario)
    assert np.array_equal(again.truth["q"][:, 0], recording.truth["q"][:, 2])
    assert np.array_equal(again.signals["hole"][:, 0], recording.signals["hole"][:, 2])


def test_a_policy_runs_for_the_scenarios_horizon(world, stored):
    _, scenario = stored
    short = replace(scenario, controls=None, horizon=12)
    assert run(world, short, world.task.expert()).steps == 12


def test_knobs_are_found_by_name(world, stored):
    _, scenario = stored
    back = world.space.names[::-1]
    mixed = replace(scenario, knob_names=back, knobs=scenario.knobs[::-1])
    assert compare(run(world, scenario), run(world, mixed)) == "bit-equal"
    one = replace(scenario, knob_names=("gain",), knobs=np.array([0.9]))
    knobs = attempts_of(world, [one]).knobs[0]
    assert knobs[world.space.index("gain")] == 0.9
    assert knobs[world.space.index("clearance")] == world.space.nominal[0]


def test_what_cannot_run_is_refused(world, stored):
    _, scenario = stored
    with pytest.raises(UsageError, match="exactly one"):
        run(world, replace(scenario, controls=None))
    with pytest.raises(UsageError, match="exactly one"):
        run(world, scenario, world.task.expert())
    with pytest.raises(InputError, match="task 'pour'"):
        run(world, replace(scenario, task="pour"))
    with pytest.raises(InputError, match="start variables"):
        run(world, replace(scenario, layout=np.zeros(3)))
    small = World(Peg(), space=KnobSpace(knobs=world.space.knobs[:3]))
    with pytest.raises(KnobError, match="does not have"):
        run(small, scenario)


def test_compare_tells_three_cases_apart(world, stored):
    recording, _ = stored
    near = replace(recording, command=recording.command + 1e-12)
    far = replace(recording, command=recording.command + 1e-3)
    assert compare(recording, recording) == "bit-equal"
    assert compare(recording, near) == "within tolerance"
    assert compare(recording, far) == "different"
    assert compare(recording, replace(recording, truth={})) == "different"
