"""Stored attempts, run again.

A scenario names its knobs, so it runs in any world that has them; knobs of the
world that it does not name stay nominal.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from gaploop.core import Attempts, InputError, KnobError, Recording, Scenario, UsageError
from gaploop.core.protocols import Controller
from gaploop.sim.world import World


def attempts_of(world: World, scenarios: Sequence[Scenario]) -> Attempts:
    """The starts, knobs and seeds of scenarios as one batch.

    Raises:
      InputError: a scenario of another task or layout.
      KnobError: a scenario that names a knob the world lacks.
    """
    names, knobs = world.space.names, np.tile(world.space.nominal, (len(scenarios), 1))
    for row, scenario in enumerate(scenarios):
        if scenario.task != world.spec.name:
            raise InputError(
                f"A scenario of task {scenario.task!r} cannot run in the world of"
                f" {world.spec.name!r}."
            )
        if scenario.layout.shape != (len(world.spec.layout),):
            raise InputError(
                f"A scenario of {scenario.task!r} has {len(scenario.layout)} start variables.",
                hint=f"Expected {', '.join(v.name for v in world.spec.layout)}.",
            )
        missing = [n for n in scenario.knob_names if n not in names]
        if missing:
            raise KnobError(
                f"A scenario sets the knob {missing[0]!r}, which this world does not have.",
                hint=f"Known: {', '.join(names)}.",
            )
        columns = [names.index(n) for n in scenario.knob_names]
        knobs[row, columns] = scenario.knobs
    layout = np.array([s.layout for s in scenarios], dtype=float)
    return Attempts(
        layout=layout.reshape(len(scenarios), len(world.spec.layout)),
        knobs=knobs,
        seeds=np.array([s.seed for s in scenarios], dtype=np.uint64),
    )


def run(world: World, scenario: Scenario, policy: Controller | None = None) -> Recording:
    """Run one scenario: its stored controls, or `policy` (such as a ChunkRunner) where it has none.

    In the world the scenario was stored for, stored controls give the stored
    attempt bit for bit. Raises UsageError when neither or both could act, and
    what `attempts_of` raises.
    """
    attempts = attempts_of(world, [scenario])
    if (scenario.controls is None) == (policy is None):
        raise UsageError(
            "A scenario needs exactly one of stored controls and a policy to run.",
            hint="Pass the policy it names." if policy is None else "Drop the policy.",
        )
    if scenario.controls is not None:
        return world.replay(attempts, scenario.controls[:, None, :])
    assert policy is not None
    return world.rollout(attempts, policy, steps=scenario.horizon)


def compare(
    first: Recording, second: Recording, *, tolerance: float = 1e-9
) -> Literal["bit-equal", "within tolerance", "different"]:
    """Whether two recordings of the same attempts agree in every signal and every true value."""
    if first.signals.keys() != second.signals.keys() or first.truth.keys() != second.truth.keys():
        return "different"
    pairs = [(first.command, second.command)]
    pairs += [(first.signals[k], second.signals[k]) for k in first.signals]
    pairs += [(first.truth[k], second.truth[k]) for k in first.truth]
    if any(a.shape != b.shape for a, b in pairs):
        return "different"
    if all(np.array_equal(a, b, equal_nan=True) for a, b in pairs):
        return "bit-equal"
    near = all(np.allclose(a, b, rtol=0.0, atol=tolerance, equal_nan=True) for a, b in pairs)
    return "within tolerance" if near else "different"
