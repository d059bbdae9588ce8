"""One verdict a knob, from the chain and nothing else."""

from dataclasses import dataclass

import numpy as np

from gaploop.calibrate.config import CalibrateConfig
from gaploop.core import Knob, KnobSpace, KnobVerdict
from gaploop.core.posterior import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What the sampling left, over all knobs of a world."""

    flat: np.ndarray
    """(N, P) equally weighted."""
    redraw: np.ndarray
    """(P,) redraw acceptance."""
    rhat: np.ndarray
    ess: np.ndarray


def verdicts(
    space: KnobSpace, sampled: Sampled, scatter: np.ndarray, config: CalibrateConfig
) -> tuple[KnobVerdict, ...]:
    """A verdict for every knob. scatter: (P,) from `episode_scatter`."""
    unit = space.to_unit(sampled.flat)
    return tuple(
        _state(
            knob, sampled.flat[:, i],
            _verdict(
                unit[:, i], float(sampled.redraw[i]),
                float(scatter[i]) if sampled.rhat[i] <= config.rhat else 0.0, config,
            ),
            redraw=float(sampled.redraw[i]), rhat=float(sampled.rhat[i]), ess=float(sampled.ess[i]),
        )
        for i, knob in enumerate(space.knobs)
    )  # fmt: skip


def prior_verdicts(space: KnobSpace, draws: np.ndarray) -> tuple[KnobVerdict, ...]:
    """What is said of every knob without a single log."""
    return tuple(
        _state(k, draws[:, i], "not identifiable", redraw=1.0, rhat=1.0, ess=float(len(draws)))
        for i, k in enumerate(space.knobs)
    )


def _state(
    knob: Knob, x: np.ndarray, verdict: Verdict, *, redraw: float, rhat: float, ess: float
) -> KnobVerdict:
    low, high = np.quantile(x, [0.05, 0.95])
    return KnobVerdict(
        name=knob.name, unit=knob.unit, mean=float(x.mean()), sd=float(x.std()), lo=float(low),
        hi=float(high), verdict=verdict, redraw_acceptance=redraw, rhat=rhat, ess=ess,
    )  # fmt: skip


def _verdict(unit: np.ndarray, redraw: float, scatter: float, config: CalibrateConfig) -> Verdict:
    if redraw >= 1.0 - 1e-12:
        return "no effect"
    if redraw >= config.silent or unit.std() >= config.wide / np.sqrt(12.0):
        return "not identifiable"
    if max((unit < config.edge).mean(), (unit > 1.0 - config.edge).mean()) > 0.5:
        return "at bound"
    return "misspecified" if scatter > config.scatter else "identified"


def episode_scatter(draws: np.ndarray, by_episode: np.ndarray) -> np.ndarray:
    """How much more the episodes disagree about a knob than its posterior admits.

    The square root of the infinitesimal jackknife variance over the posterior variance
    (Giordano & Broderick 2023, eq. 4): cov(knob, log-likelihood of episode e) is what
    leaving e out would shift the mean by. About 1 where the likelihood is right.

    Args:
      draws: (S, P) posterior draws.
      by_episode: (S, E) their log-likelihoods by episode.
    """
    x = draws - draws.mean(axis=0)
    level = by_episode - by_episode.mean(axis=0)
    count = by_episode.shape[1]
    shift = x.T @ level / len(draws)  # (P, E)
    variance = x.var(axis=0)
    # finitely many draws alone give every covariance a variance of var(x) var(level) / S
    chance = variance[:, None] * level.var(axis=0)[None] / len(draws)
    total = count * shift.var(axis=1, ddof=1) if count > 1 else np.zeros(len(variance))
    found = np.maximum(total - chance.sum(axis=1), 0.0)
    return np.sqrt(found / np.maximum(variance, 1e-300))
