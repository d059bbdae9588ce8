"""The generate stage: the expert where the robot is believed to be, half of it near failures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaploop.core import (
    Attempts,
    Episode,
    Judgement,
    KnobSpace,
    Posterior,
    Recording,
    Scenario,
    TaskSpec,
    generator,
    spawn,
    spawn_many,
)
from gaploop.core.siblings import as_attempts, jittered
from gaploop.generate.config import GenerateConfig
from gaploop.generate.gate import GateReport, report
from gaploop.generate.noise import Pushed
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes


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
    simulation did not diverge.
    """
    kept: list[tuple[Attempts, Recording, Judgement, np.ndarray]] = []
    tried: list[tuple[Attempts, np.ndarray, np.ndarray]] = []
    passed = 0
    most = config.attempts * config.demos
    batch = 0
    while passed < config.demos and sum(len(t[0]) for t in tried) < most:
        n = max(32, config.demos - passed)
        attempts = _starts(world, posterior, around, config, n, spawn(seed, "batch", batch))
        recording = _run(world, attempts, config, spawn(seed, "noise", batch))
        verdict = world.task.judge(recording)
        good = verdict.success & verdict.second & ~recording.void
        wanted = np.flatnonzero(good)[: config.demos - passed]
        kept.append((attempts, recording, verdict, wanted))
        tried.append((attempts, good, recording.void))
        passed += len(wanted)
        batch += 1
    everything = Attempts(
        layout=np.concatenate([t[0].layout for t in tried]),
        knobs=np.concatenate([t[0].knobs for t in tried]),
        seeds=np.concatenate([t[0].seeds for t in tried]),
    )
    gate = report(
        world.space,
        everything,
        np.concatenate([t[1] for t in tried]),
        np.concatenate([t[2] for t in tried]),
    )
    episodes = tuple(e for a, r, v, ids in kept for e in _episodes(world, a, r, v, ids))
    return Generated(episodes=episodes, gate=gate)


def _starts(
    world: World,
    posterior: Posterior | None,
    around: Sequence[Scenario],
    config: GenerateConfig,
    n: int,
    seed: int,
) -> Attempts:
    """(n,) attempts, a share around failures and the rest over the reset ranges, mixed."""
    spec, space = world.task.spec, world.space
    rng = generator(seed, "starts")
    layout = rng.uniform(
        [v.low for v in spec.layout], [v.high for v in spec.layout], (n, len(spec.layout))
    )
    knobs = np.tile(space.nominal, (n, 1))
    if posterior is not None:
        knobs = _columns(posterior.draw_shipped(rng, n), posterior.space, space)
    near = round(config.around * n) if around else 0
    if near:
        picked = as_attempts([around[i] for i in rng.integers(len(around), size=near)], space)
        layout[:near] = jittered(picked.layout, spec, config.jitter, rng)
        own = rng.random(near) < config.own_knobs
        knobs[:near][own] = picked.knobs[own]
    # mixed, so that the last batch, of which only a part is wanted, favours neither half
    order = rng.permutation(n)
    return Attempts(
        layout=layout[order], knobs=knobs[order], seeds=spawn_many(seed, n, "attempt")
    )


def _columns(values: np.ndarray, source: KnobSpace, target: KnobSpace) -> np.ndarray:
    """Values (n, P) of one space in the columns of another; unnamed ones at nominal."""
    out = np.tile(target.nominal, (len(values), 1))
    out[:, [target.index(name) for name in source.names]] = values
    return out


def _run(world: World, attempts: Attempts, config: GenerateConfig, seed: int) -> Recording:
    spec: TaskSpec = world.task.spec
    if config.noise <= 0:
        return world.rollout(attempts, world.task.expert())
    pushed = Pushed(
        world.task.expert(), spec, config.noise, config.noise_until, config.noise_memory, seed
    )
    recording = world.rollout(attempts, pushed)
    return replace(recording, command=pushed.commands)


def _episodes(
    world: World, attempts: Attempts, recording: Recording, verdict: Judgement, ids: np.ndarray
) -> list[Episode]:
    """Episodes of the chosen attempts."""
    every = to_episodes(
        world, attempts, recording, verdict, origin="generated", policy="", world_kind="sim"
    )
    return [every[i] for i in ids]
