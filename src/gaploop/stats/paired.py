"""Two policies on the same scenarios and seeds: test, interval, not-worse check."""

from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import UsageError
from gaploop.stats._special import binomial_cdf, normal_quantile


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
