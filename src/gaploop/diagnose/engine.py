"""One failed episode in, one answer out. The order of work is law:

contract -> integrity and timing -> free-space joints -> replay -> intervention.

Physics is not blamed while a contract or timing test is red. The policy is rerun
closed loop for interventions only; what the log says is judged by open-loop
replay, which keeps the policy out of the likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core import Attempts, Diagnosis, Episode, InputError, Judgement, Mend, Posterior
from gaploop.core.protocols import Policy
from gaploop.diagnose.answer import Findings, probabilities
from gaploop.diagnose.config import DiagnoseConfig
from gaploop.diagnose.contract import contract_tests
from gaploop.diagnose.inference import Inference, infer
from gaploop.diagnose.intervene import Outcomes, Particles, intervene
from gaploop.diagnose.report import Material, contract_answer, full_answer
from gaploop.diagnose.residuals import free_space, lags
from gaploop.diagnose.shapley import coalitions, shapley
from gaploop.infer.episode import failed_at, furthest_stage, log_of
from gaploop.policies import ChunkRunner
from gaploop.sim import World


def diagnose(
    world: World,
    policy: Policy,
    posterior: Posterior,
    episode: Episode,
    config: DiagnoseConfig,
    seed: int,
    *,
    trained: np.ndarray | None = None,
    path: Sequence[Mend] = (),
) -> Diagnosis:
    """Why `episode` failed.

    Args:
      world: the calibrated simulator; its knobs are those of `posterior`.
      policy: the one that acted.
      posterior: of the robot the episode comes from; its healthy population.
      episode: one failed attempt, with the signals the task observes.
      config: how much work to do.
      seed: same seed, same answer.
      trained: (M, P) knob rows as the policy was trained on; the nominal when None.
      path: what all logs of this robot say of their run-time path.

    Raises:
      InputError: when the episode lacks a signal the task observes.
    """
    stage = failed_at(world.spec, furthest_stage(world.spec, episode))
    red = contract_tests(policy.contract, episode, config, path)
    if any(e.bayes_factor > 20.0 for e in red):
        return contract_answer(episode, red, stage)
    rows = world.space.nominal[None] if trained is None else np.atleast_2d(trained)
    if rows.shape[1] != len(world.space):
        raise InputError(f"`trained` has {rows.shape[1]} knobs, the world has {len(world.space)}.")
    log = log_of(world.spec, episode)
    seen = infer(world, posterior, log, rows, config, seed)
    early = (
        *lags(world.spec, log, seen.healthy, seen.trained),
        *free_space(world.spec, seen.healthy, seen.trained, seen.floor),
    )
    particles = seen.particles(config.particles, rows, seed)
    tried = rerun_all(world, policy, seen, particles, config)
    found = Findings(
        contract=max((e.bayes_factor for e in red), default=0.0),
        shares=tried.shares,
        off=seen.off,
        as_is=tried.outcomes.count(frozenset()),
        trained=tried.trained,
        misfit=seen.weighed.misfit,
    )
    return full_answer(
        Material(
            episode=episode, world=world, posterior=posterior, found=found, seen=seen,
            particles=particles, outcomes=tried.outcomes, inner=tried.inner, early=(*red, *early),
            probabilities=probabilities(found, config), stage=stage, config=config,
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reruns:
    """The closed-loop part."""

    outcomes: Outcomes
    shares: dict[str, float]
    """Gap to its Shapley share of what putting all back changes."""
    trained: tuple[int, int]
    """(successes, n) with everything as trained, from this episode's start."""
    inner: dict[str, float]
    """Mechanism of the leading gap to its share within it."""


def rerun_all(
    world: World, policy: Policy, seen: Inference, particles: Particles, config: DiagnoseConfig
) -> Reruns:
    """All coalitions of gaps, then the mechanisms within the gap that matters most."""

    def rerun(knobs: np.ndarray, layout: np.ndarray, seeds: np.ndarray) -> Judgement:
        attempts = Attempts(layout=layout, knobs=knobs, seeds=seeds)
        return world.task.judge(world.rollout(attempts, ChunkRunner(policy)))

    gaps = tuple(dict.fromkeys(k.gap for k in world.space.knobs))
    columns = {gap: world.space.of_gap(gap) for gap in gaps}
    outcomes = intervene(rerun, particles, columns, coalitions(gaps))
    shares = shapley(gaps, outcomes.value())
    return Reruns(
        outcomes=outcomes,
        shares=shares,
        trained=_as_trained(rerun, particles, config),
        inner=_within(rerun, particles, columns, seen, max(gaps, key=lambda g: shares[g])),
    )


def _as_trained(rerun, particles: Particles, config: DiagnoseConfig) -> tuple[int, int]:
    """Fresh seeds, every knob as trained: does the policy fail there anyway?

    The starts are those the particles infer, so that a start which training never saw
    counts against the policy.
    """
    n = config.policy_draws
    rows = np.arange(n) % len(particles)
    seeds = particles.seeds[rows] + np.arange(1, n + 1, dtype=np.uint64)
    judged = rerun(particles.trained[rows], particles.layout[rows], seeds)
    return int(judged.success.sum()), n


def _within(
    rerun, particles: Particles, columns: dict[str, tuple[int, ...]], seen: Inference, gap: str
) -> dict[str, float]:
    """Each mechanism of one gap: mean of what it rescues alone and what it spoils alone."""
    own = [m for m in seen.mechanisms if m.gap == gap]
    if len(own) < 2:
        return {m.key: 1.0 for m in own}
    players = {m.key: m.columns for m in own}
    rest = tuple(c for g, cs in columns.items() if g != gap for c in cs)
    players["rest"] = rest
    keys = [m.key for m in own]
    every = frozenset(players)
    sets = [frozenset({k}) for k in keys] + [every] + [every - {k} for k in keys]
    value = intervene(rerun, particles, players, sets).value()
    return {
        k: 0.5 * (value[frozenset({k})] - value[frozenset()])
        + 0.5 * (value[every] - value[every - {k}])
        for k in keys
    }
