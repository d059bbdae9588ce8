"""Which end of a gripper's range is open."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from gaploop.core import UNKNOWN, Stated
from gaploop.ingest.contracts.motion import together

OPEN_HIGH: Final = "1 = open"
CLOSED_HIGH: Final = "1 = closed"
_WIDEST: Final = 0.2
"""m: a reading that stays between 0 and this is a width."""


def polarity(
    commands: Sequence[np.ndarray], readings: Sequence[np.ndarray] | None
) -> tuple[Stated, Stated]:
    """(polarity of the command, range of the command as (low, high)).

    What tells: a reading that is a width in metres; fingers that stop short of the commanded
    end, or at ever another place, which only an object does and only in closing; and, weakly,
    that attempts begin with an open hand.

    Args:
      commands: (T,) an episode.
      readings: (T,) an episode on the same stamps, None where there are none.
    """
    low, high = (float(f([f(c) for c in commands])) for f in (min, max))
    if not high > low:
        return UNKNOWN, UNKNOWN
    span = Stated(value=(low, high), source="inferred", confidence=0.8)
    share = [(c - low) / (high - low) for c in commands]
    evidence = _starts(share)
    if readings is not None:
        evidence += _width(share, readings) + _stops(share, readings)
    sure = 1.0 / (1.0 + np.exp(-abs(evidence)))
    if sure < 0.6:
        return UNKNOWN, span
    value: Any = OPEN_HIGH if evidence > 0 else CLOSED_HIGH
    return Stated(value=value, source="inferred", confidence=round(min(float(sure), 0.99), 4)), span


def _starts(share: Sequence[np.ndarray]) -> float:
    """Nats for open high from where attempts begin."""
    up = float(np.mean([c[0] > 0.5 for c in share]))
    return 1.7 * (2 * up - 1) if up in (0.0, 1.0) else 1.0 * (2 * up - 1)


def _width(share: Sequence[np.ndarray], readings: Sequence[np.ndarray]) -> float:
    """Nats for open high where the reading is a width: more is open, in every gripper."""
    y = np.concatenate(list(readings))
    if y.min() < -0.02 * _WIDEST or y.max() > _WIDEST or np.ptp(y) < 0.005:
        return 0.0
    return float(np.clip(6.0 * together(np.concatenate(list(share)), y), -5.0, 5.0))


def _stops(share: Sequence[np.ndarray], readings: Sequence[np.ndarray]) -> float:
    """Nats for open high: readings come to rest at scattered places where the hand is closed."""
    ends: dict[bool, list[float]] = {True: [], False: []}
    shift = _shift(share, readings)
    travel = float(np.ptp(np.concatenate(list(readings))))
    noise = []
    for c, y in zip(share, readings, strict=True):
        for start, stop in _plateaus(c):
            # the last third of a rest, as the fingers need time to arrive, and before they leave
            last = min(stop + shift // 2, len(y))
            rest = y[last - max(3, (stop - start) // 3) : last]
            quiet = len(rest) >= 3 and float(np.ptp(rest)) < 0.05 * travel
            if quiet and last - start - shift >= 8 and abs(c[start] - 0.5) > 0.15:
                ends[bool(c[start] > 0.5)].append(float(np.median(rest)))
                noise.append(float(np.std(rest)))
    n = min(len(ends[True]), len(ends[False]))
    if n < 3 or travel <= 0:
        return 0.0
    floor = max(float(np.median(noise)), 0.004 * travel)
    spread = {k: float(np.std(v)) + floor for k, v in ends.items()}
    return float(np.clip(1.5 * np.sqrt(n) * np.log(spread[False] / spread[True]), -8.0, 8.0))


def _shift(share: Sequence[np.ndarray], readings: Sequence[np.ndarray]) -> int:
    """Frames by which a reading trails its command, up or down: where they go together best."""

    def follows(k: int) -> float:
        x = np.concatenate([c[: len(c) - k] for c in share])
        y = np.concatenate([r[k:] for r in readings])
        return abs(together(x, y))

    least = min(map(len, share))
    return max(range(min(16, least - 2)), key=follows)


def _plateaus(share: np.ndarray) -> list[tuple[int, int]]:
    """(start, stop) of rows between changes of the command."""
    edges = np.flatnonzero(np.abs(np.diff(share)) > 0.02) + 1
    bounds = [0, *(int(e) for e in edges), len(share)]
    return list(pairwise(bounds))
