"""Defects of a set as a whole: copies, lengths, splits, outcomes, texts."""

import copy
import itertools

import numpy as np

from gaploop.testing.clean_sets import CleanSet, Take
from gaploop.testing.defects import kind, share, some
from gaploop.testing.defects_numbers import _cut

Rng = np.random.Generator


@kind("same episode twice", "duplicate_episode")
def _copy(s: CleanSet, rng: Rng, level: int) -> list[int]:
    return _copies(s, rng, (1, 2, 6)[level], lambda take: None)


@kind("nearly the same episode twice", "near_duplicate", accepted=("duplicate_episode",))
def _near(s: CleanSet, rng: Rng, level: int) -> list[int]:
    """Cut otherwise and resampled through another precision."""

    def change(take: Take) -> None:
        if level < 2:  # cut at another place
            first = int((0.25, 0.05)[level] * len(take.times))
            _cut(take, np.arange(first, len(take.times)))
            take.times = take.times - take.times[0]
        size = (3.0, 0.5, 0.05)[level] * s.shape.quantum
        for table in (take.action, take.state):
            table += size * rng.standard_normal(table.shape)

    return _copies(s, rng, (1, 2, 6)[level], change)


@kind("test on what was trained", "leakage")
def _leak(s: CleanSet, rng: Rng, level: int) -> list[int]:
    for i, take in enumerate(s.takes):
        take.split = "train" if i % 5 else "test"

    def change(take: Take) -> None:
        take.split = "test" if take.split == "train" else "train"

    return _copies(s, rng, (1, 2, 6)[level], change)


@kind("cut short", "episode_length")
def _short(s: CleanSet, rng: Rng, level: int) -> list[int]:
    middle = float(np.median([len(t.times) for t in s.takes]))
    hit = some(s, rng, (1, 2, 5)[level])
    for i in hit:
        length = (int(0.22 * middle), int(0.12 * middle), 6)[level]
        _cut(s.takes[i], np.arange(length))
    return hit


@kind("two attempts in one", "episode_length")
def _merged(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (1, 2, 4)[level])
    for i in hit:
        take = s.takes[i]
        other = s.takes[(i + 1) % len(s.takes)]
        # the arm goes home between attempts
        parts = [copy.deepcopy(take)] + [copy.deepcopy(other) for _ in range((2, 4, 8)[level])]
        ends = itertools.pairwise(parts)
        bridges = [_bridge(a, b, int(s.shape.fps)) for a, b in ends]
        joined = [x for pair in zip(parts, [*bridges, None], strict=True) for x in pair if x]
        for name in ("action", "state", "held", "load"):
            values = [getattr(p, name) for p in joined]
            if values[0] is not None:
                setattr(take, name, np.concatenate(values))
        take.times = np.arange(len(take.action)) / s.shape.fps
    return hit


@kind("judges disagree", "outcome_conflict")
def _conflict(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (1, 3, 8)[level])
    for i in hit:
        s.takes[i].verdicts = [("operator", True), ("detector", False)]
    return hit


@kind("no outcome", "missing_outcome")
def _silent(s: CleanSet, rng: Rng, level: int) -> list[int]:
    s.origin = "rollout"
    hit = list(range(len(s.takes))) if level == 2 else share(s, rng, level)
    for i, take in enumerate(s.takes):
        take.verdicts = [] if i in hit else take.verdicts or [("operator", True)]
    return hit


@kind("no task text", "language_missing")
def _text(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = share(s, rng, level)
    for i in hit:
        s.takes[i].text = ("", " ", "")[level]
    return hit


# -- inside -------------------------------------------------------------------


def _copies(s: CleanSet, rng: Rng, count: int, change) -> list[int]:
    """Appends changed copies; the copies are the damaged ones."""
    first = len(s.takes)
    for i in some(s, rng, count):
        take = copy.deepcopy(s.takes[i])
        change(take)
        s.takes.append(take)
    return list(range(first, len(s.takes)))


def _bridge(before: Take, after: Take, frames: int) -> Take:
    """A smooth way from the end of one take to the start of another."""
    s = np.linspace(0, 1, frames)[:, None]
    ease = 10 * s**3 - 15 * s**4 + 6 * s**5
    made = copy.deepcopy(after)
    for name in ("action", "state"):
        a, b = getattr(before, name)[-1], getattr(after, name)[0]
        setattr(made, name, a + (b - a) * ease)
    made.held = None if after.held is None else np.zeros(frames, bool)
    made.load = None if after.load is None else np.zeros(frames, after.load.dtype)
    return made
