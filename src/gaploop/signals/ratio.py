"""Wrong units leave a known factor between live and training spread."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gaploop.core.errors import InputError

FACTORS: Final = {
    "deg instead of rad": (57.29577951308232, 4.0),
    "rad instead of deg": (0.017453292519943295, 4.0),
    "mm instead of m": (1000.0, 4.0),
    "m instead of mm": (0.001, 4.0),
    "cm instead of m": (100.0, 1.5),
    "m instead of cm": (0.01, 1.5),
    "10 times": (10.0, 1.0),
    "a tenth": (0.1, 1.0),
    "0-255 instead of 0-1": (255.0, 1.0),
    "0-1 instead of 0-255": (1 / 255.0, 1.0),
    "percent instead of fraction": (100.0, 0.5),
    "fraction instead of percent": (0.01, 0.5),
}
"""Name to (live / training, how common it is relative to the others)."""

_SAME = "same unit"
_OTHER = "no known factor"
_WIDE = 3.0
"""sd of the log ratio where no known factor is at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """The best explanation of one ratio."""

    name: str
    """A name of FACTORS, `same unit`, `no known factor`, or empty where nothing moves."""
    factor: float
    """The exact factor of that name; the ratio itself where none is known."""
    ratio: float
    """Measured live / training; NaN where one side does not move."""
    confidence: float
    """Posterior probability of `name`."""
    log_bayes_factor: float
    """Natural log, that factor against the same unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One answer a column, and one for all columns together."""

    columns: tuple[Factor, ...]
    shared: Factor
    """If one factor explains all moving columns."""

    @property
    def odd(self) -> tuple[int, ...]:
        """Columns in another unit with at least 90 % confidence."""
        return tuple(
            i
            for i, c in enumerate(self.columns)
            if c.name not in ("", _SAME, _OTHER) and c.confidence >= 0.9
        )


def ratio(
    live_std: np.ndarray,
    train_std: np.ndarray,
    *,
    spread: float = 0.35,
    prior_same: float = 0.9,
) -> Ratio:
    """Names the unit error behind live / training spread, with a probability.

    log(ratio) is taken as normal round the log of each candidate factor with sd `spread`,
    because a healthy live log differs from training by some tens of percent (a modelling
    choice, not a measured law), and round 0 with sd 3 for `no known factor`. Standard
    deviations or ranges, as long as both sides are the same. Columns that do not move on
    one side do not count.

    Args:
      live_std: (d,) spread of each live column.
      train_std: (d,) spread in training.
      spread: sd of the log ratio between healthy logs.
      prior_same: prior probability that the units agree.

    Raises:
      InputError: when the lengths differ.
    """
    live, train = np.asarray(live_std, float).ravel(), np.asarray(train_std, float).ravel()
    if len(live) != len(train):
        raise InputError(f"Ratio test: {len(live)} live columns for {len(train)} trained ones.")
    # a column that stands still carries rounding noise, not a unit
    usable = (live > 1e-9) & (train > 1e-9) & np.isfinite(live) & np.isfinite(train)
    logs = np.where(usable, np.log(np.where(usable, live / np.where(usable, train, 1), 1)), np.nan)
    columns = tuple(_name(np.array([v]), spread, prior_same) for v in logs)
    return Ratio(columns=columns, shared=_name(logs[usable], spread, prior_same))


def _name(logs: np.ndarray, spread: float, prior_same: float) -> Factor:
    """The most probable explanation of log ratios (m,) that share one factor."""
    if not len(logs) or np.isnan(logs).all():
        nan = float("nan")
        return Factor(name="", factor=nan, ratio=nan, confidence=0.0, log_bayes_factor=0.0)
    common = sum(weight for _, weight in FACTORS.values())
    names = [_SAME, *FACTORS, _OTHER]
    # a third of what is not the same unit is left to factors nobody listed
    known = (1 - prior_same) * 2 / 3
    prior = np.array(
        [prior_same, *(known * w / common for _, w in FACTORS.values()), (1 - prior_same) / 3]
    )
    centre = np.array([0.0, *(np.log(f) for f, _ in FACTORS.values())])
    evidence = np.append(
        [_shared(logs - c, spread) for c in centre],
        -0.5 * np.sum((logs / _WIDE) ** 2) - len(logs) * np.log(_WIDE),
    )
    posterior = np.exp(evidence - evidence.max()) * prior
    posterior /= posterior.sum()
    best = int(np.argmax(posterior))
    return Factor(
        name=names[best],
        factor=float(np.exp(logs.mean() if best == len(centre) else centre[best])),
        ratio=float(np.exp(logs.mean())),
        confidence=float(posterior[best]),
        log_bayes_factor=float(evidence[best] - evidence[0]),
    )


def _shared(gaps: np.ndarray, spread: float) -> float:
    """Log density of m gaps, half of whose variance all columns share and half is their own.

    Constants common to all explanations are left out. One livelier log moves all
    columns, so that independent columns would be sure of a unit error too soon.
    """
    m, variance = len(gaps), spread**2 / 2
    quadratic = (gaps @ gaps - gaps.sum() ** 2 / (m + 1)) / variance
    return float(-0.5 * (quadratic + m * np.log(variance) + np.log(m + 1)))
