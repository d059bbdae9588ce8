"""The generate stage: the expert where the robot is believed to be, half of it near failures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaploop.core import (
    Attempts,
    Episode,
    InputError,
    KnobSpace,
    Posterior,
    Recording,
    Scenario,
    TaskSpec,
    generator,
    spawn,
    spawn_many,
)
from gaploop.core.siblings import jittered
from gaploop.generate.config import GenerateConfig
from gaploop.generate.gate import GateReport, report
from gaploop.generate.noise import Pushed
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes
from gaploop.sim.scenario import attempts_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """Demonstrations that passed the gate, and how the gate went."""

    episodes: tuple[Episode, ...]
    gate: GateReport


def generate(
    world: World,
    posterior: Posterior | None,
    around: Sequence[Scenario],
    config: GenerateConfig,
    seed: int,
) -> Generated:
    """Expert demonstrations at draws of the shipped randomisation, gated.

    `posterior` None is the plain simulator: nominal knobs, starts over the reset
    ranges (round 0). A share of the starts lies around the scenarios in `around`,
    which must be trainable ones. The gate: success, the second check agrees, the
    simulation did not diverge. Raises InputError when nothing passes.
    """
    batches: list[_Batch] = []
    left, most = config.demos, config.attempts * config.demos
    while left > 0 and sum(len(b.good) for b in batches) < most:
        number = len(batches)
        attempts = _starts(
            world, posterior, around, config, max(32, left), spawn(seed, "batch", number)
        )
        batch = _gated(world, attempts, config, left, spawn(seed, "noise", number))
        batches.append(batch)
        left -= len(batch.episodes)
    gate = report(
        world.space,
        np.concatenate([b.knobs for b in batches]),
        np.concatenate([b.good for b in batches]),
        np.concatenate([b.void for b in batches]),
    )
    if not gate.k:
        raise InputError(
            f"The expert of task {world.spec.name!r} passed none of {gate.n} attempts; "
            f"{gate.void} more diverged.",
            hint="The knobs may lie where it cannot do the task.",
        )
    return Generated(episodes=tuple(e for b in batches for e in b.episodes), gate=gate)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Attempts of one batch, and the episodes kept of it."""

    episodes: list[Episode]
    knobs: np.ndarray
    good: np.ndarray
    void: np.ndarray


def _gated(
    world: World, attempts: Attempts, config: GenerateConfig, wanted: int, seed: int
) -> _Batch:
    """Run the expert and keep at most `wanted` of what passes the gate."""
    recording = _run(world, attempts, config, seed)
    verdict = world.task.judge(recording)
    good = verdict.success & verdict.second & ~recording.void
    every = to_episodes(
        world, attempts, recording, verdict, origin="generated", policy="", world_kind="sim"
    )
    return _Batch(
        episodes=[every[i] for i in np.flatnonzero(good)[:wanted]],
        knobs=attempts.knobs,
        good=good,
        void=recording.void,
    )


def _starts(
    world: World,
    posterior: Posterior | None,
    around: Sequence[Scenario],
    config: GenerateConfig,
    n: int,
    seed: int,
) -> Attempts:
    """(n,) attempts, a share around failures and the rest over the reset ranges, mixed."""
    spec, space = world.spec, world.space
    rng = generator(seed, "starts")
    layout = rng.uniform(
        [v.low for v in spec.layout], [v.high for v in spec.layout], (n, len(spec.layout))
    )
    knobs = np.tile(space.nominal, (n, 1))
    if posterior is not None:
        knobs = _columns(posterior.draw_shipped(rng, n), posterior.space, space)
    near = round(config.around * n) if around else 0
    if near:
        picked = attempts_of(world, [around[i] for i in rng.integers(len(around), size=near)])
        layout[:near] = jittered(picked.layout, spec, config.jitter, rng)
        own = rng.random(near) < config.own_knobs
        knobs[:near][own] = picked.knobs[own]
    # mixed, so that the last batch, of which only a part is wanted, favours neither half
    order = rng.permutation(n)
    return Attempts(layout=layout[order], knobs=knobs[order], seeds=spawn_many(seed, n, "attempt"))


def _columns(values: np.ndarray, source: KnobSpace, target: KnobSpace) -> np.ndarray:
    """Values (n, P) of one space in the columns of another; unnamed ones at nominal."""
    out = np.tile(target.nominal, (len(values), 1))
    out[:, [target.index(name) for name in source.names]] = values
    return out


def _run(world: World, attempts: Attempts, config: GenerateConfig, seed: int) -> Recording:
    spec: TaskSpec = world.spec
    if config.noise <= 0:
        return world.rollout(attempts, world.task.expert())
    pushed = Pushed(
        world.task.expert(), spec, config.noise, config.noise_until, config.noise_memory, seed
    )
    recording = world.rollout(attempts, pushed)
    return replace(recording, command=pushed.commands)
