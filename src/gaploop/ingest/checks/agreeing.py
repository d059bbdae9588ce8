"""What commands and readings say of each other: lag, sign, order, unit, zero, mode."""

from collections.abc import Iterator

import numpy as np

from gaploop.ingest.checks.following import TRIALS, Following
from gaploop.ingest.checks.odd import middle, odd_ones
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import Seen, Severity

_FOLLOWS = 0.8
_CERTAIN = 0.9
_WORSE = 0.15
"""Mean log(1 - r^2) by which the usual lag must be worse than an episode's own."""
_MIRRORS = -0.8
_OVER, _UNDER = 5.0, 1 / 25
_FURTHER, _TIGHT = 1.8, 0.95
"""Gain over that of the other episodes, at a correlation, that no loop reaches."""
_FULL = 0.25
"""How far from 1 the gain of a joint may be that still goes where it is sent."""
_ELSEWHERE = 8.0
"""Frames from the usual lag at which a likeness is likely chance."""
_EARLY = 0.5
"""Frames before its command from which a reading cannot be its answer."""
_LAG = "Measure the lag per robot and train with it; do not shift the data."


def agreeing(f: Following, config: ScreenConfig) -> Iterator[tuple[int, Seen]]:
    """All findings of one command and its reading."""
    swapped = {e for e, _, _ in f.crossed}
    yield from _swaps(f)
    yield from _signs(f, swapped)
    yield from _scales(f)
    yield from _zeros(f, swapped)
    yield from _modes(f)
    yield from _lags(f, config)


def _swaps(f: Following) -> Iterator[tuple[int, Seen]]:
    for e, i, j in f.crossed:
        yield (
            e,
            Seen(
                code="joint_swap",
                severity="error",
                feature=f"{f.labels[i]}, {f.labels[j]}",
                message="each reading follows the other's command",
                fix="Exchange the two columns of these episodes.",
            ),
        )


def _signs(f: Following, swapped: set[int]) -> Iterator[tuple[int, Seen]]:
    """A reading that mirrors its command."""
    # held by an obstacle a joint creeps in whatever direction it can
    mirrored = (f.correlation < _MIRRORS) & (np.abs(f.gain) > 0.3)
    mirrored &= ~_chance(f)
    mirrored[list(f.gripper)] = f.correlation[list(f.gripper)] < -0.5
    for p, k in zip(*np.nonzero(mirrored), strict=True):
        e = int(f.index[k])
        if e in swapped:
            continue
        hand = p in f.gripper
        always = bool(middle(f.correlation[p]) < 0)
        if hand and always:
            message = "command and reading count in opposite directions"
        else:
            message = "the reading mirrors its command"
        yield (
            e,
            Seen(
                code="gripper_polarity" if hand else "joint_sign",
                severity="error",
                feature=f.labels[p],
                message=message,
                fix="State which end is closed, and turn one side."
                if hand
                else "Check the sign of this joint in the contract with a single-joint nudge.",
            ),
        )


def _chance(f: Following) -> np.ndarray:
    """(E,) likeness far from the usual lag: motion long after answers nothing that was sent."""
    frames = f.lag / f.period
    return np.abs(frames - middle(frames)) > _ELSEWHERE


def _scales(f: Following) -> Iterator[tuple[int, Seen]]:
    """A reading in another unit than its command.

    A position loop may fall short of its command by a large factor, but it cannot
    overshoot its whole travel several times; a hundredth of the command that still
    follows it is in another unit, not a weak joint.
    """
    arms = [p for p in range(len(f.labels)) if p not in f.gripper]
    for p in arms:
        gain = np.abs(f.gain[p])
        sure = (np.abs(f.correlation[p]) > _FOLLOWS) & ~_chance(f)
        with np.errstate(divide="ignore"):
            logs = np.where(sure, np.log(gain), np.nan)
        # of two groups as large the one that goes where it is sent is right
        _, centre = odd_ones(logs, np.log(2.0), worse=abs)
        usual = float(np.exp(centre)) if sure.any() else 1.0
        # a loop may fall short, but hardly goes further than others do under the same command
        alike = sure & (np.abs(f.gain[p] / usual - 1) < _FULL)
        far = sure & (f.correlation[p] > _TIGHT) & (gain > _FURTHER * usual)
        if alike.sum() >= max(3, 0.5 * sure.sum()):
            for k in np.flatnonzero(far & (gain / usual <= _OVER)):
                yield int(f.index[k]), _scale(f, p, gain[k])
        # all alike: the two sides count in units of their own, and that is a fact of the set
        shared = len(gain) > 2 and not _UNDER < usual < _OVER
        base = usual if shared else 1.0
        for k in np.flatnonzero(sure & ((gain / base > _OVER) | (gain / base < _UNDER))):
            yield int(f.index[k]), _scale(f, p, gain[k])
        if shared and f.known:
            for k in np.flatnonzero(sure):
                yield int(f.index[k]), _scale(f, p, gain[k])


def _scale(f: Following, p: int, gain: float) -> Seen:
    guess = ""
    if 40 < gain < 75:
        guess = ": degrees read against a command in radians"
    elif 1 / 75 < gain < 1 / 40:
        guess = ": radians read against a command in degrees"
    return Seen(
        code="unit_mismatch",
        severity="error",
        feature=f.labels[p],
        message=f"the reading moves {gain:.3g} times as far as its command{guess}",
        fix="Convert one side, or correct the declared unit.",
    )


def _zeros(f: Following, swapped: set[int]) -> Iterator[tuple[int, Seen]]:
    """A reading that lies apart from its command by more than in the other episodes."""
    arms = [p for p in range(len(f.labels)) if p not in f.gripper]
    for p in arms:
        # a weak joint lies apart too, but it falls short of its command as well
        sure = (f.correlation[p] > _FOLLOWS) & (np.abs(f.gain[p] - 1) < _FULL)
        if sure.sum() < 4:
            continue
        travel = float(np.median(f.spread[p][sure]))
        # in another unit every offset is another one
        width = f.spread[p] / max(travel, 1e-12)
        sure &= (width < _OVER) & (width > 1 / _OVER)
        values = np.where(sure, f.offset[p], np.nan)
        odd, centre = odd_ones(values, 0.08 * travel, worse=abs)
        for k in np.flatnonzero(odd):
            e = int(f.index[k])
            if e not in swapped:
                yield (
                    e,
                    Seen(
                        code="joint_zero",
                        severity="warning",
                        feature=f.labels[p],
                        message=f"the reading lies {values[k] - centre:+.3g} from where it lies "
                        "in the other episodes, against its command",
                        fix="Homed anew or another unit of the robot: calibrate the zero of "
                        "these episodes.",
                    ),
                )


def _modes(f: Following) -> Iterator[tuple[int, Seen]]:
    """Commands that are steps in some episodes and places in others."""
    arms = [p for p in range(len(f.labels)) if p not in f.gripper]
    if not arms or len(f.index) < 3:
        return
    place = middle(np.abs(f.correlation[arms]), axis=0)
    summed = middle(f.summed[arms], axis=0)
    scale = middle(f.summed_gain[arms], axis=0)
    reach = middle(np.abs(f.gain[arms]), axis=0)
    steps = (summed > 0.8) & (place < 0.7) & (summed > place + 0.2)
    # steps add up to where the joint goes, in its own unit, and each is far smaller
    own_unit = (scale > 0.4) & (scale < 2.5)
    steps |= own_unit & (((summed > 0.8) & (reach > 3)) | ((summed > 0.65) & (place < 0.5)))
    places = (place > 0.8) & ~steps
    if not steps.any() or not places.any():
        return
    odd = steps if steps.sum() <= places.sum() else places
    name = "steps" if odd is steps else "places"
    other = "places" if odd is steps else "steps"
    kind = "delta" if odd is steps else "absolute"
    for k in np.flatnonzero(odd):
        yield (
            int(f.index[k]),
            Seen(
                code="action_mode",
                severity="error",
                feature=f.command,
                message=f"the commands are {name} to go ({kind}), and {other} in the other "
                "episodes",
                fix="Sum or difference them into one mode, or train on one kind.",
            ),
        )


def _lags(f: Following, config: ScreenConfig) -> Iterator[tuple[int, Seen]]:
    """One lag for all, and the episodes that are off it."""
    known = np.isfinite(f.lag)
    if not known.any():
        return
    period = float(np.median(f.period))
    frames = np.where(known, f.lag / f.period, np.nan)
    odd, centre = odd_ones(frames, 0.75, worse=lambda v: v if v >= 0 else 100.0 - v)
    # noise has a lag at which it looks most alike, too
    odd &= np.nanmax(np.abs(np.nan_to_num(f.correlation)), axis=0) > _CERTAIN
    # and motion that repeats has several: the usual one must explain this episode badly
    usual = np.clip(np.rint(centre if np.isfinite(centre) else 0) - TRIALS[0], 0, len(TRIALS) - 1)
    odd &= f.profile[int(usual)] - f.profile.min(axis=0) > _WORSE
    early = known & ~odd & (centre < -_EARLY)
    for k in np.flatnonzero(early):
        yield (
            int(f.index[k]),
            Seen(
                code="action_offset",
                severity="warning",
                feature=f.command,
                message=f"{f.reading} moves {-1e3 * f.lag[k]:.0f} ms ({-frames[k]:.1f} frames) "
                "before the command it answers",
                fix="The commands are stored late, or were made from later readings: shift them "
                "to the observation they were given for.",
            ),
        )
    middle = 1e3 * float(np.median(f.lag[known & ~odd])) if (known & ~odd).any() else 0.0
    low, high = np.percentile(1e3 * f.lag[known & ~odd], [25, 75])
    slow = middle > 1e3 * config.long_lag
    severity: Severity = "warning" if slow else "info"
    for k in np.flatnonzero(known & ~odd & ~early):
        yield (
            int(f.index[k]),
            Seen(
                code="action_lag",
                severity=severity,
                feature=f.command,
                message=f"{f.reading} trails it by {middle:.0f} ms (quartiles {low:.0f} and "
                f"{high:.0f} over {int((known & ~odd).sum())} episodes)",
                fix=_LAG if slow else "",
            ),
        )
    for k in np.flatnonzero(odd):
        off = frames[k] - centre
        yield (
            int(f.index[k]),
            Seen(
                code="action_lag" if f.lag[k] >= 0 else "action_offset",
                severity="warning",
                feature=f.command,
                message=f"{f.reading} trails it by {1e3 * f.lag[k]:.0f} ms, {off:+.1f} frames "
                f"from the {1e3 * centre * period:.0f} ms of the other episodes",
                fix="Shift the commands of these episodes back if their recorder delayed them; "
                "else keep them apart.",
            ),
        )
