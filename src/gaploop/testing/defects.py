"""Faults that logs of robots have, planted in healthy sets: what, where, how strong.

Each kind is one function that damages the arrays of a `CleanSet` and says which episodes
it damaged. Nothing here knows how a check decides. Severities: `mild` is what an expert
may overlook, `middle` what costs a training run, `gross` what anybody sees in a plot; for
faults that are there or not, they are the share of episodes that have it.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from gaploop.testing.clean_sets import CleanSet, clean_set
from gaploop.testing.shapes import SHAPES

Severity = Literal["mild", "middle", "gross"]
SEVERITIES: Final[tuple[Severity, ...]] = ("mild", "middle", "gross")

Plant = Callable[[CleanSet, np.random.Generator, int], list[int]]
"""(set, randomness, severity 0 to 2) to the episodes it damaged, by place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One planted fault."""

    name: str
    code: str
    """The finding that names it."""
    accepted: tuple[str, ...]
    """Findings that name it rightly in other words; `code` among them."""
    episodes: tuple[int, ...]
    """Places of the damaged episodes in the set."""
    others: tuple[int, ...]
    """The rest where two groups are as large and either may be the wrong one; else empty."""
    severity: Severity
    shape: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A way in which a log is wrong."""

    name: str
    code: str
    plant: Plant
    accepted: tuple[str, ...] = ()
    shapes: tuple[str, ...] = tuple(SHAPES)
    either: bool = False
    """Whether a half could as well be the right one: both sides of the log changed alike."""


KINDS: Final[dict[str, Kind]] = {}
"""By name, in the order they were added."""


def kind(name: str, code: str, **how) -> Callable[[Plant], Plant]:
    """Adds a function as a kind of defect."""

    def add(plant: Plant) -> Plant:
        KINDS[name] = Kind(name=name, code=code, plant=plant, **how)
        return plant

    return add


def defective(
    name: str, severity: Severity, shape: str, seed: int, clean: CleanSet | None = None
) -> tuple[CleanSet, Defect]:
    """A healthy set with one defect planted, and the truth about it.

    clean: the set of this shape and seed where it was made before; it is not changed.

    Raises:
      KeyError: for a name or shape nobody knows, or a kind that this shape cannot have.
    """
    chosen = kinds()[name]
    if shape not in chosen.shapes:
        raise KeyError(f"{name} does not occur in {shape}")
    bad = copy.deepcopy(clean) if clean is not None else clean_set(shape, seed)
    rng = np.random.default_rng([seed, list(KINDS).index(name), SEVERITIES.index(severity)])
    hit = sorted(set(chosen.plant(bad, rng, SEVERITIES.index(severity))))
    rest = [i for i in range(len(bad.takes)) if i not in hit]
    even = chosen.either and len(hit) >= 0.8 * len(rest)
    return bad, Defect(
        name=name, code=chosen.code, accepted=(chosen.code, *chosen.accepted),
        episodes=tuple(hit), others=tuple(rest) if even else (), severity=severity, shape=shape,
    )  # fmt: skip


def kinds() -> dict[str, Kind]:
    """All kinds by name."""
    # they add themselves on import
    from gaploop.testing import defects_commands, defects_numbers, defects_sets  # noqa: F401

    return KINDS


# -- shared by the kinds ------------------------------------------------------


def some(s: CleanSet, rng: np.random.Generator, count: int) -> list[int]:
    """Places of `count` episodes."""
    return sorted(int(i) for i in rng.permutation(len(s.takes))[:count])


def share(s: CleanSet, rng: np.random.Generator, level: int) -> list[int]:
    """Two episodes, two in five, or half: for faults that are there or not."""
    n = len(s.takes)
    return some(s, rng, (2, int(0.4 * n), n // 2)[level])


def arm_column(s: CleanSet, rng: np.random.Generator, skip: tuple[int, ...] = ()) -> int:
    """A joint, or a coordinate of the hand, that moves well in most episodes."""
    fit = [c for c in (s.shape.angles or s.shape.places) if c not in skip]
    travel = np.median([np.ptp(t.action[:, fit], axis=0) for t in s.takes], axis=0)
    best = np.argsort(-travel)[: max(2, len(fit) // 2)]
    return fit[int(best[int(rng.integers(len(best)))])]


def busy(column: np.ndarray, length: int, rng: np.random.Generator) -> int:
    """First row of a stretch in which a column travels much."""
    starts = np.arange(0, max(1, len(column) - length - 1))
    travel = np.array([np.ptp(column[a : a + length]) for a in starts])
    good = np.flatnonzero(travel >= 0.7 * travel.max())
    return int(starts[good[int(rng.integers(len(good)))]])
