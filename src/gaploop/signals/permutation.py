"""Columns in another order, or with another sign, than the other side expects."""

from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation:
    """The best assignment of live columns to expected ones."""

    order: tuple[int, ...]
    """order[i] is the live column that plays the part of expected column i."""
    signs: tuple[int, ...]
    """-1 where that column moves against its part; all 1 for statistics."""
    log_bayes_factor: float
    """Natural log, this assignment against the order and signs as given; 0 when they agree."""
    samples: float
    """Median number of independent samples behind a pair."""

    @property
    def identity(self) -> bool:
        """Whether the columns stand in the expected order with the expected signs."""
        return self.order == tuple(range(len(self.order))) and -1 not in self.signs


def permutation(expected: np.ndarray, live: np.ndarray, shift: int = 0) -> Permutation:
    """Which live column follows which expected one, by correlation in time.

    A pair with correlation r counts -n log(1 - r^2) / 2, the log likelihood ratio of a
    linear relation, with n independent samples for two autocorrelated series (Bartlett
    1935, J. R. Stat. Soc. 98:536-543). The best assignment is exact (Hungarian method). A
    column that does not move keeps its place as far as the others allow.

    Args:
      expected: (T, d), the commands say.
      live: (T, d), the readings say.
      shift: frames by which live trails expected.

    Raises:
      InputError: when the shapes differ or the shift leaves nothing.
    """
    a, b = np.atleast_2d(np.asarray(expected, float)), np.atleast_2d(np.asarray(live, float))
    if a.ndim != 2 or a.shape != b.shape:
        raise InputError(f"Permutation test: shapes {a.shape} and {b.shape} are no pair.")
    if not 0 <= shift < len(a):
        raise InputError(f"Permutation test: a shift of {shift} frames leaves none of {len(a)}.")
    a, b = a[: len(a) - shift], b[shift:]
    if len(a) < 3:
        d = a.shape[1]
        return Permutation(
            order=tuple(range(d)), signs=(1,) * d, log_bayes_factor=0.0, samples=len(a)
        )
    r, n = _correlation(a, b)
    support = -0.5 * n * np.log1p(-np.minimum(r * r, 1 - 1e-9))
    # as given, a negative relation is no support for the pair
    given = float(np.sum(np.diag(np.where(r > 0, support, 0.0))))
    order = _assign(support)
    rows = np.arange(len(order))
    signs = np.where((r[rows, order] < 0) & (support[rows, order] > 3), -1, 1)
    kept = np.where((r[rows, order] < 0) & (signs > 0), 0.0, support[rows, order])
    return Permutation(
        order=tuple(int(j) for j in order),
        signs=tuple(int(s) for s in signs),
        log_bayes_factor=max(float(kept.sum()) - given, 0.0),
        samples=float(np.median(n)),
    )


def permutation_by_statistics(
    train_mean: np.ndarray,
    train_std: np.ndarray,
    live_mean: np.ndarray,
    live_std: np.ndarray,
    spread: float = 0.5,
) -> Permutation:
    """Which live column looks like which trained one, from means and spreads alone.

    A live mean is taken as normal round the trained mean with the trained sd, and the
    log of its spread as normal with sd `spread`: one log is one sample of a task's range.

    Args:
      train_mean, train_std, live_mean, live_std: (d,) each.

    Raises:
      InputError: when the lengths differ.
    """
    m, s, x, y = (
        np.asarray(v, float).ravel() for v in (train_mean, train_std, live_mean, live_std)
    )
    if not len(m) == len(s) == len(x) == len(y):
        raise InputError(
            f"Permutation test: {len(m)}, {len(s)}, {len(x)} and {len(y)} statistics are no set."
        )
    floor = 1e-6 * max(float(np.max(s, initial=0.0)), 1e-6)
    s, y = np.maximum(s, floor), np.maximum(y, floor)
    away = (x[None, :] - m[:, None]) / s[:, None]
    wider = np.log(y[None, :] / s[:, None]) / spread
    support = -0.5 * (away**2 + wider**2) - np.log(s)[:, None]
    order = _assign(support)
    gained = float(support[np.arange(len(order)), order].sum() - np.trace(support))
    return Permutation(
        order=tuple(int(j) for j in order),
        signs=(1,) * len(order),
        log_bayes_factor=max(gained, 0.0),
        samples=1.0,
    )


def _assign(support: np.ndarray) -> np.ndarray:
    """(d,) column for each row with the largest total; ties keep their place."""
    from scipy.optimize import linear_sum_assignment  # half the cost of loading this package

    if not support.size:
        return np.zeros(0, dtype=int)
    return linear_sum_assignment(support + 1e-3 * np.eye(len(support)), maximize=True)[1]


def _correlation(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d, d) correlations of columns, and (d, d) independent samples behind each."""
    x, y = a - a.mean(axis=0), b - b.mean(axis=0)
    px, py = (x * x).sum(axis=0), (y * y).sum(axis=0)
    power = np.sqrt(px[:, None] * py[None, :])
    r = np.where(power > 0, (x.T @ y) / np.where(power > 0, power, 1.0), 0.0)
    rx = np.clip((x[1:] * x[:-1]).sum(axis=0) / np.where(px > 0, px, 1.0), 0, 1)
    ry = np.clip((y[1:] * y[:-1]).sum(axis=0) / np.where(py > 0, py, 1.0), 0, 1)
    both = rx[:, None] * ry[None, :]
    return r, np.maximum(len(a) * (1 - both) / (1 + both), 1.0)
