"""Damped Gauss-Newton from a search's end, in the knobs that the logs move.

A global search spends its budget on finding the basin. Inside it, replay residuals are
smooth in most moved knobs, and a handful of finite-difference steps reach the bottom; the
curvature there is where walkers should start.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gaploop.core.knob import KnobSpace
from gaploop.infer.likelihood import RobustLikelihood
from gaploop.infer.search import Fit
from gaploop.infer.unit import fold

Residuals = Callable[[np.ndarray], np.ndarray]
"""(M, P) knob values -> (M, E, T, d) logged minus replayed."""

_DAMPING = 10.0 ** np.arange(-3.0, 3.5, 1.5)


def refine(
    residuals: Residuals,
    space: KnobSpace,
    fit: Fit,
    likelihood: Callable[[np.ndarray], RobustLikelihood],
    *,
    iterations: int = 4,
    step: float = 0.01,
) -> tuple[Fit, RobustLikelihood]:
    """The fit moved to the bottom of its basin, with its curvature, and its likelihood.

    Iteratively reweighted least squares with Levenberg's damping, all dampings tried in one
    call. The likelihood is recalibrated at every accepted point, because its scale and
    temper are those of the best fit's residuals.

    Args:
      residuals: replays candidates.
      likelihood: (E, T, d) residuals of a best fit to the likelihood they call for.
      step: finite-difference step, in prior quantiles; wide enough to average over the
        small jumps of contact.

    Returns:
      the fit with `best`, `loglik` and `covariance`; the likelihood at that point.
    """
    moved = np.flatnonzero(fit.moved)
    unit = space.to_unit(fit.best[None])[0]
    base = residuals(fit.best[None])[0]
    current = likelihood(base)
    hessian = np.eye(len(moved))
    for _ in range(iterations if len(moved) else 0):
        gradient, hessian = _normal(residuals, space, unit, moved, base, current, step)
        trials = np.repeat(unit[None], len(_DAMPING), axis=0)
        for i, damping in enumerate(_DAMPING):
            ridge = damping * np.diag(np.diag(hessian)) + 4.0 * np.eye(len(moved))
            trials[i, moved] += np.clip(np.linalg.solve(hessian + ridge, gradient), -0.25, 0.25)
        trials = np.clip(fold(trials), 1e-6, 1.0 - 1e-6)
        found = residuals(space.from_unit(trials))
        levels = current(np.concatenate([found, base[None]]))
        best = int(levels[:-1].argmax())
        if levels[best] <= levels[-1]:
            break
        gained = levels[best] - levels[-1]
        unit, base = trials[best], found[best]
        current = likelihood(base)
        if gained < 0.05:
            break
    if len(moved):
        _, hessian = _normal(residuals, space, unit, moved, base, current, step)
    # the prior's own spread bounds what the logs do not
    covariance = np.linalg.inv(hessian + 12.0 * np.eye(len(moved)))
    better = replace(
        fit,
        best=space.from_unit(unit[None])[0],
        loglik=float(current(base[None])[0]),
        covariance=covariance,
    )
    return better, current


def _normal(
    residuals: Residuals,
    space: KnobSpace,
    unit: np.ndarray,
    moved: np.ndarray,
    base: np.ndarray,
    likelihood: RobustLikelihood,
    step: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (K,) and Gauss-Newton curvature (K, K) of the log-likelihood."""
    probes = np.repeat(unit[None], len(moved), axis=0)
    sign = np.where(unit[moved] > 0.5, -1.0, 1.0)  # always into the cube
    probes[np.arange(len(moved)), moved] += sign * step
    slopes = (residuals(space.from_unit(probes)) - base[None]) / step
    slopes = np.nan_to_num(slopes * sign[:, None, None, None])
    scale, nu = likelihood.scale[..., None, :], likelihood.nu
    weight = likelihood.temper[..., None, :] * (nu + 1.0) / (nu * scale**2 + base**2)
    weight = np.broadcast_to(np.nan_to_num(weight), base.shape)
    flat = slopes.reshape(len(moved), -1)
    heavy = flat * weight.reshape(-1)
    return -heavy @ np.nan_to_num(base).reshape(-1), heavy @ flat.T
