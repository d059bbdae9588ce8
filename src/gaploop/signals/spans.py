"""Stretches of a series."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Frames start .. stop - 1, and the seconds they cover."""

    start: int
    stop: int
    t0: float
    t1: float
    """Stamp of the last frame in the span."""

    @property
    def frames(self) -> int:
        return self.stop - self.start


def runs(mask: np.ndarray) -> np.ndarray:
    """(R, 2) start and stop of each run of True in a (T,) mask."""
    padded = np.concatenate([[False], np.asarray(mask, dtype=bool), [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    return edges.reshape(-1, 2)


def spans(mask: np.ndarray, times: np.ndarray, minimum: int = 1) -> tuple[Span, ...]:
    """Runs of True of at least `minimum` frames, with their stamps."""
    return tuple(
        Span(start=int(a), stop=int(b), t0=float(times[a]), t1=float(times[b - 1]))
        for a, b in runs(mask)
        if b - a >= minimum
    )


def effective(residual: np.ndarray) -> float:
    """Number of independent samples in a (T,) residual, from its lag-1 autocorrelation.

    n (1 - r) / (1 + r), exact for a first-order autoregression (Bartlett 1935, J. R. Stat.
    Soc. 98:536-543). Without it, every figure on a smooth log is far too sure.
    """
    n = len(residual)
    centred = residual - residual.mean()
    power = float(centred @ centred)
    if n < 3 or power <= 0:
        return float(n)
    r = float(centred[1:] @ centred[:-1]) / power
    r = min(max(r, 0.0), 1 - 1 / n)
    return max(n * (1 - r) / (1 + r), 1.0)
