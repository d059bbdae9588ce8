"""Stamps: order, holes, rate, and clocks that run apart."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaploop.ingest.checks.batch import Batch, Stream
from gaploop.ingest.checks.summary import Watcher
from gaploop.ingest.findings import Seen
from gaploop.signals import rate

_SHAKY = 1e-3
"""s of jitter that no fit of a robot notices."""
_SURE = 6.0
"""Standard errors by which a rate must be off; stamps may wander together for a while."""
_MISSING = 0.7
"""Periods by which the grid is set back where a frame is missing and not late."""
_NEAR = 5
"""Frames on either side of a hole that say whether it is one."""
_GRID = 0.01
"""Share of a period up to which a step is regular."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    """The stamps of one signal of one episode, where they are not simply regular."""

    episode: int
    key: str
    hz: float
    """Slope of the stamps over the frames."""
    unsure: float
    """Relative standard error of `hz`."""
    jitter: float
    """sd of the steps beside holes in s, 0 where they are even or out of order."""
    gap: tuple[float, float, int]
    """Widest hole: where (s), how wide (s), frames lost."""
    holes: int
    backwards: tuple[int, float, int]
    """First row out of order, its stamp, and how many."""
    repeats: int


def _lost(times: np.ndarray, row: int, period: float) -> bool:
    """Whether frames are missing after `row`, not only one stamp late.

    The frames after a hole stay behind the grid of those before it; behind a late stamp
    they are back on it.
    """
    if period <= 0:
        return False
    first = max(0, row - _NEAR)
    grid = (
        times[first : row + 1 + _NEAR + 1]
        - period * np.arange(first, row + 2 + _NEAR)[: len(times) - first]
    )
    before, after = grid[: row + 1 - first], grid[row + 1 - first :]
    return bool(np.median(after) - np.median(before) > _MISSING * period)


def _slope(times: np.ndarray) -> tuple[float, float]:
    """Rate in Hz of the line through the stamps, and its relative standard error."""
    n = len(times)
    if n < 3:
        return 0.0, 0.0
    at = np.arange(n) - (n - 1) / 2
    square = float(np.sum(at * at))
    period = float(at @ times) / square
    if period <= 0:
        return 0.0, 0.0
    rest = times - times.mean() - period * at
    return 1 / period, float(np.sqrt(np.sum(rest**2) / (n - 2) / square)) / period


class Clocks(Watcher):
    """Keeps the rate of each episode and everything irregular."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self.odd: list[_Clock] = []
        self.rates: dict[str, list[tuple[np.ndarray, ...]]] = {}

    def see(self, batch: Batch) -> None:
        seen: set[tuple[int, int]] = set()
        for stream in batch.streams.values():
            clock = (id(stream.times), id(stream.bounds))
            if clock not in seen:  # signals of one table share their stamps: say it once
                seen.add(clock)
                self._stamps(batch.first, stream)

    def say(self, said) -> Iterator[tuple[int, Seen]]:
        for clock in self.odd:
            yield from ((clock.episode, s) for s in self._irregular(clock))
        for key, parts in self.rates.items():
            for index, hz, unsure in parts:
                for e, found, off in zip(index, hz, unsure, strict=True):
                    stated = said[int(e)].rate
                    yield from self._rate(int(e), key, float(found), float(off), stated)

    # -- inside -------------------------------------------------------------

    def _stamps(self, first: int, stream: Stream) -> None:
        times, bounds = stream.times, stream.bounds
        if not len(times):
            return
        steps = np.diff(times, prepend=times[:1])
        inner = np.ones(len(times), bool)
        inner[bounds[:-1][stream.lengths > 0]] = False
        whole = steps[inner]
        forward = whole[whole > 0]
        typical = float(np.median(forward)) if len(forward) else 0.0
        off = inner & ~(np.abs(steps - typical) <= _GRID * typical)
        per = np.add.reduceat(off, bounds[:-1][stream.lengths > 0])
        index = np.flatnonzero(stream.lengths > 0)
        ends = bounds[1:][index] - 1
        span = times[ends] - times[bounds[:-1][index]]
        hz = np.divide(stream.lengths[index] - 1, span, out=np.zeros(len(index)), where=span > 0)
        unsure = np.zeros(len(index))
        for e in index[per > 0]:
            found = self._one(first + int(e), stream, times[stream.rows(int(e))])
            at = np.searchsorted(index, e)
            hz[at], unsure[at] = found.hz if not found.holes else 0.0, found.unsure
            if found.holes or found.backwards[2] or found.repeats or found.jitter:
                self.odd.append(found)
        self.rates.setdefault(stream.key, []).append((first + index, hz, unsure))

    def _one(self, episode: int, stream: Stream, times: np.ndarray) -> _Clock:
        found = rate(times)
        holes = [s for s in found.gaps if _lost(times, s.start, found.period)]
        widest = max(holes, key=lambda s: s.t1 - s.t0, default=None)
        wide = (widest.t0, widest.t1 - widest.t0) if widest else (0.0, 0.0)
        lost = round(wide[1] / found.period) - 1 if widest else 0
        wrong = sorted((*found.backwards, *found.duplicates))
        row = wrong[0] if wrong else 0
        tidy = not (holes or found.backwards or found.duplicates)
        hz, unsure = _slope(times) if tidy else (found.hz, 0.0)
        steps = np.delete(np.diff(times), [s.start for s in holes])
        ordered = not (found.backwards or found.duplicates)
        jitter = float(np.std(steps)) if ordered and len(steps) > 1 else 0.0
        shaky = jitter > max(self.config.jitter_share * found.period, _SHAKY)
        return _Clock(
            episode=episode, key=stream.key, hz=hz, unsure=unsure, holes=len(holes),
            jitter=jitter if shaky else 0.0,
            gap=(*wide, lost), repeats=len(found.duplicates),
            backwards=(row, float(times[row]), len(found.backwards)),
        )  # fmt: skip

    def _irregular(self, clock: _Clock) -> Iterator[Seen]:
        row, at, count = clock.backwards
        if count or clock.repeats:
            yield Seen(
                code="timestamp_order",
                severity="error",
                feature=clock.key,
                message=f"{count} stamps run backwards and {clock.repeats} repeat, "
                f"the first in row {row} ({at:.3f} s)",
                fix="Two episodes under one index, or two writers: split or drop the episode.",
            )
        if clock.holes:
            start, wide, lost = clock.gap
            yield Seen(
                code="timestamp_gap",
                severity="error" if lost >= self.config.gap_frames else "warning",
                feature=clock.key,
                message=f"{clock.holes} holes, the widest {1e3 * wide:.0f} ms "
                f"(about {lost} frames) at {start:.3f} s",
                fix="Replay only up to the hole, or record again.",
            )
        if clock.jitter:
            yield Seen(
                code="timestamp_jitter",
                severity="warning",
                feature=clock.key,
                message=f"steps between stamps spread by {1e3 * clock.jitter:.1f} ms (sd), "
                f"{100 * clock.jitter * clock.hz:.0f} % of a period",
                fix="Stamp at capture, not on arrival; take no velocities from these stamps.",
            )

    def _rate(
        self, episode: int, key: str, hz: float, unsure: float, stated: float | None
    ) -> Iterator[tuple[int, Seen]]:
        if not stated or hz <= 0:
            return
        off = hz / stated - 1
        if abs(off) > self.config.rate_tolerance:
            yield (
                episode,
                Seen(
                    code="fps_mismatch",
                    severity="error",
                    feature=key,
                    message=f"declared {stated:g} Hz, stamps say {hz:.4g} Hz",
                    fix="Correct the declared rate, or the stamps if made from a counter.",
                ),
            )
        elif abs(off) > max(self.config.drift_tolerance, _SURE * unsure):
            yield (
                episode,
                Seen(
                    code="clock_skew",
                    severity="warning",
                    feature=key,
                    message=f"declared {stated:g} Hz, the clock of the stamps runs "
                    f"{1e6 * off:+.0f} ppm from it",
                    fix="Two clocks stamped this episode: take the recorder's for all signals.",
                ),
            )
