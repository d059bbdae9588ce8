"""What the calibrated model still gets wrong, measured on logs it was not fitted to."""

import numpy as np


def replay_rms(residual: np.ndarray) -> np.ndarray:
    """Rms of a replay residual, per column.

    Args:
      residual: (..., T, d) logged minus replayed; non-finite entries are left out.

    Returns:
      (d,) rms in the channel's unit; NaN for a column without a finite entry.
    """
    flat = residual.reshape(-1, residual.shape[-1])
    good = np.isfinite(flat)
    count = good.sum(axis=0)
    total = np.where(good, flat, 0.0) ** 2
    return np.sqrt(total.sum(axis=0) / np.where(count > 0, count, np.nan))


def excess(rms: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """(d,) how many times the white noise a held-out residual is, at least 1."""
    floor = np.where(noise > 0, noise, np.inf)
    return np.maximum(1.0, rms / floor)
