"""Replays predicted instead of run: a quadratic in the knobs for every residual.

Near a posterior a replay changes smoothly with the knobs, and a few hundred replays that
a search has paid for already say how. The residuals of all logs are written in their
principal components over those replays, and each component is a quadratic in the
knobs, fitted by weighted ridge regression: heaviest where the logs are explained best. One
prediction costs a hundredth of a replay. It is never believed: what is drawn by it is accepted
by real replays (`pool.py`).
"""

from dataclasses import dataclass

import numpy as np

from gaploop.infer.likelihood import RobustLikelihood

_RANK = 40
"""Components of the residuals that are kept."""
_FAR = 25.0
"""Scales beyond which a residual is as wrong as any; a likelihood this robust barely asks."""
_RIDGE = 1e-3
"""Of the quadratic, relative to the weighted number of replays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulator:
    """Residuals of all logs as a function of the knobs, in the unit cube."""

    centre: np.ndarray
    """(P,) weighted mean of the replays it was fitted to."""
    width: np.ndarray
    """(P,) their weighted sd."""
    weights: np.ndarray
    """(F, R) from features to components."""
    basis: np.ndarray
    """(R, E * T * d) components."""
    offset: np.ndarray
    """(E * T * d,)"""
    shape: tuple[int, int, int]
    """(E, T, d)"""

    @classmethod
    def fit(
        cls, unit: np.ndarray, residual: np.ndarray, level: np.ndarray, likelihood: RobustLikelihood
    ) -> "Emulator":
        """From replays that were run.

        Args:
          unit: (N, P) prior quantiles.
          residual: (N, E, T, d) their residuals; rows with a non-finite entry are left out.
          level: (N,) their log-likelihoods: the best count most, as many as the quadratic needs.
          likelihood: its scale says how far a residual can matter.
        """
        good = np.isfinite(residual).all(axis=(1, 2, 3)) & np.isfinite(level)
        unit, residual, level = unit[good], residual[good], level[good]
        features = 1 + unit.shape[1] * (unit.shape[1] + 3) // 2
        weight = soften(level, target=min(2.5 * features, 0.7 * len(level)))
        limit = _FAR * likelihood.scale[..., None, :]
        flat = np.clip(residual, -limit, limit).reshape(len(unit), -1).astype(np.float64)
        centre = weight @ unit
        width = np.sqrt(weight @ (unit - centre) ** 2) + 1e-3
        offset = weight @ flat
        size = np.broadcast_to(likelihood.scale[..., None, :], residual.shape[1:]).reshape(-1)
        heavy = np.sqrt(weight)[:, None] * (flat - offset) / size
        values, vectors = np.linalg.eigh(heavy @ heavy.T)
        rank = min(_RANK, int((values > 1e-9 * values[-1]).sum()))
        rows = vectors[:, -rank:].T @ heavy
        basis = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        scores = ((flat - offset) / size) @ basis.T
        x = _features((unit - centre) / width)
        heavy_x = weight[:, None] * x
        ridge = _RIDGE * np.eye(x.shape[1])
        ridge[0, 0] = 0.0
        weights = np.linalg.solve(heavy_x.T @ x + ridge, heavy_x.T @ scores)
        return cls(
            centre=centre, width=width, weights=weights, basis=basis * size, offset=offset,
            shape=residual.shape[1:],
        )  # fmt: skip

    def __call__(self, unit: np.ndarray) -> np.ndarray:
        """(M, P) prior quantiles to (M, E, T, d) residuals."""
        scores = _features((unit - self.centre) / self.width) @ self.weights
        return (self.offset + scores @ self.basis).reshape(len(unit), *self.shape)


def soften(level: np.ndarray, target: float) -> np.ndarray:
    """exp(level / T) normalised, at the smallest T >= 1 whose effective number reaches target."""
    finite = np.isfinite(level)
    target = min(target, 0.9 * finite.sum())
    low, high = 0.0, 20.0  # log temperature
    for _ in range(40):
        middle = 0.5 * (low + high)
        w = np.where(finite, np.exp(np.where(finite, level, 0.0) / np.exp(middle)), 0.0)
        if w.sum() ** 2 / (w**2).sum() < target:
            low = middle
        else:
            high = middle
    w = np.where(finite, np.exp(np.where(finite, level, 0.0) / np.exp(high)), 0.0)
    return w / w.sum()


def _features(z: np.ndarray) -> np.ndarray:
    """(M, P) to (M, 1 + P + P (P + 1) / 2): one, linear, all products."""
    rows, columns = np.triu_indices(z.shape[1])
    return np.concatenate([np.ones((len(z), 1)), z, z[:, rows] * z[:, columns]], axis=1)
