"""What a sample of n attempts could have shown at all."""

from typing import Literal

import numpy as np

from gaploop.core.errors import UsageError
from gaploop.stats._special import binomial_cdf, binomial_pmf


def paired_power(n: int, before: float, after: float, alpha: float = 0.05) -> float:
    """Probability that `paired_change` on n attempts gives a p-value of at most `alpha`.

    Outcomes before and after are taken as independent given the rates. Shared seeds
    make them agree more often, which only raises the power: a lower limit in practice.
    Exact, by summing over the number of flips (Duffy 1984, Biometrics 40:1005-1015).
    """
    rise, fall = (1 - before) * after, before * (1 - after)
    flips = rise + fall
    if n <= 0 or flips <= 0:
        return 0.0
    m = np.arange(n + 1)
    limit = _critical(n, alpha)
    share = rise / flips
    # reject when the smaller side has at most limit[m] of the m flips
    reject = binomial_cdf(limit, m, share) + binomial_cdf(limit, m, 1 - share)
    return float(binomial_pmf(m, n, min(flips, 1.0)) @ np.where(limit < 0, 0.0, reject))


def detectable(
    n: int,
    p: float,
    power: float = 0.8,
    alpha: float = 0.05,
    direction: Literal["rise", "fall", "either"] = "either",
) -> float:
    """The smallest change from rate p that n paired attempts would see.

    A fraction; 1.0 where even the largest possible change would be missed. With
    `either`, the smaller of the smallest rise and the smallest fall.

    Raises:
      UsageError: when p, power or alpha is no probability.
    """
    for name, value in (("rate", p), ("power", power), ("alpha", alpha)):
        if not 0 <= value <= 1:
            raise UsageError(f"A {name} of {value} is no probability.", hint="Expected 0 to 1.")
    found = [1.0]
    if direction != "fall":
        found.append(_smallest(n, p, 1 - p, 1, power, alpha))
    if direction != "rise":
        found.append(_smallest(n, p, p, -1, power, alpha))
    return min(found)


def _smallest(n: int, p: float, room: float, sign: int, power: float, alpha: float) -> float:
    """Bisection on the size of a change of one sign; power grows with it."""
    if room <= 0 or paired_power(n, p, p + sign * room, alpha) < power:
        return 1.0
    lo, hi = 0.0, room
    while hi - lo > 1e-4:
        middle = 0.5 * (lo + hi)
        if paired_power(n, p, p + sign * middle, alpha) < power:
            lo = middle
        else:
            hi = middle
    return hi


def _critical(n: int, alpha: float) -> np.ndarray:
    """(n + 1,) the largest smaller side of m flips that is significant, -1 for none."""
    limit = np.full(n + 1, -1)
    side = -1
    for m in range(n + 1):
        # the critical value grows by at most one a flip
        step = binomial_cdf(np.array([side + 1]), np.array([m]), 0.5)[0]
        if 2 * (side + 1) < m and 2 * step <= alpha:
            side += 1
        limit[m] = side
    return limit
