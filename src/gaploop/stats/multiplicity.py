"""Many tests at once."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """(m,) p-values adjusted for testing m hypotheses, in the order given.

    Comparing them with alpha keeps the chance of any false alarm at alpha, whatever
    the dependence. Source: Holm (1979), Scandinavian Journal of Statistics 6:65-70.
    """
    p = np.asarray(p_values, dtype=float).ravel()
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
