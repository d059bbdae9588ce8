# pyright: basic
"""The few special functions in use, with types.

scipy.special carries no types and loads in a tenth of the time of scipy.stats,
which no verb should pay for before it prints its first line.
"""

import numpy as np
from scipy import special


def normal_quantile(p: float) -> float:
    """z with P(Z <= z) = p."""
    return float(special.ndtri(p))


def beta_quantile(p: float, a: float, b: float) -> float:
    """x with P(X <= x) = p for X ~ Beta(a, b)."""
    return float(special.betaincinv(a, b, p))


def student_quantile(p: float, df: float) -> float:
    """t with P(T <= t) = p for Student's T with `df` degrees of freedom."""
    return float(special.stdtrit(df, p))


def binomial_cdf(k: np.ndarray, n: np.ndarray, p: float) -> np.ndarray:
    """P(X <= k) for X ~ Bin(n, p), elementwise; 0 for k < 0."""
    below = special.bdtr(np.maximum(k, 0), n, p)
    return np.where(k < 0, 0.0, below)


def binomial_pmf(k: np.ndarray, n: int, p: float) -> np.ndarray:
    """P(X = k) for X ~ Bin(n, p), elementwise."""
    choose = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.exp(choose + special.xlogy(k, p) + special.xlog1py(n - k, -p))


def betaln(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log of the beta function, elementwise."""
    return np.asarray(special.betaln(a, b))
