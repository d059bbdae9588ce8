"""Tests on one episode: numbers, stamps, streams that stand still."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaploop.core import Episode, Signal
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import Severity
from gaploop.signals import frozen, rate
from gaploop.signals.spans import spans

_VELOCITY = ("rad/s", "deg/s", "m/s")
_RESTING = (*_VELOCITY, "1", "C", "K", "raw", "V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A finding in one episode, before equal ones are gathered."""

    code: str
    severity: Severity
    feature: str
    message: str
    fix: str = ""


def columns(signal: Signal) -> tuple[np.ndarray, tuple[str, ...]]:
    """(T, d) float64 values and one label a column: `key[name]`, or `key` for a lone one."""
    table = np.asarray(signal.values, dtype=float).reshape(len(signal.values), -1)
    names = signal.columns or tuple(str(i) for i in range(table.shape[1]))
    lone = table.shape[1] == 1
    return table, tuple(signal.name if lone else f"{signal.name}[{n}]" for n in names)


def integrity(episode: Episode, config: ScreenConfig) -> Iterator[Seen]:
    """Everything that makes numbers or stamps unusable."""
    stamped: set[bytes] = set()
    for key in sorted(episode.signals):
        signal = episode.signals[key]
        yield from _finite(signal)
        clock = np.ascontiguousarray(signal.times).tobytes()
        if clock not in stamped:  # signals of one table share their stamps: say it once
            stamped.add(clock)
            yield from _stamps(episode, signal, config)
        yield from _wrapped(signal)
    yield from _still(episode, config)
    frames = max((len(s.times) for s in episode.signals.values()), default=0)
    if frames < config.shortest:
        yield Seen(
            code="episode_length",
            severity="error",
            feature="",
            message=f"{frames} frames, at least {config.shortest} are needed",
            fix="Drop the episode, or record longer.",
        )


def _finite(signal: Signal) -> Iterator[Seen]:
    table, labels = columns(signal)
    for code, bad, word in (
        ("nan", np.isnan(table), "NaN"),
        ("inf", np.isinf(table), "infinite"),
    ):
        for d in np.flatnonzero(bad.any(axis=0)):
            rows = np.flatnonzero(bad[:, d])
            yield Seen(
                code=code,
                severity="error",
                feature=labels[d],
                message=f"{len(rows)} {word} readings, the first in row {rows[0]} "
                f"({signal.times[rows[0]]:.3f} s)",
                fix="Find out why the sensor or recorder dropped them; do not fill them in.",
            )


def _stamps(episode: Episode, signal: Signal, config: ScreenConfig) -> Iterator[Seen]:
    times = np.asarray(signal.times, dtype=float)
    found = rate(times)
    wrong = sorted((*found.backwards, *found.duplicates))
    if wrong:
        yield Seen(
            code="timestamp_order",
            severity="error",
            feature=signal.name,
            message=f"{len(found.backwards)} stamps run backwards and {len(found.duplicates)} "
            f"repeat, the first in row {wrong[0]} ({times[wrong[0]]:.3f} s)",
            fix="Two episodes under one index, or two writers: split or drop the episode.",
        )
    if found.gaps:
        widest = max(found.gaps, key=lambda s: s.t1 - s.t0)
        lost = round((widest.t1 - widest.t0) / found.period) - 1
        yield Seen(
            code="timestamp_gap",
            severity="error" if lost >= config.gap_frames else "warning",
            feature=signal.name,
            message=f"{len(found.gaps)} holes, the widest {1e3 * (widest.t1 - widest.t0):.0f} ms "
            f"(about {lost} frames) at {widest.t0:.3f} s",
            fix="Replay only up to the hole, or record again.",
        )
    stated = episode.contract.log_rate
    if stated.source == "declared" and stated.value and found.hz and not found.gaps:
        off = found.hz / float(stated.value) - 1
        if abs(off) > config.rate_tolerance:
            yield Seen(
                code="fps_mismatch",
                severity="error",
                feature=signal.name,
                message=f"declared {float(stated.value):g} Hz, stamps say {found.hz:.4g} Hz",
                fix="Correct the declared rate, or the stamps if they were made from a counter.",
            )


def _wrapped(signal: Signal) -> Iterator[Seen]:
    """Negative 16-bit numbers that were logged as unsigned show as values near 65535."""
    table, labels = columns(signal)
    for d in range(table.shape[1]):
        x = table[:, d][np.isfinite(table[:, d])]
        if len(x) < 3 or x.max() > 65535 or x.max() < 60000:
            continue
        middle = np.mean((x > 5535) & (x < 60000))
        if np.any(x < 5535) and middle < 0.1:
            yield Seen(
                code="integer_wrap",
                severity="warning",
                feature=labels[d],
                message=f"{int(np.sum(x > 60000))} readings lie near 65535 beside small ones: "
                "negative numbers logged as unsigned 16-bit",
                fix="Subtract 65536 from readings above 32767 before any resampling.",
            )


def _still(episode: Episode, config: ScreenConfig) -> Iterator[Seen]:
    """Constant columns, and stretches that repeat while the command moves."""
    action = episode.signals.get("action")
    streams: list[np.ndarray] = []
    shared: Signal | None = None
    for key in sorted(episode.signals):
        signal = episode.signals[key]
        table, labels = columns(signal)
        if len(table) < 2 or not np.isfinite(table).all():
            continue
        moving = _moving(action, signal.times)
        minimum = max(10, round(config.frozen_seconds * signal.rate))
        # velocity rests with its joint, switches and temperatures by nature
        state = key.startswith("observation.") and signal.unit not in _RESTING
        found_in = frozen(table, signal.times, minimum=minimum, moving=moving) if state else ()
        for found in found_in:
            label = labels[found.dimension]
            if np.ptp(table[:, found.dimension]) == 0:
                continue
            yield Seen(
                code="frozen_signal",
                severity="warning",
                feature=label,
                message=f"repeats {found.value:.6g} for {found.span.t1 - found.span.t0:.2f} s "
                f"from {found.span.t0:.2f} s while the command moves",
                fix="Stuck joint or dead stream: the other readings of that time tell which.",
            )
        for d in np.flatnonzero(np.ptp(table, axis=0) == 0):
            never = key.startswith("action")
            yield Seen(
                code="constant_dimension",
                severity="warning" if never else "info",
                feature=labels[d],
                message=f"stays at {table[0, d]:.6g} over the whole episode",
                fix="A command that never changes excites nothing; a reading may be dead."
                if never
                else "",
            )
        if key.startswith("observation.") and signal.unit not in _VELOCITY:
            varying = table[:, np.ptp(table, axis=0) > 0]
            if shared is None or np.array_equal(shared.times, signal.times):
                shared = signal
                streams += list(varying.T)
    if shared is None or len(streams) < 2:
        return
    repeats = np.all(np.diff(np.stack(streams, axis=1), axis=0) == 0, axis=1)
    moving = _moving(action, shared.times)
    repeats &= moving[1:] if moving is not None else True
    minimum = max(10, round(config.frozen_seconds * shared.rate))
    for span in spans(repeats, shared.times, minimum=minimum):
        yield Seen(
            code="frozen_signal",
            severity="error",
            feature="observation.*",
            message=f"all {len(streams)} readings repeat for {span.t1 - span.t0:.2f} s from "
            f"{span.t0:.2f} s while the command moves",
            fix="The stream was dead: cut the episode there, and look at bus and recorder.",
        )


def _moving(action: Signal | None, times: np.ndarray) -> np.ndarray | None:
    """(T,) whether the command in force changes about each stamp; None without commands."""
    if action is None or len(action.times) < 2:
        return None
    table, _ = columns(action)
    held = np.clip(np.searchsorted(action.times, times, side="right") - 1, 0, len(table) - 1)
    span = np.ptp(table, axis=0)
    if not np.any(span > 0):
        return np.zeros(len(times), dtype=bool)
    change = np.abs(np.diff(table[held], axis=0, prepend=table[held][:1])) > 1e-4 * span
    return change.any(axis=1)
