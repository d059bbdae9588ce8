"""What the figures of each episode say: numbers, units, jumps, lengths, outcomes, texts."""

from collections.abc import Iterator, Sequence, Set

import numpy as np

from gaploop.core import HELD
from gaploop.ingest.checks.batch import Said
from gaploop.ingest.checks.hands import hands
from gaploop.ingest.checks.leaps import leaps
from gaploop.ingest.checks.roles import grippers
from gaploop.ingest.checks.spreads import spreads, wrapped
from gaploop.ingest.checks.summary import Columns, Summary
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import Seen

_WORD = {"nan": "NaN", "inf": "infinite"}
_TURNS = 50.0
"""rad: a joint that travels more than eight turns is more likely in degrees."""


def values(
    summary: Summary, config: ScreenConfig, paired: Set[str] = frozenset()
) -> Iterator[tuple[int, Seen]]:
    """Everything that the summary alone decides.

    paired: features whose unit was found wrong beside their partner, which says more than
      a comparison of episodes.
    """
    yield from _finite(summary)
    for feature in summary.features:
        yield from _constant(feature)
        yield from _wrapped(feature)
        yield from _turns(feature)
        if feature.key not in paired:
            yield from spreads(feature, summary.said)
        yield from hands(feature, summary.said)
        yield from leaps(feature)
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
    if f.key == HELD:  # most attempts need no help
        return
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
    for d, e in zip(*np.nonzero(wrapped(f)), strict=True):
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
