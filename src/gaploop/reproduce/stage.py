"""The same failure in simulation, and the smallest change of the diagnosed knob that saves it."""

from collections.abc import Callable

import numpy as np

from gaploop.core import (
    Attempts,
    Diagnosis,
    Episode,
    Judgement,
    Posterior,
    Reproduction,
    Scenario,
    generator,
    spawn_many,
)
from gaploop.core.protocols import Policy
from gaploop.infer.episode import (
    Replays,
    furthest_stage,
    healthy_scale,
    log_of,
    replays,
    resample,
    tempered,
    weigh,
)
from gaploop.policies import ChunkRunner
from gaploop.reproduce.config import ReproduceConfig
from gaploop.reproduce.flip import counterfactual, moved_with
from gaploop.reproduce.words import sentence
from gaploop.sim import World

Rerun = Callable[[np.ndarray, np.ndarray, np.ndarray], Judgement]
"""(knobs (M, P), layout (M, S), seeds (M,)) to the judgement of M closed-loop attempts."""


def reproduce(
    world: World,
    policy: Policy,
    posterior: Posterior,
    episode: Episode,
    diagnosis: Diagnosis,
    config: ReproduceConfig,
    seed: int,
    *,
    trained: np.ndarray | None = None,
) -> Reproduction:
    """Meet one failure again.

    Worlds are drawn from the robot's posterior, half of them with the diagnosed knobs
    as this episode shows them, and weighed by how well the logged commands replay in
    them. The policy is then rerun closed loop in those the log points to: `reproduced`
    of `n` fail after the same stage. The diagnosed knob of the most certain failure is
    scanned to where it was trained.

    Args:
      trained: (M, P) knob rows as the policy was trained on; the nominal when None.

    Raises:
      InputError: when the episode lacks a signal the task observes.
    """
    if diagnosis.verdict == "contract":
        # its numbers mean something else: no replay of them is this episode
        return Reproduction(episode=episode.id, reproduced=0, n=0, scenarios=())

    def rerun(knobs: np.ndarray, layout: np.ndarray, seeds: np.ndarray) -> Judgement:
        attempts = Attempts(layout=layout, knobs=knobs, seeds=seeds)
        return world.task.judge(world.rollout(attempts, ChunkRunner(policy)))

    rest = world.space.nominal if trained is None else np.median(np.atleast_2d(trained), axis=0)
    log = log_of(world.spec, episode)
    rng = generator(seed, "reproduce", episode.id)
    rows = _worlds(world, posterior, diagnosis, config.draws, rng)
    found = replays(world, log, rows)
    weighed = weigh(found, healthy_scale(world.spec, posterior))
    flat = np.full(len(rows), 1.0 / len(rows))
    weight, _ = tempered(weighed.loglik, flat, config.reruns / 3.0)
    chosen = resample(weight, config.reruns, rng)
    seeds = spawn_many(seed, config.reruns, "reproduce", episode.id)
    judged = rerun(found.knobs[chosen], found.layout[chosen], seeds)
    stage = furthest_stage(world.spec, episode)
    same = ~judged.success & ((judged.stage == stage) if stage is not None else True)
    kept = _distinct(np.flatnonzero(same), chosen, config.keep)
    scenarios = tuple(_scenario(world, episode, found, int(chosen[i]), int(seeds[i])) for i in kept)
    flip = counterfactual(rerun, scenarios, diagnosis, world.space, rest, config, seed)
    best = int(np.argmax(weighed.loglik))
    back = replays(world, log, rest[None])
    return Reproduction(
        episode=episode.id,
        reproduced=int(same.sum()),
        n=config.reruns,
        scenarios=scenarios,
        counterfactual=flip,
        sentence="" if flip is None else sentence(flip, moved_with(flip, world.space)),
        replay=_traces(world, found, best),
        replay_trained=_traces(world, back, 0),
    )


def _worlds(
    world: World, posterior: Posterior, diagnosis: Diagnosis, n: int, rng: np.random.Generator
) -> np.ndarray:
    """(n, P): posterior draws, every other one with the diagnosed knobs as the episode shows."""
    space = world.space
    columns = [posterior.space.index(name) for name in space.names]
    rows = posterior.draw(rng, n)[:, columns]
    for knob in diagnosis.knobs:
        if knob.name not in space.names:
            continue
        column = space.index(knob.name)
        prior = space.knobs[column].prior
        # the 90 % interval of a normal spans 3.29 sd
        drawn = knob.estimate + (knob.hi - knob.lo) / 3.29 * rng.standard_normal(n)
        rows[1::2, column] = np.clip(drawn, prior.low, prior.high)[1::2]
    return rows


def _distinct(failed: np.ndarray, chosen: np.ndarray, keep: int) -> list[int]:
    """Failures in different worlds first, then further noise seeds of the same ones."""
    _, first = np.unique(chosen[failed], return_index=True)
    order = [*sorted(failed[first]), *sorted(np.delete(failed, first))]
    return [int(i) for i in order[:keep]]


def _scenario(world: World, episode: Episode, found: Replays, row: int, seed: int) -> Scenario:
    return Scenario(
        task=world.spec.name,
        world=world.digest,
        layout=found.layout[row].copy(),
        knobs=found.knobs[row].copy(),
        knob_names=world.space.names,
        seed=seed,
        horizon=world.spec.horizon,
        policy=episode.policy,
        origin=episode.id,
        unit=episode.unit,
    )


def _traces(world: World, found: Replays, row: int) -> dict[str, np.ndarray]:
    signals = found.recording.signals
    return {c.key: signals[c.name][:, row].copy() for c in world.spec.observed}
