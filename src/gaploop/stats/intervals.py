"""Intervals of a success rate: one sample, and several training seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import UsageError
from gaploop.stats._special import beta_quantile, betaln, normal_quantile

_GRID = 1000
"""Cells of the rate axis in `two_level`."""
_CORRELATIONS = 40
"""Cells of the between-seed correlation axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A rate with its interval, as fractions."""

    mean: float
    """Point estimate; NaN without data."""
    lo: float
    hi: float
    level: float = 0.95
    method: str = ""


def wilson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Score interval of a rate, as fractions; (0, 1) for n = 0.

    Source: Wilson (1927), J. Am. Stat. Assoc. 22:209-212.

    Raises:
      UsageError: for k outside 0 .. n or a level outside (0, 1).
    """
    _check(k, n, level)
    if n == 0:
        return 0.0, 1.0
    z = normal_quantile((1 + level) / 2)
    rate, weight = k / n, 1 + z * z / n
    middle = (rate + z * z / (2 * n)) / weight
    half = z / weight * (rate * (1 - rate) / n + z * z / (4 * n * n)) ** 0.5
    # at the ends the root cancels exactly on paper, not in floating point
    return (
        0.0 if k == 0 else max(0.0, middle - half),
        1.0 if k == n else min(1.0, middle + half),
    )


def clopper_pearson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of a rate, as fractions; covers at least `level` for any rate.

    Source: Clopper and Pearson (1934), Biometrika 26:404-413.

    Raises:
      UsageError: for k outside 0 .. n or a level outside (0, 1).
    """
    _check(k, n, level)
    tail = (1 - level) / 2
    lo = beta_quantile(tail, k, n - k + 1) if k > 0 else 0.0
    hi = beta_quantile(1 - tail, k + 1, n - k) if k < n else 1.0
    return lo, hi


def two_level(
    k: Sequence[int] | np.ndarray, n: Sequence[int] | np.ndarray, level: float = 0.95
) -> Interval:
    """The rate of a recipe, from S training seeds with n[s] trials each.

    Two policies of one recipe differ by more than their trials do, so that pooling
    all trials claims far too much. Here k[s] ~ Bin(n[s], q[s]) and
    q[s] ~ Beta(mu c, (1 - mu) c) with correlation rho = 1 / (1 + c); the answer is the
    mean of the seeds' rates and the narrowest interval of mu, whose prior is uniform,
    with rho ~ Beta(1, 2) integrated out on a grid.

    Source: the beta-binomial of Williams (1975), Biometrics 31:949-952; Gelman et
    al., Bayesian Data Analysis, 3rd ed., section 5.3. Why not Clopper-Pearson at the
    effective n of Korn and Graubard (1998): with five seeds and rates near 1 it covered
    as little as half in simulation, because five nearly perfect seeds show no spread to
    estimate. The prior of rho keeps this one honest: simulated coverage of the 95 % interval
    was 94 to 100 % for mu 0.5 to 0.98, 2 to 5 seeds and rho 0.02 to 0.2, and at worst
    89 % at rho = 0.4.

    One seed gives a very wide interval and none gives (0, 1): nothing is raised.

    Args:
      k: (S,) successes a seed.
      n: (S,) trials a seed; seeds with 0 trials are left out.

    Raises:
      UsageError: for k outside 0 .. n, unequal lengths or a level outside (0, 1).
    """
    hits, trials = np.asarray(k, dtype=float).ravel(), np.asarray(n, dtype=float).ravel()
    if hits.shape != trials.shape:
        raise UsageError(f"Two-level interval: {len(hits)} counts for {len(trials)} sample sizes.")
    for one, of in zip(hits, trials, strict=True):
        _check(int(one), int(of), level)
    _check(0, 0, level)
    seen = trials > 0
    hits, trials = hits[seen], trials[seen]
    if not len(hits):
        return Interval(mean=float("nan"), lo=0.0, hi=1.0, level=level, method="no data")
    lo, hi = _narrowest(_marginal(hits, trials), level)
    mean = float(np.mean(hits / trials))
    # mu is shrunk towards the middle; the interval must still hold what was measured
    return Interval(
        mean=mean,
        lo=min(lo, mean),
        hi=max(hi, mean),
        level=level,
        method=f"beta-binomial over {len(hits)} seeds",
    )


def _marginal(hits: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """(_GRID,) posterior mass of mu in equal cells of [0, 1]."""
    mu = (np.arange(_GRID) + 0.5) / _GRID
    # cells of equal prior mass of rho ~ Beta(1, 2), so that they need no weights
    rho = 1 - np.sqrt(1 - (np.arange(_CORRELATIONS) + 0.5) / _CORRELATIONS)
    c = (1 - rho) / rho
    a, b = mu[:, None] * c, (1 - mu)[:, None] * c
    # equal seeds cost one evaluation
    pairs, counts = np.unique(np.stack([hits, trials]), axis=1, return_counts=True)
    log = np.zeros_like(a)
    for hit, trial, count in zip(*pairs, counts, strict=True):
        log += count * (betaln(a + hit, b + trial - hit) - betaln(a, b))
    mass = np.exp(log - log.max()).sum(axis=1)
    return mass / mass.sum()


def _narrowest(mass: np.ndarray, level: float) -> tuple[float, float]:
    """Ends of the narrowest interval that holds `level` of a mass on equal cells of [0, 1]."""
    edges = np.linspace(0.0, 1.0, len(mass) + 1)
    cumulative = np.concatenate([[0.0], np.cumsum(mass)])
    below = np.linspace(0.0, 1 - level, 201)
    lo = np.interp(below, cumulative, edges)
    hi = np.interp(np.minimum(below + level, cumulative[-1]), cumulative, edges)
    best = int(np.argmin(hi - lo))
    return float(lo[best]), float(hi[best])


def _check(k: int, n: int, level: float) -> None:
    if not 0 <= k <= n:
        raise UsageError(
            f"{k} successes of {n} trials is impossible.", hint="Expected 0 <= k <= n."
        )
    if not 0 < level < 1:
        raise UsageError(f"A level of {level} is no probability.", hint="Expected 0 < level < 1.")
