"""Readings that stand still while the command moves, attempts that do nothing for long, and
commands that change less often than they are logged.

A coarse pass over all episodes names candidates; the tests of `signals` judge only those.
"""

from collections.abc import Iterator

import numpy as np

from gaploop.ingest.checks.batch import Batch, Stream
from gaploop.ingest.checks.roles import commanded, grippers
from gaploop.ingest.checks.summary import Watcher
from gaploop.ingest.findings import Seen
from gaploop.signals import frozen
from gaploop.signals.spans import Span, spans

_VELOCITY = ("rad/s", "deg/s", "m/s")
_RESTING = (*_VELOCITY, "1", "C", "K", "V", "A", "N m", "N")
_STRIDE = 5
"""Frames a coarse look skips: a stretch of twice as many equal readings is never missed."""
_RESTLESS = 0.05
"""Share of repeated rows from which a column is one that repeats by nature."""
_ASKED = 0.1
"""Share of its travel that a command covers while a joint that does not answer is stuck."""
_FLAT = 0.01
"""Share of a column's travel below which a stride counts as no motion."""


class Stills(Watcher):
    """Frozen readings, idle stretches and held commands."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self._seen: list[tuple[int, Seen]] = []
        self._idle: list[tuple[np.ndarray, ...]] = []
        self._held: list[tuple[np.ndarray, ...]] = []

    def see(self, batch: Batch) -> None:
        action = batch.streams.get("action")
        self._seen += list(self._frozen(batch, action))
        if action is not None:
            self._resting(batch, action)
            self._changes(batch, action)

    def say(self, said) -> Iterator[tuple[int, Seen]]:
        yield from self._seen
        yield from self._idles()
        yield from self._rates(said)

    # -- frozen -------------------------------------------------------------

    def _frozen(self, batch: Batch, action: Stream | None) -> Iterator[tuple[int, Seen]]:
        states = [
            s for k, s in sorted(batch.streams.items())
            if k.startswith("observation.") and s.unit not in _RESTING and s.x.shape[1]
            and s.values.dtype.kind == "f"
        ]  # fmt: skip
        suspects: set[int] = set()
        for stream in states:
            suspects |= set(_repeating(stream, action).tolist())
        for e in sorted(suspects):
            yield from ((batch.first + e, s) for s in self._judge(batch, states, action, e))

    def _judge(
        self, batch: Batch, states: list[Stream], action: Stream | None, e: int
    ) -> Iterator[Seen]:
        together: list[np.ndarray] = []
        shared: np.ndarray | None = None
        for stream in states:
            rows = stream.rows(e)
            table, times = stream.x[:, rows].T, stream.times[rows]
            if len(table) < 2:
                continue
            moving = _moving(action, e, times)
            hands = set(grippers(stream.columns))
            own = _commands(action, stream, e, times)
            minimum = max(10, round(self.config.frozen_seconds / _period(times)))
            for found in frozen(table, times, minimum=minimum, moving=moving):
                d = found.dimension
                # a gripper rests on its object while the arm moves
                if np.ptp(table[:, d]) == 0 or d in hands:
                    continue
                # another joint may well rest while one moves
                if d in own and not _asked(own[d], table[:, d], found.span):
                    continue
                yield Seen(
                    code="frozen_signal",
                    severity="warning",
                    feature=stream.labels[d],
                    message=f"repeats {found.value:.6g} for {found.span.t1 - found.span.t0:.2f} s "
                    f"from {found.span.t0:.2f} s while the command moves",
                    fix="Stuck joint or dead stream: the other readings of that time tell which.",
                )
            if shared is None or np.array_equal(shared, times):
                shared = times
                together += [c for c in table.T if np.ptp(c) > 0]
        if shared is None or len(together) < 2:
            return
        repeats = np.all(np.diff(np.stack(together, axis=1), axis=0) == 0, axis=1)
        moving = _moving(action, e, shared)
        repeats &= moving[1:] if moving is not None else True
        minimum = max(10, round(self.config.frozen_seconds / _period(shared)))
        if not _restless(np.stack(together, axis=1), repeats, shared, minimum):
            return
        for span in spans(repeats, shared, minimum=minimum):
            yield Seen(
                code="frozen_signal",
                severity="error",
                feature="observation.*",
                message=f"all {len(together)} readings repeat for {span.t1 - span.t0:.2f} s from "
                f"{span.t0:.2f} s while the command moves",
                fix="The stream was dead: cut the episode there, and look at bus and recorder.",
            )

    # -- idle ---------------------------------------------------------------

    def _resting(self, batch: Batch, action: Stream) -> None:
        """Seconds without motion at either end and in all, an episode."""
        full = np.flatnonzero(action.lengths > 2 * _STRIDE)
        if not len(full):
            return
        span = np.maximum(np.median(action.high - action.low, axis=1), 1e-9)
        still, owner = _coarse(action, span)
        period = _period(action.times)
        rows: list[tuple[int, int, int]] = []
        edges = np.searchsorted(owner, np.arange(batch.episodes + 1))
        for e in full:
            s = still[edges[e] : edges[e + 1]]
            moving = np.flatnonzero(~s)
            n = len(s)
            ends = (int(moving[0]), n - 1 - int(moving[-1])) if len(moving) else (n, n)
            rows.append((*ends, n))
        self._idle.append((batch.first + full, period * _STRIDE * np.array(rows, float).T))

    def _idles(self) -> Iterator[tuple[int, Seen]]:
        if not self._idle:
            return
        index = np.concatenate([i for i, _ in self._idle])
        before, after, whole = np.concatenate([r for _, r in self._idle], axis=1)
        for name, seconds in (("starts", before), ("ends", after)):
            usual = float(np.median(seconds))
            limit = max(self.config.idle_seconds, 2 * usual)
            for e in np.flatnonzero((seconds > limit) & (seconds > 0.2 * whole)):
                yield (
                    int(index[e]),
                    Seen(
                        code="idle_frames",
                        severity="warning",
                        feature="action",
                        message=f"{name} with {seconds[e]:.1f} s of {whole[e]:.1f} s in which "
                        "nothing is commanded",
                        fix="Cut the idle end: a policy that learns it learns to wait.",
                    ),
                )

    # -- held commands ------------------------------------------------------

    def _changes(self, batch: Batch, action: Stream) -> None:
        """How often commands change, as the median spacing of changes."""
        full = np.flatnonzero(action.lengths >= 20)
        if not len(full):
            return
        changed = np.any(action.steps != 0, axis=0)
        at = np.flatnonzero(changed)
        edges = np.searchsorted(at, action.bounds)
        hz, log = np.full(len(full), np.nan), np.full(len(full), np.nan)
        for k, e in enumerate(full):
            fresh = at[edges[e] : edges[e + 1]]
            rows = action.rows(int(e))
            log[k] = 1 / _period(action.times[rows])
            if len(fresh) >= 10:
                # the median spacing of changes: rests make a few long ones
                spacing = np.median(np.diff(action.times[fresh]))
                hz[k] = 1 / max(float(spacing), 1e-9)
        self._held.append((batch.first + full, hz, log))

    def _rates(self, said) -> Iterator[tuple[int, Seen]]:
        if not self._held:
            return
        index, hz, log = (np.concatenate(p) for p in zip(*self._held, strict=True))
        usual = float(np.nanmedian(hz / log)) if np.isfinite(hz).any() else 1.0
        for e, found, rows in zip(index, hz, log, strict=True):
            stated = said[int(e)].control_rate
            if not np.isfinite(found):
                continue
            if stated and abs(found / stated - 1) > max(self.config.rate_tolerance, 0.1):
                message = f"declared {stated:g} Hz, commands change at {found:.3g} Hz"
                severity = "warning"
            elif not stated and found < 0.7 * rows:
                message = f"logged at {rows:.3g} Hz, commands change at {found:.3g} Hz"
                severity = "warning" if found / rows < 0.7 * usual else "info"
            else:
                continue
            yield (
                int(e),
                Seen(
                    code="control_rate",
                    severity=severity,
                    feature="action",
                    message=message,
                    fix="A starved loop or a mislabelled rate: compare send stamps with the loop."
                    if severity == "warning"
                    else "",
                ),
            )


# -- inside -------------------------------------------------------------------


def _commands(
    action: Stream | None, stream: Stream, e: int, times: np.ndarray
) -> dict[int, np.ndarray]:
    """Column of a reading to the command in force at its stamps, (T,)."""
    if action is None or action.lengths[e] < 2:
        return {}
    rows = action.rows(e)
    at = np.searchsorted(action.times[rows], times, side="right") - 1
    at = np.clip(at, 0, action.lengths[e] - 1)
    pairs = commanded(action.columns, stream.columns)
    return {b: action.x[a, rows][at] for a, b in pairs}


def _asked(command: np.ndarray, reading: np.ndarray, span: Span) -> bool:
    """Whether a joint's own command travels while its reading repeats."""
    during = command[span.start : span.stop]
    inside = reading[: span.start], reading[span.stop :]
    steps = np.abs(np.concatenate([np.diff(part) for part in inside]))
    # the smallest change the reading shows otherwise is its resolution
    finest = float(steps[steps > 0].min()) if np.any(steps > 0) else 0.0
    travel = float(np.ptp(during))
    return travel > max(_ASKED * float(np.ptp(command)), 4 * finest)


def _period(times: np.ndarray) -> float:
    steps = np.diff(times[:4096])
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else 1.0


def _coarse(stream: Stream, span: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K,) whether nothing moves over a stride, and (K,) the episode it lies in."""
    at = np.arange(0, stream.x.shape[1] - _STRIDE, _STRIDE)
    owner = np.searchsorted(stream.bounds, at, side="right") - 1
    whole = owner == np.searchsorted(stream.bounds, at + _STRIDE, side="right") - 1
    at, owner = at[whole], owner[whole]
    change = np.abs(stream.x[:, at + _STRIDE] - stream.x[:, at])
    return np.all(change <= _FLAT * span[:, None], axis=0), owner


def _repeating(stream: Stream, action: Stream | None) -> np.ndarray:
    """Episodes in which some column stands still for two strides while the command moves."""
    at = np.arange(0, stream.x.shape[1] - 2 * _STRIDE, _STRIDE)
    if not len(at):
        return at
    owner = np.searchsorted(stream.bounds, at, side="right") - 1
    whole = owner == np.searchsorted(stream.bounds, at + 2 * _STRIDE, side="right") - 1
    at, owner = at[whole], owner[whole]
    x = stream.x
    held = (x[:, at] == x[:, at + _STRIDE]) & (x[:, at] == x[:, at + 2 * _STRIDE])
    constant = np.repeat(stream.low == stream.high, stream.lengths, axis=1)[:, at]
    held &= ~constant
    held[grippers(stream.columns)] = False
    some = held.any(axis=0)
    if action is not None and action.bounds is stream.bounds:
        span = np.maximum(action.high - action.low, 1e-12)
        change = np.abs(action.x[:, at + 2 * _STRIDE] - action.x[:, at])
        some &= np.any(change > 1e-3 * span[:, owner], axis=0)
    return np.unique(owner[some])


def _restless(table: np.ndarray, repeats: np.ndarray, times: np.ndarray, minimum: int) -> bool:
    """Whether some column hardly ever repeats outside the stretches in question.

    Counts of an encoder or a current repeat whenever a joint sticks: such a log cannot
    tell a dead stream from a stuck joint.
    """
    outside = np.ones(len(repeats), dtype=bool)
    for span in spans(repeats, times, minimum=minimum):
        outside[span.start : span.stop] = False
    if not outside.any():
        return True
    habit = np.mean(np.diff(table, axis=0)[outside] == 0, axis=0)
    return bool(habit.min() < _RESTLESS)


def _moving(action: Stream | None, e: int, times: np.ndarray) -> np.ndarray | None:
    """(T,) whether the command in force changes about each stamp; None without commands."""
    if action is None or action.lengths[e] < 2:
        return None
    rows = action.rows(e)
    table, stamps = action.x[:, rows].T, action.times[rows]
    held = np.clip(np.searchsorted(stamps, times, side="right") - 1, 0, len(table) - 1)
    span = np.ptp(table, axis=0)
    if not np.any(span > 0):
        return np.zeros(len(times), dtype=bool)
    change = np.abs(np.diff(table[held], axis=0, prepend=table[held][:1])) > 1e-4 * span
    return change.any(axis=1)
