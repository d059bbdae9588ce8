"""Planted faults whose truth is an intervention, never a label somebody wrote.

A fault sets knobs of a robot. It is the cause of a failure only if, over many noise
seeds, the policy fails with it, succeeds once exactly that gap is put back, and
succeeds with everything put back. Otherwise the case is ambiguous, and says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gaploop.core import (
    Attempts,
    Episode,
    Judgement,
    KnobVerdict,
    Posterior,
    Recording,
    generator,
    spawn,
    spawn_many,
)
from gaploop.core.protocols import Policy
from gaploop.policies import ChunkRunner
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes

CLEAR = 0.75
"""Share of seeds that must agree for a truth to be clear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Knobs of a robot that stand elsewhere than in training."""

    name: str
    knobs: Mapping[str, float]
    """Knob to its value; all others as trained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One failed episode with what is true about it."""

    fault: Fault
    episode: Episode
    robot: np.ndarray
    """(P,) knob values of the robot."""
    truth: str
    """A gap, `policy`, or `ambiguous`."""
    rescue: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Gap to (successes, n) with exactly its knobs put back."""


def plant(
    world: World, policy: Policy, fault: Fault, seed: int, *, n: int = 16, start: int = 64
) -> Planted | None:
    """A failed episode of a robot with this fault; None when it never fails.

    world may hold knobs that the diagnosing one lacks: such a fault is `unknown` to it,
    which is for the caller to say. Truth is judged at the failed attempt's own start.

    Args:
      n: noise seeds a truth rests on.
      start: attempts among which the first failure is taken.
    """
    space = world.space
    robot = space.nominal
    for name, value in fault.knobs.items():
        robot[space.index(name)] = value
    attempts = world.attempts(start, spawn(seed, "plant", fault.name), knobs=robot)
    recording = world.rollout(attempts, ChunkRunner(policy))
    judged = world.task.judge(recording)
    failed = np.flatnonzero(~judged.success & ~recording.void)
    if not len(failed):
        return None
    row = int(failed[0])
    layout = attempts.layout[row]
    moved = {space.knobs[space.index(name)].gap for name in fault.knobs}
    rescue = {g: _count(world, policy, robot, layout, {g}, seed, n) for g in sorted(moved)}
    again = _count(world, policy, robot, layout, set(), seed, n)
    healthy = _count(world, policy, robot, layout, moved, seed, n)
    return Planted(
        fault=fault,
        episode=_logged(world, attempts, recording, judged, row),
        robot=robot,
        truth=_truth(again, healthy, rescue),
        rescue=rescue,
    )


def _truth(
    again: tuple[int, int], healthy: tuple[int, int], rescue: Mapping[str, tuple[int, int]]
) -> str:
    if again[0] > (1 - CLEAR) * again[1]:
        return "ambiguous"  # it fails now and then
    if healthy[0] <= (1 - CLEAR) * healthy[1]:
        return "policy"
    able = [gap for gap, (k, n) in rescue.items() if k >= CLEAR * n]
    clear = healthy[0] >= CLEAR * healthy[1] and len(able) == 1
    return able[0] if clear else "ambiguous"


def _count(
    world: World, policy: Policy, robot: np.ndarray, layout: np.ndarray, back: set[str], seed: int,
    n: int,
) -> tuple[int, int]:  # fmt: skip
    space = world.space
    columns = [i for i, k in enumerate(space.knobs) if k.gap in back]
    knobs = robot.copy()
    knobs[columns] = space.nominal[columns]
    attempts = Attempts(
        layout=np.tile(layout, (n, 1)),
        knobs=np.tile(knobs, (n, 1)),
        seeds=spawn_many(seed, n, "truth"),
    )
    judged = world.task.judge(world.rollout(attempts, ChunkRunner(policy)))
    return int(judged.success.sum()), n


def _logged(
    world: World, attempts: Attempts, recording: Recording, judged: Judgement, row: int
) -> Episode:
    """Attempt `row` as a robot logs it: commands, readings and outcome; no true start, no knobs."""
    episode = to_episodes(
        world, attempts, recording, judged, origin="rollout", policy="", world_kind="stand-in"
    )[row]
    return replace(episode, facts=tuple(f for f in episode.facts if f.key == "outcome"))


def calibrated(
    world: World, robot: np.ndarray, *, known: Mapping[str, float], seed: int, n: int = 256
) -> Posterior:
    """A posterior as honest calibration would leave it for a robot at `robot` (P,).

    Args:
      known: knob to the sd its logs leave, in the knob's unit; every other knob is its prior.
    """
    space, rng = world.space, generator(seed, "calibrated")
    particles = space.sample(rng, n)
    verdicts = []
    for i, knob in enumerate(space.knobs):
        sd = known.get(knob.name)
        if sd is not None:
            # the posterior's centre errs by its own sd, as a real one does
            centre = robot[i] + sd * rng.standard_normal()
            drawn = centre + sd * rng.standard_normal(n)
            particles[:, i] = np.clip(drawn, knob.prior.low, knob.prior.high)
        column = particles[:, i]
        verdicts.append(
            KnobVerdict(
                name=knob.name, unit=knob.unit, mean=float(column.mean()), sd=float(column.std()),
                lo=float(np.quantile(column, 0.05)), hi=float(np.quantile(column, 0.95)),
                verdict="not identifiable" if sd is None else "identified",
                redraw_acceptance=1.0 if sd is None else 0.05,
            )
        )  # fmt: skip
    return Posterior(
        space=space,
        particles=particles,
        weights=np.full(n, 1.0 / n),
        shipped=particles,
        noise={c.name: np.full(len(c.columns), 1e-4) for c in world.spec.observed},
        discrepancy={c.name: np.full(len(c.columns), 3e-4) for c in world.spec.observed},
        verdicts=tuple(verdicts),
    )
