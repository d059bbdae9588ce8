"""The unit cube of prior quantiles, where the prior is flat."""

from collections.abc import Callable

import numpy as np

from gaploop.core.errors import InputError

LogLikelihood = Callable[[np.ndarray], np.ndarray]
"""(M, P) knob values in the knobs' units -> (M,) nats."""


def fold(u: np.ndarray) -> np.ndarray:
    """Any real numbers into [0, 1] by reflection at both ends.

    Reflection maps Lebesgue measure onto itself, so a symmetric proposal stays
    symmetric and a flat density stays flat.
    """
    v = np.mod(u, 2.0)
    return np.where(v > 1.0, 2.0 - v, v)


def evaluate(loglik: LogLikelihood, values: np.ndarray) -> np.ndarray:
    """(M,) log-likelihoods; NaN becomes -inf, a wrong shape is refused."""
    result = np.asarray(loglik(values), dtype=float)
    if result.shape != (len(values),):
        raise InputError(
            f"The likelihood returned shape {result.shape} for {len(values)} candidates.",
            hint=f"It must return ({len(values)},).",
        )
    return np.where(np.isnan(result), -np.inf, result)


def acceptance(delta: np.ndarray) -> np.ndarray:
    """Metropolis probability min(1, exp(delta)); 1 where both sides are impossible."""
    safe = np.where(np.isnan(delta), 0.0, delta)
    return np.exp(np.minimum(safe, 0.0))
