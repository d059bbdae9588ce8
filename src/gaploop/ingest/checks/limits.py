"""Commands that press against a limit."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaploop.ingest.checks.batch import Batch, Stream
from gaploop.ingest.checks.roles import grippers, quaternions
from gaploop.ingest.checks.summary import Watcher
from gaploop.ingest.findings import Seen
from gaploop.signals import saturation
from gaploop.signals.spans import runs

_SHARE = 0.1
"""Share of frames at a limit that several episodes have in common."""
_SHARED = 3
"""Episodes from which a common extreme is a limit."""
_ABRUPT = 0.5
"""Share of a column's usual speed at which a motion ends that was cut off."""


@dataclass(frozen=True, slots=True)
class _Edge:
    """An extreme of one column in one episode, at which it stays."""

    episode: int
    value: float
    share: float
    """Of the episode's frames."""
    cut: bool
    """Whether it is reached or left at speed: a hand slows down before it rests."""


class Limits(Watcher):
    """Keeps the plateaus of each episode's commands."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self._edges: dict[tuple[str, str], list[_Edge]] = {}
        self._ranges: list[tuple[int, Seen]] = []

    def see(self, batch: Batch) -> None:
        for key, stream in batch.streams.items():
            if key.startswith("action") and stream.x.shape[1]:
                self._look(batch.first, stream)

    def say(self) -> Iterator[tuple[int, Seen]]:
        yield from self._ranges
        named = {(e, s.feature) for e, s in self._ranges}
        for (feature, unit), edges in self._edges.items():
            cut = Counter(x.value for x in edges if x.cut)
            limits = {v for v, n in cut.items() if n >= _SHARED}
            for e in dict.fromkeys(x.episode for x in edges if x.value in limits):
                mine = [x for x in edges if x.episode == e and x.value in limits]
                share = sum(x.share for x in mine)
                if share >= _SHARE and (e, feature) not in named:
                    yield e, _seen(feature, unit, share, [x.value for x in mine])

    # -- inside -------------------------------------------------------------

    def _look(self, first: int, stream: Stream) -> None:
        n = np.maximum(stream.lengths, 1)
        full = np.flatnonzero(stream.lengths > 0)
        starts = stream.bounds[:-1][full]
        share = np.zeros((2, *stream.low.shape))
        for k, extreme in enumerate((stream.low, stream.high)):
            at = stream.x == np.repeat(extreme.astype(stream.x.dtype), stream.lengths, axis=1)
            share[k][:, full] = np.add.reduceat(at, starts, axis=1, dtype=np.int64) / n[full]
        share[:, stream.low == stream.high] = 0
        fixed = [i + k for i, _ in quaternions(stream.columns) for k in range(4)]
        share[:, [*grippers(stream.columns), *fixed]] = 0
        for d, e in zip(*np.nonzero(share.max(axis=0) >= 0.5 * _SHARE), strict=True):
            rows = stream.rows(int(e))
            x, place = stream.x[d, rows], (stream.labels[d], stream.unit)
            for k, value in enumerate((stream.low[d, e], stream.high[d, e])):
                edge = _Edge(
                    first + int(e), float(value), float(share[k, d, e]), _cut(x, float(value))
                )
                self._edges.setdefault(place, []).append(edge)
            whole = float(share[:, d, e].sum())
            if whole >= self.config.saturated_share and _symmetric(x, stream.times[rows]):
                ends = [float(stream.low[d, e]), float(stream.high[d, e])]
                self._ranges.append((first + int(e), _seen(*place, whole, ends)))


def _cut(x: np.ndarray, value: float) -> bool:
    """Whether a plateau at `value` of three frames or more begins or ends at speed."""
    steps = np.abs(np.diff(x))
    moving = steps[steps > 0]
    if not len(moving):
        return False
    brisk = _ABRUPT * float(np.median(moving))
    for a, b in runs(x == value):
        if b - a < 3:
            continue
        # the step into the plateau is cut itself, so the one before tells
        if (a >= 2 and steps[a - 2] > brisk) or (b < len(x) - 1 and steps[b] > brisk):
            return True
    return False


def _symmetric(x: np.ndarray, times: np.ndarray) -> bool:
    """Plateaus at both ends of a range round zero: a plateau elsewhere may be a rest."""
    found = saturation(x, times)
    both = min(found.at_low, found.at_high) > 0.01
    return (
        both
        and found.longest >= 3
        and bool(abs(found.low + found.high) < 0.01 * (found.high - found.low))
    )


def _seen(feature: str, unit: str, share: float, ends: list[float]) -> Seen:
    places = " or ".join(f"{v:.4g}" for v in dict.fromkeys(ends))
    return Seen(
        code="saturation",
        severity="warning",
        feature=feature,
        message=f"{100 * share:.0f} % of the commands sit at {places} {unit}",
        fix="Clipped commands hide what was wanted; log it before the clip too.",
    )
