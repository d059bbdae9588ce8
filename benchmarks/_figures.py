"""Rates, differences and correlations with their intervals, as text for tables."""

from collections.abc import Sequence

import numpy as np

from gaploop.stats import Interval, two_level, wilson


def difference(ours: Interval, rival: Interval) -> str:
    """Points between two rates, with the interval their own intervals give.

    Newcombe (1998), Stat. Med. 17:873, method 10. It takes the two for independent:
    shared worlds and starts make it wider than need be.
    """
    gap = ours.mean - rival.mean
    lo = gap - np.hypot(ours.mean - ours.lo, rival.hi - rival.mean)
    hi = gap + np.hypot(ours.hi - ours.mean, rival.mean - rival.lo)
    return f"{100 * gap:+.0f} [{100 * lo:+.0f}, {100 * hi:+.0f}]"


def share(k: int, n: int) -> str:
    """k of n with Wilson's 95 % interval, for what is independent."""
    lo, hi = wilson(k, n)
    return f"{k}/{n} [{100 * lo:.0f}, {100 * hi:.0f}] %"


def grouped(k: Sequence[int], n: Sequence[int]) -> str:
    """k of n over groups whose members are alike, with the two-level 95 % interval."""
    found = two_level(k, n)
    return f"{sum(k)}/{sum(n)} [{100 * found.lo:.0f}, {100 * found.hi:.0f}] %"


def percent(rate: Interval | None) -> str:
    if rate is None:
        return ""
    return f"{100 * rate.mean:.0f} [{100 * rate.lo:.0f}, {100 * rate.hi:.0f}]"


def points(change: Interval) -> str:
    """A difference of rates in points, with its interval where there is one."""
    if np.isnan(change.mean):
        return ""
    if change.hi - change.lo >= 2.0:
        return f"{100 * change.mean:+.0f} (too few seeds)"
    return f"{100 * change.mean:+.0f} [{100 * change.lo:+.0f}, {100 * change.hi:+.0f}]"


def correlation(
    pairs: Sequence[Sequence[tuple[float, float]]], draws: int = 2000
) -> tuple[float, float, float]:
    """Spearman's rho of all pairs, and its 95 % bootstrap interval over the groups.

    Prescriptions of one loop are not independent, so whole loops are resampled. NaN bounds
    for fewer than three loops.
    """
    from scipy.stats import rankdata

    def rho(chosen: Sequence[Sequence[tuple[float, float]]]) -> float:
        a, b = np.array([p for one in chosen for p in one]).T
        a, b = rankdata(a), rankdata(b)
        return float(np.corrcoef(a, b)[0, 1]) if a.std() and b.std() else float("nan")

    groups = [p for p in pairs if p]
    if len(groups) < 3:
        return rho(groups), float("nan"), float("nan")
    rng = np.random.default_rng(0)
    found = [
        rho([groups[i] for i in rng.integers(len(groups), size=len(groups))]) for _ in range(draws)
    ]
    lo, hi = np.nanquantile(found, [0.025, 0.975])
    return rho(groups), float(lo), float(hi)
