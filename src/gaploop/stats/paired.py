"""Two policies on the same scenarios and seeds: test, interval, not-worse check.

And two recipes over the same training seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import UsageError
from gaploop.stats._special import binomial_cdf, normal_quantile, student_quantile
from gaploop.stats.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedChange:
    """A success rate before and after, on the same n attempts."""

    p_value: float
    """Exact, two-sided; 1 where nothing changed."""
    change: float
    """Rate after minus rate before, as a fraction; 0 without data."""
    lo: float
    hi: float
    """Interval of the change."""
    n: int
    better: int
    """Attempts that failed before and succeed now."""
    worse: int
    """Attempts that succeeded before and fail now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NonInferiority:
    """Whether a policy is not worse than another by more than a margin."""

    passed: bool | None
    """True: not worse. False: worse by more than the margin. None: n is too small to say."""
    margin: float
    """Fraction, fixed before the run."""
    change: float
    lo: float
    """One-sided lower limit of the change at 1 - alpha."""
    hi: float
    """One-sided upper limit of the change at 1 - alpha."""
    n: int


def paired_change(before: np.ndarray, after: np.ndarray, level: float = 0.95) -> PairedChange:
    """Did the rate change on these very attempts?

    Only attempts whose outcome flipped carry information: under no change each flip
    goes either way with probability 1/2, hence the exact binomial test of McNemar
    (1947), Psychometrika 12:153-157. The interval inverts the score test of Tango
    (1998), Statistics in Medicine 17:891-908, which needs no large n and does not
    collapse when nothing flipped.

    Args:
      before: (n,) bool, outcomes of the old policy.
      after: (n,) bool, outcomes of the new one in the same order.

    Raises:
      UsageError: when the lengths differ.
    """
    better, worse, n = _flips(before, after)
    lo, hi = tango(better, worse, n, level)
    return PairedChange(
        p_value=mcnemar(better, worse),
        change=(better - worse) / n if n else 0.0,
        lo=lo,
        hi=hi,
        n=n,
        better=better,
        worse=worse,
    )


def non_inferiority(
    before: np.ndarray, after: np.ndarray, margin: float, alpha: float = 0.05
) -> NonInferiority:
    """Is the new policy at most `margin` (a fraction) worse? No evidence means no answer.

    One-sided test at `alpha` by the score interval of `paired_change`.

    Args:
      before: (n,) bool, outcomes of the old policy.
      after: (n,) bool, outcomes of the new one in the same order.

    Raises:
      UsageError: when the lengths differ or the margin is not in (0, 1).
    """
    if not 0 < margin < 1:
        raise UsageError(
            f"A non-inferiority margin of {margin} cannot be tested.",
            hint="Give a fraction between 0 and 1, such as 0.05.",
        )
    better, worse, n = _flips(before, after)
    lo, hi = tango(better, worse, n, 1 - 2 * alpha)
    passed = True if lo > -margin else False if hi < -margin else None
    change = (better - worse) / n if n else 0.0
    return NonInferiority(passed=passed, margin=margin, change=change, lo=lo, hi=hi, n=n)


def paired_seeds(
    before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]], level: float = 0.95
) -> Interval:
    """Mean over seeds of a rate after less the rate before, each seed beside itself.

    Student's t over the seeds' differences, which holds what the worlds share out of the
    interval. A few seeds at a rate of 1 differ by nothing and would claim certainty, so the
    variance of a difference is at least what its trials alone give, with two successes and
    two failures added to each rate (Agresti and Coull 1998, Am. Stat. 52:119); outcomes that
    were paired as well make that too wide, never too narrow.

    Without a seed the mean is NaN; up to one seed the interval is (-1, 1).

    Args:
      before: (k, n) a seed; seeds with n = 0 on either side are left out.
      after: (k, n) of the same seeds in the same order.

    Raises:
      UsageError: when the lengths differ.
    """
    if len(before) != len(after):
        raise UsageError(f"{len(before)} seeds before and {len(after)} after are no pairs.")
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if a[1] and b[1]]
    seeds = len(pairs)
    if not seeds:
        return Interval(mean=float("nan"), lo=-1.0, hi=1.0, level=level, method="no data")
    gaps = np.array([b[0] / b[1] - a[0] / a[1] for a, b in pairs])
    mean = float(gaps.mean())
    method = f"paired t over {seeds} seeds"
    if seeds < 2:
        return Interval(mean=mean, lo=-1.0, hi=1.0, level=level, method=method)
    trials = np.mean([_variance(*a) + _variance(*b) for a, b in pairs])
    half = student_quantile((1 + level) / 2, seeds - 1)
    half *= float(np.sqrt(max(gaps.var(ddof=1), trials) / seeds))
    return Interval(
        mean=mean, lo=max(-1.0, mean - half), hi=min(1.0, mean + half), level=level, method=method
    )


def _variance(k: int, n: int) -> float:
    """Of a rate, from its trials."""
    rate = (k + 2) / (n + 4)
    return rate * (1 - rate) / (n + 4)


def mcnemar(better: int, worse: int) -> float:
    """Two-sided exact p-value of a split of flips; 1 for none."""
    flips = better + worse
    if flips == 0:
        return 1.0
    tail = binomial_cdf(np.array([min(better, worse)]), np.array([flips]), 0.5)[0]
    return min(1.0, 2 * float(tail))


def tango(better: int, worse: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Score interval of (better - worse) / n, as fractions; (-1, 1) for n = 0."""
    if n == 0:
        return -1.0, 1.0
    z = normal_quantile((1 + level) / 2)
    return -_upper(worse, better, n, z), _upper(better, worse, n, z)


def _upper(better: int, worse: int, n: int, z: float) -> float:
    """The change above the estimate at which the score statistic reaches -z."""
    lo, hi = (better - worse) / n, 1.0
    for _ in range(60):
        middle = 0.5 * (lo + hi)
        if _score(better, worse, n, middle) > -z:
            lo = middle
        else:
            hi = middle
    return hi


def _score(better: int, worse: int, n: int, change: float) -> float:
    """Tango's statistic for a true difference `change`."""
    a = 2 * n
    b = -better - worse + (2 * n - better + worse) * change
    c = -worse * change * (1 - change)
    # probability of getting worse, by maximum likelihood given the difference
    q = (max(b * b - 4 * a * c, 0.0) ** 0.5 - b) / (2 * a)
    variance = n * (2 * q + change * (1 - change))
    gap = better - worse - n * change
    if variance <= 0:
        return 0.0 if gap == 0 else float("-inf") if gap < 0 else float("inf")
    return gap / variance**0.5


def _flips(before: np.ndarray, after: np.ndarray) -> tuple[int, int, int]:
    old, new = np.asarray(before, dtype=bool).ravel(), np.asarray(after, dtype=bool).ravel()
    if len(old) != len(new):
        raise UsageError(
            f"Outcomes before ({len(old)}) and after ({len(new)}) are no pairs.",
            hint="Run both policies on the same seed list.",
        )
    return int(np.sum(new & ~old)), int(np.sum(old & ~new)), len(old)
