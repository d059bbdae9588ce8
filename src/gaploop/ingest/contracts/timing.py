"""Rates, the lag from command to reading with its interval, and episodes stored off by frames."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core import UNKNOWN, Episode, Stated
from gaploop.ingest.contracts.action import Way
from gaploop.signals import Lag, lag, rate

_COLUMNS = 5
"""Commands asked for their lag, those that are followed best."""
_FARTHEST, _AHEAD = 26, 14
"""Frames a stored action may stand early or late by, the robot's own lag included."""
_ASKED = 6
"""Episodes asked for the lag of a robot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shifted:
    """Episodes whose actions are stored off the others' by some frames."""

    odd: tuple[int, ...]
    """Indices of those that are off; empty where all agree."""
    lags: tuple[float, ...]
    """Frames, one an episode; NaN where it cannot say."""
    sure: float = 0.0
    """Probability that these are off, and not the others."""
    message: str = ""


def rates(episodes: Sequence[Episode]) -> tuple[Stated, Stated]:
    """(log rate, control rate) in Hz: rows a second, and changes of the command a second."""
    logged, changes = [], []
    for episode in episodes:
        signal = episode.signals.get("action")
        signal = signal or next(iter(episode.signals.values()))
        found = rate(signal.times)
        if found.period <= 0:
            continue
        logged.append(found.hz)
        if signal.name == "action":
            values = np.asarray(signal.values, float).reshape(len(signal.times), -1)
            changes.append(_spacing(values))
    if not logged:
        return UNKNOWN, UNKNOWN
    hz = float(np.median(logged))
    spacing = [s for s in changes if s]
    log_rate = Stated(value=round(hz, 3), source="inferred", confidence=0.99)
    if not spacing:
        return log_rate, UNKNOWN
    held = float(np.median(spacing))
    control = Stated(value=round(hz / held, 3), source="inferred", confidence=0.97)
    return log_rate, control


def _spacing(values: np.ndarray) -> float:
    """Frames from one change of the command to the next: their commonest spacing, 0 unknown."""
    fresh = np.flatnonzero(np.any(np.diff(values, axis=0) != 0, axis=1)) + 1
    gaps = np.diff(fresh)
    return float(np.argmax(np.bincount(gaps))) if len(gaps) >= 10 else 0.0


def robot_lag(way: Way, dt: float) -> Stated:
    """{seconds, lo, hi}: command to reading over episodes, with a 95 % interval.

    Interval of the mean of what joints say, where they scatter more than each says of itself;
    a tenth of a frame at least.
    """
    if way.mode == "correction":
        return UNKNOWN
    stride = max(1, len(way.sent) // _ASKED)
    found, widths, most = [], [], 1
    for a, b in list(zip(way.sent, way.seen, strict=True))[::stride]:
        asked = _asked(way, a, b)
        most = max(most, len(asked))
        for x, y in asked:
            moved, one = _near(x, y)
            if one.ok and one.correlation > 0.5:
                found.append(one.seconds + moved)
                widths.append(max(one.hi - one.lo, 0.02))
    if not found:
        return UNKNOWN
    values, weights = np.array(found), 1.0 / np.array(widths) ** 2
    scatter = _mad(values)
    near = np.abs(values - np.median(values)) < 3.0 * max(scatter, 0.3)
    if near.mean() < 0.8:  # joints that disagree are no outliers
        scatter = float(np.std(values))
    values, weights = values[near], weights[near]
    # one that is very sure of itself is not all the others
    weights = np.minimum(weights, 4.0 * np.median(weights))
    centre = float(np.average(values, weights=weights))
    spread = float(np.sqrt(np.average((values - centre) ** 2, weights=weights)))
    own = float(np.median(widths)) / 4.0
    # episodes of one joint share its friction, so joints are what is independent
    error = max(2.0 * max(spread, own, scatter) / np.sqrt(min(len(values), most)), 0.1)
    value = {k: float(v * dt) for k, v in (("seconds", centre), ("lo", centre - error),
                                    ("hi", centre + error))}  # fmt: skip
    sure = 0.95 if len(values) >= 4 and spread < 1.0 else 0.7
    return Stated(value=value, source="inferred", confidence=sure)


def _near(sent: np.ndarray, seen: np.ndarray) -> tuple[int, Lag]:
    """(frames, lag in frames beyond them): the fine search only about the coarse answer."""
    coarse = _quick(sent, seen)
    k = int(coarse) - 1 if np.isfinite(coarse) else 0
    if k > 0 and len(sent) > 3 * k + 24:
        one = lag(sent[: len(sent) - k], seen[k:], 1.0, longest=4.0)
        if one.ok:
            return k, one
    return 0, lag(sent, seen, 1.0, longest=20.0)


def _mad(values: np.ndarray) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _asked(
    way: Way, sent: np.ndarray, seen: np.ndarray, columns: int = _COLUMNS
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(command, reading) of the joints that follow best and move in this episode."""
    fit = way.fit
    ranked = [int(i) for i in np.argsort(fit.left) if fit.weight[i]]
    moving = [i for i in ranked if np.ptp(sent[:, i]) > 0.2 * np.std(sent[:, i]) > 0]
    return [(sent[:, i], fit.signs[i] * seen[:, fit.order[i]]) for i in moving[:columns]]


def shifted(way: Way, *, expected: float | None = None, least: float = 0.75) -> Shifted:
    """Names the episodes whose commands stand at other frames than the others'.

    Two groups at least `least` frames apart, and apart beyond what their lags scatter. Which of
    them is off: the one farther from the lag that is known; else the one whose readings come
    before their commands; else the smaller one. Of two equal halves that are both possible, a
    log cannot say; actions stored late are the commoner fault, so those are named, unsure.

    Args:
      expected: lag of this robot in frames, where it is known.
    """
    lags = np.array([_one(way, a, b) for a, b in zip(way.sent, way.seen, strict=True)])
    said = tuple(float(v) for v in lags)
    known = np.flatnonzero(np.isfinite(lags))
    if len(known) < 4:
        return Shifted(odd=(), lags=said)
    values = np.sort(lags[known])
    cut = _split(values)
    low, high = values[:cut], values[cut:]
    apart = float(np.median(high) - np.median(low))
    scatter = max(_mad(low), _mad(high), 0.1)
    if float(high[0] - low[-1]) < least or apart < 4.0 * scatter:
        return Shifted(odd=(), lags=said)
    off_low, sure = _which(low, high, expected)
    border = 0.5 * float(high[0] + low[-1])
    odd = [int(i) for i in known if (lags[i] < border) == off_low]
    doubt = "" if sure > 0.6 else "; it may as well be the other half, which the log cannot say"
    return Shifted(
        odd=tuple(odd),
        lags=said,
        sure=sure,
        message=f"the actions of {len(odd)} of {len(lags)} episodes stand {apart:.1f} frames "
        f"{'later' if off_low else 'earlier'} than those of the others{doubt}",
    )


def _split(values: np.ndarray) -> int:
    """Where sorted lags fall into two groups with the least spread inside (Otsu's cut)."""
    costs = [
        float(np.var(values[:k]) * k + np.var(values[k:]) * (len(values) - k))
        for k in range(1, len(values))
    ]
    return int(np.argmin(costs)) + 1


def _which(low: np.ndarray, high: np.ndarray, expected: float | None) -> tuple[bool, float]:
    """(whether the group of the smaller lags is off, probability)."""
    a, b = float(np.median(low)), float(np.median(high))
    if expected is not None:
        return abs(a - expected) > abs(b - expected), 0.97
    if a < -0.3:  # no joint moves before it is told to
        return True, 0.97
    if len(low) != len(high) and min(len(low), len(high)) < 0.4 * (len(low) + len(high)):
        return len(low) < len(high), 0.9
    return True, 0.6


def _one(way: Way, sent: np.ndarray, seen: np.ndarray) -> float:
    """Frames of lag of one episode, also ahead of the command; NaN where it cannot say."""
    if way.mode == "correction":
        return float("nan")
    found = [_quick(x, y) for x, y in _asked(way, sent, seen)]
    good = [f for f in found if np.isfinite(f)]
    return float(np.median(good)) if good else float("nan")


def _quick(sent: np.ndarray, seen: np.ndarray) -> float:
    """The lag at which two series go together best, by a parabola over whole frames.

    A tenth of what `signals.lag` costs and without its interval: enough to tell episodes apart.
    """
    far = min(_FARTHEST, len(sent) // 3)
    near = min(_AHEAD, len(sent) // 3)
    left = np.array([_unexplained(sent, seen, k) for k in range(-near, far + 1)])
    best = int(np.argmin(left))
    if left[best] > 0.75 or best in (0, len(left) - 1):
        return float("nan")
    a, b, c = left[best - 1 : best + 2]
    bend = a - 2 * b + c
    return best - near + (0.5 * (a - c) / bend if bend > 0 else 0.0)


def _unexplained(sent: np.ndarray, seen: np.ndarray, k: int) -> float:
    x, y = (sent[: len(sent) - k], seen[k:]) if k >= 0 else (sent[-k:], seen[:k])
    x, y = x - x.mean(), y - y.mean()
    power = float(x @ x) * float(y @ y)
    together = float(x @ y)
    return 1.0 - together * together / power if power > 0 and together > 0 else 1.0
