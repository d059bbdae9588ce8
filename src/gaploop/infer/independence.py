"""Proposals that do not depend on where the walker stands.

A Student-t fitted to the walkers' recent past, in the knobs that the logs move, and
fresh prior draws in all others (adaptive independent Metropolis-Hastings, Holden,
Hauge & Holden 2009). Where the posterior is near Gaussian, one such move forgets the
start; a ridge between two knobs is in the covariance. It is fitted during burn-in and
then frozen, so that the kept samples come from an exact chain.
"""

from dataclasses import dataclass

import numpy as np

_NU = 5.0  # tails heavier than any posterior here: no place is proposed too rarely


@dataclass(frozen=True, slots=True, kw_only=True)
class Independence:
    """One fitted proposal a group of walkers, in the unit cube."""

    mean: np.ndarray
    """(G, P)"""
    root: np.ndarray
    """(G, P, P) Cholesky factor of the covariance; identity rows in unmoved knobs."""
    inverse: np.ndarray
    """(G, P, P) its inverse."""
    moved: np.ndarray
    """(G, P) bool."""

    @classmethod
    def fit(cls, past: np.ndarray, moved: np.ndarray) -> "Independence":
        """From past states.

        Args:
          past: (T, G, W, P) states.
          moved: (G, P) mask of the knobs that the logs move.
        """
        x = np.moveaxis(past, 1, 0).reshape(past.shape[1], -1, past.shape[-1])
        mean = x.mean(axis=1)
        centred = np.where(moved[:, None, :], x - mean[:, None], 0.0)
        covariance = np.swapaxes(centred, 1, 2) @ centred / max(x.shape[1] - 1, 1)
        idle = np.where(moved, 1e-8, 1.0)  # a floor, and a unit diagonal where nothing moves
        covariance += idle[:, :, None] * np.eye(x.shape[2])
        root = np.linalg.cholesky(covariance)
        return cls(mean=mean, root=root, inverse=np.linalg.inv(root), moved=moved)

    def draw(self, rng: np.random.Generator, groups: int, walkers: int) -> np.ndarray:
        """(G, walkers, P) proposals; some lie outside the cube and must be refused."""
        dims = self.mean.shape[1]
        normal = rng.standard_normal((groups, walkers, dims))
        normal /= np.sqrt(rng.chisquare(_NU, size=(groups, walkers, 1)) / _NU)
        value = self.mean[:, None] + normal @ np.swapaxes(self.root, 1, 2)
        return np.where(self.moved[:, None], value, rng.random(value.shape))

    def log_density(self, unit: np.ndarray) -> np.ndarray:
        """(G, W, P) points to (G, W) log densities, up to a constant a group."""
        off = np.where(self.moved[:, None], unit - self.mean[:, None], 0.0)
        z = off @ np.swapaxes(self.inverse, 1, 2)
        dims = self.moved.sum(axis=1)[:, None]
        return -0.5 * (_NU + dims) * np.log1p((z**2).sum(axis=2) / _NU)
