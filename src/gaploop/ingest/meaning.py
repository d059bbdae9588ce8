"""Tests on what the numbers mean: units, signs, lag, limits, rate, outcome."""

from collections.abc import Iterator, Sequence

import numpy as np

from gaploop.core import Episode
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.integrity import Seen, columns
from gaploop.signals import Lag, lag, ratio, saturation
from gaploop.signals.pairs import Pair, inverted, pairs, unit_fault

_LAG = "Measure the lag per robot and train with it; do not shift the data."
_FELLOWS = 25.0
"""Spread over the other episodes' from which another unit is likelier than another motion."""
_TURNS = 50.0
"""rad: a joint that reads more than eight turns is more likely in degrees."""


def meaning(episode: Episode, config: ScreenConfig) -> Iterator[Seen]:
    """What one episode says about units, signs, lag, limits, rate and outcome."""
    for pair in pairs(episode):
        if np.isfinite(pair.command).all() and np.isfinite(pair.measured).all():
            yield from _pair(pair)
    yield from _range(episode)
    yield from _limits(episode, config)
    yield from _control_rate(episode, config)
    if episode.success is None and episode.origin == "rollout":
        yield Seen(
            code="missing_outcome",
            severity="warning",
            feature="",
            message="nobody recorded whether the attempt succeeded",
            fix="Record an outcome with each attempt; without one it is neither failure nor "
            "success.",
        )


def _pair(pair: Pair) -> Iterator[Seen]:
    label = _label(pair)
    fault = unit_fault(pair)
    if fault:
        yield Seen(
            code="unit_mismatch",
            severity="error",
            feature=label,
            message=fault,
            fix="Convert one side, or correct the declared unit.",
        )
    elif inverted(pair):
        yield Seen(
            code="action_inverted",
            severity="error",
            feature=label,
            message="the reading mirrors its command",
            fix="Check the sign of this joint in the contract with a single-joint nudge.",
        )


def _lag(pair: Pair) -> Lag:
    """Fine over the first 100 ms; coarse up to 500 ms where that does not hold the answer."""
    near = max(14.0, 0.1 / pair.dt)
    found = lag(pair.command, pair.measured, pair.dt, longest=near)
    stride = max(1, round(0.02 / pair.dt))
    if stride == 1 or (found.ok and found.seconds < 0.9 * near * pair.dt):
        return found
    # a trial lag every twentieth of a 5 ms frame up to 500 ms would cost seconds
    return lag(
        _blocks(pair.command, stride), _blocks(pair.measured, stride), stride * pair.dt,
        longest=max(14.0, 0.5 / (stride * pair.dt)),
    )  # fmt: skip


def _blocks(x: np.ndarray, n: int) -> np.ndarray:
    """Means of n neighbours; both sides lose the same half block, so their lag stays."""
    return x[: len(x) // n * n].reshape(-1, n).mean(axis=1)


def _range(episode: Episode) -> Iterator[Seen]:
    for key in sorted(episode.signals):
        signal = episode.signals[key]
        if signal.unit != "rad":
            continue
        table, labels = columns(signal)
        finite = np.where(np.isfinite(table), table, 0.0)
        for d in np.flatnonzero(np.ptp(finite, axis=0) > _TURNS):
            yield Seen(
                code="unit_mismatch",
                severity="warning",
                feature=labels[d],
                message=f"travels {np.ptp(finite[:, d]):.0f} rad: degrees declared as rad?",
                fix="State the unit the recorder writes.",
            )


def _limits(episode: Episode, config: ScreenConfig) -> Iterator[Seen]:
    for key in sorted(episode.signals):
        if not key.startswith("action"):
            continue
        signal = episode.signals[key]
        table, labels = columns(signal)
        for d in range(table.shape[1]):
            if not np.isfinite(table[:, d]).all():
                continue
            found = saturation(table[:, d], signal.times)
            share = found.at_low + found.at_high
            # a plateau at one end, or at uneven ends, may be a target that rests
            clipped = min(found.at_low, found.at_high) > 0.01 and abs(
                found.low + found.high
            ) < 0.01 * (found.high - found.low)
            if share < config.saturated_share or found.longest < 3 or not clipped:
                continue
            yield Seen(
                code="saturation",
                severity="warning",
                feature=labels[d],
                message=f"{100 * share:.0f} % of the commands sit at {found.low:.4g} or "
                f"{found.high:.4g} {signal.unit}",
                fix="Clipped commands hide what the policy wanted; log it before the clip too.",
            )


def _control_rate(episode: Episode, config: ScreenConfig) -> Iterator[Seen]:
    """How often commands change, against what is declared."""
    signal = episode.signals.get("action")
    if signal is None or len(signal.times) < 20:
        return
    table, _ = columns(signal)
    fresh = np.flatnonzero(np.any(np.diff(table, axis=0) != 0, axis=1)) + 1
    if len(fresh) < 10:
        return
    # the median spacing of changes: rests make a few long ones
    hz = 1.0 / max(float(np.median(np.diff(signal.times[fresh]))), 1e-9)
    stated = episode.contract.control_rate
    if stated.source == "declared" and stated.value:
        if abs(hz / float(stated.value) - 1) > max(config.rate_tolerance, 0.1):
            yield Seen(
                code="control_rate",
                severity="warning",
                feature="action",
                message=f"declared {float(stated.value):g} Hz, commands change at {hz:.3g} Hz",
                fix="A starved loop or a mislabelled rate: compare send stamps with the loop.",
            )
    elif hz < 0.7 * signal.rate:
        yield Seen(
            code="control_rate",
            severity="info",
            feature="action",
            message=f"logged at {signal.rate:.3g} Hz, commands change at {hz:.3g} Hz",
        )


def _label(pair: Pair) -> str:
    return f"{pair.command_key}[{pair.column}] -> {pair.measured_key}"


def _lags(episodes: Sequence[Episode], config: ScreenConfig) -> Iterator[tuple[int, Seen]]:
    """One lag a column over all episodes: a single short one says little, a stuck one nothing."""
    found: dict[tuple[str, str], list[tuple[int, Lag]]] = {}
    for i, episode in enumerate(episodes):
        for pair in pairs(episode):
            if pair.dt <= 0 or not np.isfinite([pair.command, pair.measured]).all():
                continue
            one = _lag(pair)
            if one.ok and one.correlation > 0.8 and one.gain > 0.1:
                found.setdefault((episode.robot, _label(pair)), []).append((i, one))
    for (_, label), members in found.items():
        low, middle, high = np.percentile([1e3 * one.seconds for _, one in members], [25, 50, 75])
        slow = middle > 1e3 * config.long_lag
        width = np.median([1e3 * (one.hi - one.lo) for _, one in members])
        for i, _ in members:
            yield (
                i,
                Seen(
                    code="action_lag",
                    severity="warning" if slow else "info",
                    feature=label,
                    message=f"the reading trails its command by {middle:.0f} ms (quartiles "
                    f"{low:.0f} and {high:.0f} over {len(members)} episodes, "
                    f"each known to {width:.0f} ms)",
                    fix=_LAG if slow else "",
                ),
            )


def across(episodes: Sequence[Episode], config: ScreenConfig) -> Iterator[tuple[int, Seen]]:
    """What only a comparison of episodes shows, as (index of the odd one, finding)."""
    yield from _duplicates(episodes)
    yield from _lags(episodes, config)
    groups: dict[str, list[int]] = {}
    for i, episode in enumerate(episodes):
        groups.setdefault(episode.robot, []).append(i)
    for members in groups.values():
        yield from _odd_units(episodes, members)


def _duplicates(episodes: Sequence[Episode]) -> Iterator[tuple[int, Seen]]:
    first: dict[tuple[bytes, ...], int] = {}
    for i, episode in enumerate(episodes):
        key = tuple(
            np.ascontiguousarray(episode.signals[k].values).tobytes()
            for k in sorted(episode.signals)
            if k.startswith(("action", "observation."))
        )
        if not key:
            continue
        if key not in first:
            first[key] = i
            continue
        original = episodes[first[key]]
        yield (
            i,
            Seen(
                code="duplicate_episode",
                severity="error",
                feature="",
                message=f"same numbers as {original.source or original.id[:8]}",
                fix="Keep one of them.",
            ),
        )


def _odd_units(episodes: Sequence[Episode], members: list[int]) -> Iterator[tuple[int, Seen]]:
    """Episodes whose spread differs from their fellows' by a known unit factor."""
    if len(members) < 3:
        return
    for key in sorted({k for i in members for k in episodes[i].signals}):
        having = [i for i in members if key in episodes[i].signals]
        units = {episodes[i].signals[key].unit for i in having}
        if len(units) > 1:
            for i in having:
                yield (
                    i,
                    Seen(
                        code="unit_mismatch",
                        severity="error",
                        feature=key,
                        message=f"declared in {' and '.join(sorted(units))} by different episodes",
                        fix="Convert all to one unit.",
                    ),
                )
            continue
        tables = {i: columns(episodes[i].signals[key])[0] for i in having}
        widths = {t.shape[1] for t in tables.values()}
        if len(having) < 3 or len(widths) > 1 or units & {"raw", "1", "C", "V", "N m", "N", "A"}:
            continue
        spread = {
            i: np.nanstd(np.where(np.isfinite(t), t, np.nan), axis=0)
            for i, t in tables.items()
            if len(t)
        }
        typical = np.median(np.stack(list(spread.values())), axis=0)
        for i, sd in spread.items():
            found = ratio(sd, typical).shared
            wide = found.ratio > _FELLOWS
            if found.name in ("", "same unit") or not (wide or found.ratio < 1 / _FELLOWS):
                continue
            yield (
                i,
                Seen(
                    code="unit_mismatch",
                    # a far narrower spread may be an attempt that hardly moved
                    severity="error" if wide else "warning",
                    feature=key,
                    message=f"spreads {found.ratio:.3g} times as wide as in the other episodes: "
                    f"{found.name}",
                    fix="Convert this episode." if wide else "In another unit, or hardly moved?",
                ),
            )
