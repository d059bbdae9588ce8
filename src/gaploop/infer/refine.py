"""Damped Gauss-Newton from a search's end, in the knobs where replays are smooth.

A global search spends its budget on finding the basin. Inside it, a handful of
finite-difference steps reach the bottom. That holds for knobs that change a path gradually
(gain, delay), not for those that decide whether a contact happens: there the slope of a
jump looks like certainty. So only knobs that act from the start of a path are fitted, on the
frames before any other knob acts (the free part), and only those whose two one-sided
differences mirror each other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gaploop.core.knob import KnobSpace
from gaploop.infer.likelihood import RobustLikelihood
from gaploop.infer.search import Fit

Residuals = Callable[[np.ndarray], np.ndarray]
"""(M, P) knob values -> (M, E, T, d) logged minus replayed."""

_DAMPING = np.array([1e-4, 1e-2, 1.0, 1e2])
_SHARES = np.array([1.0, 0.4])
"""A kink in the path (a delay that passes a physics step) makes the full step too long."""
_PLACES = np.array([0.1, 0.4, 0.6, 0.9])
"""Prior quantiles at which a knob is tried to see which frames it touches."""
_EARLY = 0.25
"""Share of a path within which a knob must act to count as acting from the start."""
_JUMP = 12.0
"""Scales that a frame may move within one difference; beyond, it went another way."""
_MIRRORED = 0.35
"""Share of the differences' energy that may fail to mirror: 0 linear, 1 one-sided."""


@dataclass(frozen=True, slots=True)
class _Slopes:
    at: np.ndarray
    """(K,) knobs."""
    values: np.ndarray
    """(K, E, T, d) central differences a prior quantile."""
    unmirrored: np.ndarray
    """(K,) share of the energy that is even in the step."""


def refine(
    residuals: Residuals,
    space: KnobSpace,
    fit: Fit,
    likelihood: Callable[[np.ndarray], RobustLikelihood],
    *,
    iterations: int = 6,
    step: float = 0.06,
    finest: float = 0.015,
) -> tuple[Fit, RobustLikelihood]:
    """The fit moved to the bottom of its basin, and its likelihood.

    Iteratively reweighted least squares with Levenberg's damping, all dampings tried in one
    call. The likelihood is recalibrated at every accepted point, because its scale and
    temper are those of the best fit's residuals.

    Args:
      residuals: replays candidates.
      likelihood: (E, T, d) residuals of a best fit to the likelihood they call for.
      step: first difference, in prior quantiles, wide enough to average over small kinks;
        halved where it brings nothing, down to `finest`.

    Returns:
      the fit with `best` and `loglik`; the likelihood there.
    """
    unit = np.clip(space.to_unit(fit.best[None])[0], step, 1.0 - step)
    base = residuals(space.from_unit(unit[None]))[0]
    current = likelihood(base)
    early, free = _free(residuals, space, unit, base, current)
    early = early[fit.moved[early]]
    slopes = _slopes(residuals, space, unit, early, base, current, free, step)
    knobs = slopes.at[slopes.unmirrored < _MIRRORED]
    for _ in range(iterations if len(knobs) else 0):
        slopes = _slopes(residuals, space, unit, knobs, base, current, free, step)
        gradient, hessian = _normal(slopes, base, current, free)
        trials = _trials(unit, knobs, gradient, hessian)
        found = residuals(space.from_unit(trials))
        levels = current(np.where(free, np.concatenate([found, base[None]]), 0.0))
        best = int(levels[:-1].argmax())
        gained = levels[best] - levels[-1]
        if gained > 0:
            unit, base = trials[best], found[best]
            current = likelihood(base)
        if gained < 0.5:
            if step <= finest:
                break
            step = 0.5 * step
    better = replace(
        fit, best=space.from_unit(unit[None])[0], loglik=float(current(base[None])[0])
    )  # fmt: skip
    return better, current


def _free(
    residuals: Residuals,
    space: KnobSpace,
    unit: np.ndarray,
    base: np.ndarray,
    likelihood: RobustLikelihood,
) -> tuple[np.ndarray, np.ndarray]:
    """Knobs that act from the start, and the (E, T, 1) frames before any other one acts."""
    probes = np.repeat(unit[None], len(unit) * len(_PLACES), axis=0)
    for i in range(len(unit)):
        probes[i * len(_PLACES) : (i + 1) * len(_PLACES), i] = _PLACES
    change = np.abs(residuals(space.from_unit(probes)) - base) / likelihood.scale[..., None, :]
    touched = np.logical_not((change < 0.5).all(axis=3))
    touched = np.asarray(touched.reshape(len(unit), len(_PLACES), *base.shape[:2]).any(axis=1))
    frames = base.shape[1]
    onset = np.where(touched.any(axis=2), touched.argmax(axis=2), frames)  # (P, E)
    early = np.median(onset, axis=1) < _EARLY * frames
    until = onset[~early].min(axis=0) if (~early).any() else np.full(len(base), frames)
    free = np.arange(frames)[None] < until[:, None]
    # where hardly anything is free, everything is used: a poor start beats none
    free = free if free.mean() > 0.1 else np.ones_like(free)
    return np.flatnonzero(early), free[..., None]


def _trials(
    unit: np.ndarray, knobs: np.ndarray, gradient: np.ndarray, hessian: np.ndarray
) -> np.ndarray:
    trials = np.repeat(unit[None], len(_DAMPING) * len(_SHARES), axis=0)
    for i, damping in enumerate(_DAMPING):
        ridge = damping * np.diag(np.diag(hessian)) + np.eye(len(knobs))
        move = np.clip(np.linalg.solve(hessian + ridge, gradient), -0.25, 0.25)
        trials[i * len(_SHARES) : (i + 1) * len(_SHARES), knobs] += _SHARES[:, None] * move
    return np.clip(trials, 1e-6, 1.0 - 1e-6)


def _slopes(
    residuals: Residuals,
    space: KnobSpace,
    unit: np.ndarray,
    knobs: np.ndarray,
    base: np.ndarray,
    likelihood: RobustLikelihood,
    free: np.ndarray,
    step: float,
) -> _Slopes:
    if not len(knobs):
        return _Slopes(knobs, np.zeros((0, *base.shape)), np.zeros(0))
    probes = np.repeat(unit[None], 2 * len(knobs), axis=0)
    rows = np.arange(len(knobs))
    probes[rows, knobs] = np.minimum(unit[knobs] + step, 1.0)
    probes[len(knobs) + rows, knobs] = np.maximum(unit[knobs] - step, 0.0)
    width = probes[rows, knobs] - probes[len(knobs) + rows, knobs]
    limit = _JUMP * likelihood.scale[..., None, :]
    change = np.clip(np.nan_to_num(residuals(space.from_unit(probes)) - base), -limit, limit)
    change = np.where(free, change, 0.0)
    up, down = change[: len(knobs)], change[len(knobs) :]
    axes = (1, 2, 3)
    scaled_up, scaled_down = up / limit, down / limit
    even = ((scaled_up + scaled_down) ** 2).sum(axis=axes)
    energy = 2.0 * (scaled_up**2 + scaled_down**2).sum(axis=axes)
    values = (up - down) / width[:, None, None, None]
    return _Slopes(knobs, values, even / np.maximum(energy, 1e-300))


def _normal(
    slopes: _Slopes, base: np.ndarray, likelihood: RobustLikelihood, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (K,) and Gauss-Newton curvature (K, K) of the log-likelihood."""
    scale, nu = likelihood.scale[..., None, :], likelihood.nu
    weight = likelihood.temper[..., None, :] * (nu + 1.0) / (nu * scale**2 + base**2)
    weight = np.broadcast_to(np.nan_to_num(weight), base.shape)
    weight = np.where(free, weight, 0.0).reshape(-1)
    flat = slopes.values.reshape(len(slopes.at), -1)
    heavy = flat * weight
    return -heavy @ np.nan_to_num(base).reshape(-1), heavy @ flat.T
