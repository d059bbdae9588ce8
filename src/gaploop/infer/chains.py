"""Many short chains that leave unidentified knobs at their prior.

Three moves, all exact in the unit cube where the prior is flat:

- differential evolution with an archive of past states (ter Braak & Vrugt 2008), on a
  random subset of the knobs: follows ridges, needs no tuning, and all walkers move in
  one likelihood call;
- a fresh prior draw of one knob alone. Its mean acceptance is the knob's
  identifiability: near 1 the logs are silent about it;
- an independent draw: from what an emulator takes the posterior for (`guess.py`), which
  makes a dozen steps enough, or else from a Student-t fitted to the burn-in
  (`independence.py`).

Walkers start from the guess; without one, from the search's history in the knobs that
the logs move, and from the prior in all others.
"""

from dataclasses import dataclass

import numpy as np

from gaploop.core.knob import KnobSpace
from gaploop.core.seeds import generator
from gaploop.infer.emulator import soften
from gaploop.infer.guess import Guess
from gaploop.infer.independence import Independence
from gaploop.infer.mixing import ensemble_rhat, ess
from gaploop.infer.search import Fit
from gaploop.infer.unit import LogLikelihood, acceptance, evaluate, fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """What the walkers visited after burn-in."""

    samples: np.ndarray
    """(S, W, P) in the knobs' units, walkers ordered by ensemble."""
    loglik: np.ndarray
    """(S, W)"""
    redraw_acceptance: np.ndarray
    """(P,) mean probability that a fresh prior draw of this knob alone is accepted."""
    redraws: np.ndarray
    """(P,) how many redraws that mean rests on."""
    rhat: np.ndarray
    """(P,) split R-hat over ensembles."""
    ess: np.ndarray
    """(P,) effective sample size over all walkers."""
    acceptance: float
    """Of all moves."""

    @property
    def flat(self) -> np.ndarray:
        """(S * W, P) samples."""
        return self.samples.reshape(-1, self.samples.shape[-1])


def chains(
    loglik: LogLikelihood,
    space: KnobSpace,
    *,
    fit: Fit,
    seed: int,
    walkers: int = 32,
    steps: int = 40,
    burn: int = 15,
    ensembles: int = 2,
    redraw: float = 0.35,
    independent: float = 0.35,
    guess: Guess | None = None,
) -> Chain:
    """Sample the posterior.

    Args:
      loglik: (M, P) knob values to (M,) nats.
      space: knobs with their priors.
      fit: where the walkers start, and in which knobs they start from the prior.
      seed: same seed, same samples.
      walkers: in all, a multiple of `ensembles`.
      steps: kept steps a walker; each costs one call with `walkers` rows.
      burn: steps before those.
      ensembles: groups of walkers that never see each other, for R-hat.
      redraw: share of moves that are single-knob prior redraws.
      independent: share of moves that are draws from the fitted Student-t, or the guess.
      guess: an emulator's posterior: where walkers start, and what independent moves propose.
        It changes how soon chains converge, never what they converge to.
    """
    return chains_many(
        loglik, space, fits=(fit,), seed=seed, walkers=walkers, steps=steps, burn=burn,
        ensembles=ensembles, redraw=redraw, independent=independent, guess=guess,
    )[0]  # fmt: skip


def chains_many(
    loglik: LogLikelihood,
    space: KnobSpace,
    *,
    fits: tuple[Fit, ...],
    seed: int,
    walkers: int = 32,
    steps: int = 40,
    burn: int = 15,
    ensembles: int = 2,
    redraw: float = 0.35,
    independent: float = 0.35,
    guess: Guess | None = None,
) -> tuple[Chain, ...]:
    """One posterior a fit, as `chains`, in shared likelihood calls.

    The likelihood gets (len(fits) * walkers, P) rows, fit by fit.
    """
    each = max(walkers // ensembles, 2)
    count, dims = len(fits) * ensembles, len(space)
    rng = generator(seed, "chains")
    total = each * ensembles
    begun = [
        start_points(space, fit, rng, total) if guess is None else guess.starts_for(rng, total)
        for fit in fits
    ]
    state = np.concatenate(begun).reshape(count, each, dims)

    def level(unit: np.ndarray) -> np.ndarray:
        return evaluate(loglik, space.from_unit(unit.reshape(-1, dims))).reshape(count, each)

    current = level(state)
    archive = np.empty((burn + steps + 1, count, each, dims))
    archive[0] = state
    kept = np.empty((steps, count, each))
    redrawn = np.zeros((count, dims))
    tried = np.zeros((count, dims))
    accepted = 0.0
    moved = np.repeat(np.array([fit.moved for fit in fits]), ensembles, axis=0)
    for step in range(burn + steps):
        # the older half is forgotten: its spread is that of the start, not of the posterior
        past = archive[step // 2 : step + 1]
        if guess is not None:
            jump = guess
        elif step <= burn:
            jump = Independence.fit(past, moved)
        kind = rng.random((count, each))
        fresh, far = kind < redraw, kind > 1.0 - independent
        knob = rng.integers(dims, size=(count, each))
        proposal = np.where(fresh[..., None], _redraw(state, knob, rng), _evolve(state, past, rng))
        proposal = np.where(far[..., None], jump.draw(rng, count, each), proposal)
        outside = ((proposal < 0.0) | (proposal > 1.0)).any(axis=2)
        proposed = level(np.clip(proposal, 0.0, 1.0))
        back = np.where(far, jump.log_density(state) - jump.log_density(proposal), 0.0)
        chance = np.where(outside, 0.0, acceptance(proposed - current + back))
        take = rng.random((count, each)) < chance
        state = np.where(take[..., None], proposal, state)
        current = np.where(take, proposed, current)
        archive[step + 1] = state
        if step >= burn:
            kept[step - burn] = current
            rows = np.broadcast_to(np.arange(count)[:, None], knob.shape)
            np.add.at(redrawn, (rows[fresh], knob[fresh]), chance[fresh])
            np.add.at(tried, (rows[fresh], knob[fresh]), 1.0)
            accepted += float(take.mean()) / steps

    result: list[Chain] = []
    for g in range(len(fits)):
        rows = slice(g * ensembles, (g + 1) * ensembles)
        unit = archive[burn + 1 :, rows].reshape(steps, ensembles * each, dims)
        n = tried[rows].sum(axis=0)
        result.append(
            Chain(
                samples=space.from_unit(unit.reshape(-1, dims)).reshape(unit.shape),
                loglik=kept[:, rows].reshape(steps, -1),
                redraw_acceptance=redrawn[rows].sum(axis=0) / np.where(n > 0, n, np.nan),
                redraws=n,
                rhat=ensemble_rhat(unit, ensembles),
                ess=ess(unit),
                acceptance=accepted,
            )
        )
    return tuple(result)


def start_points(space: KnobSpace, fit: Fit, rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, P) prior quantiles where walkers start.

    Moved knobs come from the search's history at the lowest temperature that leaves n/3
    effective points. Along a knob that the logs do not move the search is a random walk,
    so the prior it is.
    """
    level = fit.history_loglik - fit.history_loglik.max()
    weights = soften(level, target=max(n / 3.0, 2.0))
    points = fit.history[rng.choice(len(level), n, p=weights)]
    return np.where(fit.moved, points, rng.random(points.shape))


def _redraw(state: np.ndarray, knob: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    proposal = state.copy()
    np.put_along_axis(proposal, knob[..., None], rng.random(knob.shape)[..., None], axis=2)
    return proposal


def _evolve(state: np.ndarray, past: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """x + gamma (a - b) + e on a random subset of the knobs, a and b from the archive."""
    count, each, dims = state.shape
    ages, group = len(past), np.arange(count)[:, None]
    first, second = (
        past[rng.integers(ages, size=(count, each)), group, rng.integers(each, size=(count, each))]
        for _ in range(2)
    )
    share = rng.choice([0.3, 0.6, 1.0], size=(count, each, 1))
    chosen = rng.random(state.shape) < share
    chosen |= np.arange(dims) == rng.integers(dims, size=(count, each, 1))  # at least one
    moving = chosen.sum(axis=2, keepdims=True)
    gamma = 2.38 / np.sqrt(2.0 * moving) * rng.uniform(0.3, 1.1, size=(count, each, 1))
    gamma = np.where(rng.random((count, each, 1)) < 0.1, 1.0, gamma)  # jumps between basins
    step = gamma * (first - second) + 1e-4 * rng.standard_normal(state.shape)
    return fold(state + np.where(chosen, step, 0.0))
