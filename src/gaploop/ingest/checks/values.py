"""What the figures of each episode say: numbers, units, jumps, lengths, outcomes, texts."""

from collections.abc import Iterator, Sequence

import numpy as np

from gaploop.ingest.checks.batch import Said
from gaploop.ingest.checks.odd import middle, odd_ones
from gaploop.ingest.checks.roles import grippers
from gaploop.ingest.checks.summary import Columns, Summary
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import Seen
from gaploop.signals import ratio

_WORD = {"nan": "NaN", "inf": "infinite"}
_UNITLESS = {"raw", "1", "C", "V", "N m", "N", "A", "%"}
_FELLOWS = 25.0
"""Spread over the other episodes' from which another unit is likelier than another motion."""
_TURNS = 50.0
"""rad: a joint that travels more than eight turns is more likely in degrees."""
_KNOWN = {57.29577951: "degrees among radians", 1000.0: "mm among m", 100.0: "cm among m"}


def values(summary: Summary, config: ScreenConfig) -> Iterator[tuple[int, Seen]]:
    """Everything that the summary alone decides."""
    yield from _finite(summary)
    for feature in summary.features:
        yield from _constant(feature)
        yield from _wrapped(feature)
        yield from _turns(feature)
        yield from _spreads(feature, summary.said)
        yield from _jumps(feature)
    yield from _units(summary)
    yield from _lengths(summary, config)
    yield from _outcomes(summary.said)
    yield from _texts(summary.said)


def _finite(summary: Summary) -> Iterator[tuple[int, Seen]]:
    for bad in summary.bad:
        yield (
            bad.episode,
            Seen(
                code=bad.code,
                severity="error",
                feature=bad.label,
                message=f"{bad.count} {_WORD[bad.code]} readings, the first in row {bad.row} "
                f"({bad.seconds:.3f} s)",
                fix="Find out why the sensor or recorder dropped them; do not fill them in.",
            ),
        )


def _constant(f: Columns) -> Iterator[tuple[int, Seen]]:
    """Columns that never change: a fact of the set where it is so in all, odd in some."""
    flat = (f.low == f.high) & (f.length > 1)
    hands = set(grippers(f.columns))  # which stay open over many an attempt
    for d in np.flatnonzero(flat.any(axis=1)):
        never = f.key.startswith("action") and d not in hands
        whole = bool(flat[d].all())
        moving = f.high[d] - f.low[d]
        # a column that moves in nearly all other episodes is dead in these
        rare = not whole and flat[d].mean() <= 0.5 and np.median(moving[~flat[d]]) > 0
        odd = rare and d not in hands
        for e in np.flatnonzero(flat[d]):
            yield (
                int(f.index[e]),
                Seen(
                    code="constant_dimension",
                    severity="warning" if never or odd else "info",
                    feature=f.labels[d],
                    message=f"stays at {f.low[d, e]:.6g} over the whole episode",
                    fix="A command that never changes excites nothing; a reading may be dead."
                    if never or odd
                    else "",
                ),
            )


def _wrapped(f: Columns) -> Iterator[tuple[int, Seen]]:
    """Negative 16-bit numbers that were logged as unsigned show as values near 65535."""
    for d, e in zip(*np.nonzero(_is_wrapped(f)), strict=True):
        yield (
            int(f.index[e]),
            Seen(
                code="integer_wrap",
                severity="warning",
                feature=f.labels[d],
                message=f"readings up to {f.high[d, e]:.0f} beside small ones: negative numbers "
                "logged as unsigned 16-bit",
                fix="Subtract 65536 from readings above 32767 before any resampling.",
            ),
        )


def _is_wrapped(f: Columns) -> np.ndarray:
    """(d, E)"""
    found = (f.high <= 65535) & (f.high >= 60000) & (f.low < 5535)
    # a wrap jumps over the whole range; a count that climbs there does not
    return found & (f.jump > 50000)


def _turns(f: Columns) -> Iterator[tuple[int, Seen]]:
    if f.unit != "rad":
        return
    travel = f.high - f.low
    for d, e in zip(*np.nonzero(travel > _TURNS), strict=True):
        yield (
            int(f.index[e]),
            Seen(
                code="unit_mismatch",
                severity="warning",
                feature=f.labels[d],
                message=f"travels {travel[d, e]:.0f} rad: degrees declared as rad?",
                fix="State the unit the recorder writes.",
            ),
        )


def _spreads(f: Columns, said: Sequence[Said]) -> Iterator[tuple[int, Seen]]:
    """Episodes whose spread differs from their fellows' by the factor of a known unit."""
    for robot in dict.fromkeys(said[int(e)].robot for e in f.index):
        among = np.array([said[int(e)].robot == robot for e in f.index])
        if among.sum() < 3:
            continue
        if f.unit in _UNITLESS - {"raw"}:
            continue
        if not _is_wrapped(f).any():  # spreads of a wrapped count say nothing
            yield from _odd_spreads(f, np.flatnonzero(among))


def _odd_spreads(f: Columns, among: np.ndarray) -> Iterator[tuple[int, Seen]]:
    size = np.maximum(np.abs(f.high), np.abs(f.low))[:, among].astype(float)
    sd = f.sd[:, among].astype(float)
    moving = sd > 1e-9
    with np.errstate(divide="ignore"):
        logs = np.where(moving, np.log(sd), np.nan)
    if not np.isfinite(logs).any():
        return
    level = middle(logs - middle(logs, axis=1)[:, None], axis=0)
    # of two groups as large, the one with the larger numbers is in the smaller unit
    odd, centre = odd_ones(level, 1.2, worse=lambda v: v)
    for e in np.flatnonzero(odd):
        factor = float(np.exp(level[e] - centre))
        typical = np.exp(middle(logs[:, ~odd], axis=1)) if (~odd).any() else sd[:, e]
        named = ratio(sd[:, e], np.nan_to_num(typical)).shared
        wide = factor > _FELLOWS
        if named.name in ("", "same unit", "no known factor"):
            continue
        if not (wide or factor < 1 / _FELLOWS) or not size[:, e].any():
            continue
        yield (
            int(f.index[among[e]]),
            Seen(
                code="unit_mismatch",
                # a far narrower spread may be an attempt that hardly moved
                severity="error" if wide else "warning",
                feature=f.key,
                message=f"spreads {factor:.3g} times as wide as in the other episodes: "
                f"{named.name}",
                fix="Convert this episode." if wide else "In another unit, or hardly moved?",
            ),
        )


def _units(summary: Summary) -> Iterator[tuple[int, Seen]]:
    """One feature declared in several units."""
    by_key: dict[str, list[Columns]] = {}
    for feature in summary.features:
        by_key.setdefault(feature.key, []).append(feature)
    for key, features in by_key.items():
        units = sorted({f.unit for f in features})
        robots = {summary.said[int(e)].robot for f in features for e in f.index}
        if len(units) < 2 or len(robots) > 1:
            continue
        for e in np.sort(np.concatenate([f.index for f in features])):
            yield (
                int(e),
                Seen(
                    code="unit_mismatch",
                    severity="error",
                    feature=key,
                    message=f"declared in {' and '.join(units)} by different episodes",
                    fix="Convert all to one unit.",
                ),
            )


_JUMP = 6.0
"""How many times the usual largest change of a column a jump is."""


def _jumps(f: Columns) -> Iterator[tuple[int, Seen]]:
    """A command that leaps once, in a column that otherwise moves smoothly."""
    if not f.key.startswith("action") or len(f.index) < 3:
        return
    hands = set(grippers(f.columns))
    usual = np.median(f.jump, axis=1)
    span = f.span
    for d in range(len(f.columns)):
        if d in hands or usual[d] <= 0 or usual[d] > 0.3 * span[d]:
            continue
        leaps = (f.jump[d] > _JUMP * usual[d]) & (f.jump[d] > 0.15 * span[d])
        # one leap among smooth frames, not an episode in another unit
        leaps &= f.jump[d] > 6 * f.step[d] * np.sqrt(np.maximum(f.length - 1, 1)) / 8
        for e in np.flatnonzero(leaps):
            yield (
                int(f.index[e]),
                Seen(
                    code="action_jump",
                    severity="warning",
                    feature=f.labels[d],
                    message=f"leaps by {f.jump[d, e]:.4g} into row {f.jump_row[d, e]}; "
                    f"{usual[d]:.4g} is the largest change in a usual episode",
                    fix="Lost commands, a wrapped angle or a takeover: look at the row.",
                ),
            )


def _lengths(summary: Summary, config: ScreenConfig) -> Iterator[tuple[int, Seen]]:
    frames = np.array(summary.frames)
    for e in np.flatnonzero(frames < config.shortest):
        yield (
            int(e),
            Seen(
                code="episode_length",
                severity="error",
                feature="",
                message=f"{frames[e]} frames, at least {config.shortest} are needed",
                fix="Drop the episode, or record longer.",
            ),
        )
    if len(frames) < 4:
        return
    middle = float(np.median(frames))
    short = (frames >= config.shortest) & (frames < config.short_share * middle)
    for e in np.flatnonzero(short | (frames > middle / config.short_share)):
        yield (
            int(e),
            Seen(
                code="episode_length",
                severity="warning",
                feature="",
                message=f"{frames[e]} frames against a median of {middle:.0f}",
                fix="Cut short, or two attempts in one? See how it begins and ends.",
            ),
        )


def _outcomes(said: Sequence[Said]) -> Iterator[tuple[int, Seen]]:
    for e, one in enumerate(said):
        verdicts = {success for _, success in one.outcomes}
        if len(verdicts) > 1:
            told = ", ".join(
                f"{who} says {'success' if s else 'failure'}" for who, s in one.outcomes
            )
            yield (
                e,
                Seen(
                    code="outcome_conflict",
                    severity="warning",
                    feature="",
                    message=told,
                    fix="Look at the end of the episode and keep one judgement.",
                ),
            )
        elif not verdicts and one.origin == "rollout":
            yield (
                e,
                Seen(
                    code="missing_outcome",
                    severity="warning",
                    feature="",
                    message="nobody recorded whether the attempt succeeded",
                    fix="Record an outcome with each attempt; without one it is neither failure "
                    "nor success.",
                ),
            )


def _texts(said: Sequence[Said]) -> Iterator[tuple[int, Seen]]:
    """Episodes without a task text where others have one."""
    silent = [e for e, one in enumerate(said) if not one.text.strip()]
    if not silent or len(silent) == len(said):
        return
    for e in silent:
        yield (
            e,
            Seen(
                code="language_missing",
                severity="warning",
                feature="task",
                message="no task text, and other episodes have one",
                fix="Write what was asked of the robot, or leave the text out everywhere.",
            ),
        )
