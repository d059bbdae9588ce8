"""A position servo sags under load: error against the torque it holds."""

from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import InputError
from gaploop.signals.spans import effective


@dataclass(frozen=True, slots=True, kw_only=True)
class Droop:
    """Slope of the tracking error on the load; 1 / slope is the servo's stiffness."""

    slope: float
    """Error per unit of load; NaN where the load does not vary."""
    lo: float
    hi: float
    """95 % interval."""
    offset: float
    """Error without load."""
    explained: float
    """Share of the error's variance, 0 to 1."""
    log_bayes_factor: float
    """Natural log, sagging against a constant error."""
    samples: float
    """Independent samples it rests on."""


def droop(error: np.ndarray, load: np.ndarray, still: np.ndarray | None = None) -> Droop:
    """Least squares of error = offset + slope load, with autocorrelation in the interval.

    The Bayes factor is by BIC (Kass and Raftery 1995, J. Am. Stat. Assoc. 90:773-795).

    Args:
      error: (T,) command minus reading.
      load: (T,) gravity torque at the joint, or anything in proportion to it.
      still: (T,) bool, frames to use; moving frames add lag and friction to the error.

    Raises:
      InputError: when the lengths differ.
    """
    y, x = np.asarray(error, float).ravel(), np.asarray(load, float).ravel()
    use = np.ones(len(y), bool) if still is None else np.asarray(still, bool).ravel()
    if not len(y) == len(x) == len(use):
        raise InputError(f"Droop test: {len(y)} errors, {len(x)} loads, {len(use)} marks.")
    use = use & np.isfinite(x) & np.isfinite(y)
    x, y = x[use], y[use]
    if len(x) < 3 or np.ptp(x) <= 1e-12 * float(np.abs(x).max()):
        return _silent(float(y.mean()) if len(y) else float("nan"), len(y))
    dx, dy = x - x.mean(), y - y.mean()
    xx, yy = float(dx @ dx), float(dy @ dy)
    slope = float(dx @ dy) / xx
    residual = dy - slope * dx
    rss = max(float(residual @ residual), 1e-12 * yy)
    n = min(effective(residual), float(len(x)))
    half = 1.96 * (rss / len(x) * len(x) / (max(n - 2, 1.0) * xx)) ** 0.5
    explained = 1 - rss / yy if yy > 0 else 0.0
    evidence = 0.5 * n * float(np.log(yy / rss)) - 0.5 * float(np.log(n)) if yy > 0 else 0.0
    return Droop(
        slope=slope,
        lo=slope - half,
        hi=slope + half,
        offset=float(y.mean() - slope * x.mean()),
        explained=explained,
        log_bayes_factor=evidence,
        samples=n,
    )


def _silent(offset: float, samples: int) -> Droop:
    nan = float("nan")
    return Droop(
        slope=nan, lo=-float("inf"), hi=float("inf"), offset=offset, explained=0.0,
        log_bayes_factor=0.0, samples=float(samples),
    )  # fmt: skip
