"""Many short chains that leave unidentified knobs at their prior.

Three moves, all exact in the unit cube where the prior is flat:

- differential evolution with an archive of past states (ter Braak & Vrugt 2008), on a
  random subset of the knobs: follows ridges, needs no tuning, and all walkers move in
  one likelihood call;
- a fresh prior draw of one knob alone. Its mean acceptance is the knob's
  identifiability: near 1 the logs are silent about it;
- an independent draw from a Student-t fitted to the burn-in (`independence.py`), which
  makes a few dozen steps enough.

Walkers start from the search's history in the knobs that the logs move, and from the
prior in all others.
"""

from dataclasses import dataclass

import numpy as np

from gaploop.core.knob import KnobSpace
from gaploop.core.seeds import generator
from gaploop.infer.independence import Independence
from gaploop.infer.mixing import ensemble_rhat, ess
from gaploop.infer.search import Fit
from gaploop.infer.unit import LogLikelihood, acceptance, evaluate, fold

_START = 2.0
"""Sd of the starts in smooth knobs, over what the curvature says."""


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
    anneal: bool = False,
    warm: np.ndarray | None = None,
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
      independent: share of moves that are draws from the fitted Student-t.
      anneal: cool the burn-in from the prior to the posterior, resampling walkers on the
        way (sequential Monte Carlo, Del Moral, Doucet & Jasra 2006): for starts as wide as
        the prior and few steps.
      warm: (K, P) an earlier posterior; half of the walkers start there. It changes
        where chains start, never what they converge to.
    """
    return chains_many(
        loglik, space, fits=(fit,), seed=seed, walkers=walkers, steps=steps, burn=burn,
        ensembles=ensembles, redraw=redraw, independent=independent, anneal=anneal,
        warm=None if warm is None else (warm,),
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
    anneal: bool = False,
    warm: tuple[np.ndarray, ...] | None = None,
) -> tuple[Chain, ...]:
    """One posterior a fit, as `chains`, in shared likelihood calls.

    The likelihood gets (len(fits) * walkers, P) rows, fit by fit.
    """
    each = max(walkers // ensembles, 2)
    count, dims = len(fits) * ensembles, len(space)
    rng = generator(seed, "chains")
    state = np.concatenate(
        [
            start_points(
                space, fit, rng, each * ensembles, None if warm is None else space.to_unit(warm[g])
            )
            for g, fit in enumerate(fits)
        ]
    ).reshape(count, each, dims)

    def level(unit: np.ndarray) -> np.ndarray:
        return evaluate(loglik, space.from_unit(unit.reshape(-1, dims))).reshape(count, each)

    current = level(state)
    archive = np.empty((burn + steps + 1, count, each, dims))
    archive[0] = state
    heat = np.zeros(count) if anneal else np.ones(count)
    guide = _Guide.of(space, fits, ensembles)
    kept = np.empty((steps, count, each))
    redrawn = np.zeros((count, dims))
    tried = np.zeros((count, dims))
    accepted = 0.0
    moved = np.repeat(np.array([fit.moved for fit in fits]), ensembles, axis=0)
    expected = _expected(fits, dims)
    expected = None if expected is None else np.repeat(expected, ensembles, axis=0)
    for step in range(burn + steps):
        if anneal and step < burn:
            rows, heat = _cool(current - guide(state), heat, step >= burn - 3, rng)
            state = np.take_along_axis(state, rows[..., None], axis=1)
            current = np.take_along_axis(current, rows, axis=1)
            archive[step] = state
        # the older half is forgotten: its spread is that of the start, not of the posterior
        past = archive[step // 2 : step + 1]
        if step <= burn:
            jump = Independence.fit(past, moved, expected, trust=5.0 * dims)
        kind = rng.random((count, each))
        fresh, far = kind < redraw, kind > 1.0 - independent
        knob = rng.integers(dims, size=(count, each))
        proposal = np.where(fresh[..., None], _redraw(state, knob, rng), _evolve(state, past, rng))
        proposal = np.where(far[..., None], jump.draw(rng, each), proposal)
        outside = ((proposal < 0.0) | (proposal > 1.0)).any(axis=2)
        proposed = level(np.clip(proposal, 0.0, 1.0))
        back = np.where(far, jump.log_density(state) - jump.log_density(proposal), 0.0)
        gain = heat[:, None] * (proposed - current)
        if (heat < 1.0).any():
            gain += (1.0 - heat[:, None]) * (guide(proposal) - guide(state))
        chance = np.where(outside, 0.0, acceptance(gain + back))
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


def start_points(
    space: KnobSpace, fit: Fit, rng: np.random.Generator, n: int, warm: np.ndarray | None = None
) -> np.ndarray:
    """(n, P) prior quantiles where walkers start.

    After `refine`, smooth knobs come from the curvature, twice as wide as it says,
    and all others from the prior: wider than the posterior, as starts should be. Without
    it, moved knobs come from the search's history at the lowest temperature that leaves
    n/3 effective points. Along a knob that the logs do not move the search is a random
    walk, so the prior it is.
    """
    if fit.covariance is not None and fit.smooth is not None:
        known = fit.smooth
        points = np.repeat(space.to_unit(fit.best[None]), n, axis=0)
        root = np.linalg.cholesky(
            fit.covariance[np.ix_(known, known)] + 1e-10 * np.eye(known.sum())
        )
        points[:, known] += _START * rng.standard_normal((n, len(root))) @ root.T
        points = fold(points)
    else:
        known = fit.moved
        level = fit.history_loglik - fit.history_loglik.max()
        weights = _soften(level, target=max(n / 3.0, 2.0))
        points = fit.history[rng.choice(len(level), n, p=weights)]
    if warm is not None:
        half = n // 2
        points[:half] = warm[rng.choice(len(warm), half)]
    prior = rng.random(points.shape)
    return np.where(known, points, prior)


@dataclass(frozen=True, slots=True)
class _Guide:
    """Where cooling starts: the curvature of refined fits in their smooth knobs, else flat."""

    mean: np.ndarray
    precision: np.ndarray

    @classmethod
    def of(cls, space: KnobSpace, fits: tuple[Fit, ...], ensembles: int) -> "_Guide":
        dims = len(space)
        precision = np.zeros((len(fits), dims, dims))
        for g, fit in enumerate(fits):
            if fit.covariance is not None and fit.smooth is not None:
                at = np.ix_(fit.smooth, fit.smooth)
                precision[g][at] = np.linalg.inv(_START**2 * fit.covariance[at])
        mean = space.to_unit(np.array([fit.best for fit in fits]))
        return cls(np.repeat(mean, ensembles, axis=0), np.repeat(precision, ensembles, axis=0))

    def __call__(self, unit: np.ndarray) -> np.ndarray:
        """(G, W, P) to (G, W) log densities."""
        off = unit - self.mean[:, None]
        return -0.5 * np.einsum("gwp,gpq,gwq->gw", off, self.precision, off)


def _cool(
    level: np.ndarray, heat: np.ndarray, last: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Raise each ensemble's inverse temperature as far as half of its walkers survive.

    level: (G, W) log-likelihood over guide. Returns (G, W) surviving walkers and the new
    inverse temperatures.
    """
    groups, each = level.shape
    rows, heat = np.tile(np.arange(each), (groups, 1)), heat.copy()
    for g in np.flatnonzero(heat < 1.0):
        excess = np.where(np.isfinite(level[g]), level[g], -1e12)
        excess = excess - excess.max()
        low, high = 0.0, 1.0 - heat[g]
        for _ in range(30):
            middle = 0.5 * (low + high)
            w = np.exp(middle * excess)
            if w.sum() ** 2 / (w**2).sum() < 0.5 * each:
                high = middle
            else:
                low = middle
        rise = 1.0 - heat[g] if last else high
        w = np.cumsum(np.exp(rise * excess))
        at = (rng.random() + np.arange(each)) / each
        rows[g] = np.minimum(np.searchsorted(w / w[-1], at), each - 1)
        heat[g] = min(heat[g] + rise, 1.0)
    return rows, heat


def _expected(fits: tuple[Fit, ...], dims: int) -> np.ndarray | None:
    """(F, P, P) curvature covariances of refined fits, a little wide; None without them."""
    if any(fit.covariance is None for fit in fits):
        return None
    out = np.zeros((len(fits), dims, dims))
    for g, fit in enumerate(fits):
        out[g] = 1.5 * np.asarray(fit.covariance) + np.diag(~np.asarray(fit.smooth) / 12.0)
    return out


def _soften(level: np.ndarray, target: float) -> np.ndarray:
    """exp(level / T) normalised, at the smallest T >= 1 whose effective number reaches target."""
    finite = np.isfinite(level)
    target = min(target, 0.9 * finite.sum())
    low, high = 0.0, 20.0  # log temperature
    for _ in range(40):
        middle = 0.5 * (low + high)
        w = np.where(finite, np.exp(np.where(finite, level, 0.0) / np.exp(middle)), 0.0)
        if w.sum() ** 2 / (w**2).sum() < target:
            low = middle
        else:
            high = middle
    w = np.where(finite, np.exp(np.where(finite, level, 0.0) / np.exp(high)), 0.0)
    return w / w.sum()


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
