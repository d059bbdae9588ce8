"""Structured hypotheses: which knobs make one mechanism, and what to try for it."""

import re
from dataclasses import dataclass

import numpy as np

from gaploop.core import Knob, KnobSpace
from gaploop.infer.words import mechanism


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """One thing that can be off: one knob, or the axes of one effect."""

    key: str
    """Stable name: the target without its index, or the knob's name without its axis."""
    gap: str
    columns: tuple[int, ...]
    """Columns of its knobs in the space."""

    def words(self, space: KnobSpace, value: np.ndarray, trained: np.ndarray) -> str:
        """In a technician's words, for knob rows (P,) as they are and as they were trained."""
        width = np.array([space.knobs[c].prior.width for c in self.columns])
        shift = (value - trained)[list(self.columns)] / width
        most = int(np.argmax(np.abs(shift)))
        return mechanism(space.knobs[self.columns[most]], float(shift[most]))


def mechanisms(space: KnobSpace) -> tuple[Mechanism, ...]:
    """The hypotheses of a knob space, in the order their first knob was declared."""
    groups: dict[tuple[str, str], list[int]] = {}
    for column, knob in enumerate(space.knobs):
        groups.setdefault((_key(knob), knob.gap), []).append(column)
    return tuple(
        Mechanism(key=key, gap=gap, columns=tuple(columns))
        for (key, gap), columns in groups.items()
    )


def _key(knob: Knob) -> str:
    kind, name, field, _ = knob.targets[0].parts() if knob.targets else ("", "", "", None)
    if kind in ("action", "sensor"):
        return f"{kind}:{name}.{field}".removesuffix(".")
    return re.sub(r"_(x|y|z|\d+)$", "", knob.name)


def proposals(
    space: KnobSpace, which: Mechanism, base: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """(n, P) rows of `base` with this mechanism's knobs redrawn.

    Half come from the prior, which finds what this robot never showed before;
    half stay within a quarter of the prior round the base row, which refines.
    """
    rows = base.copy()
    unit = space.to_unit(base)[:, list(which.columns)]
    near = np.clip(unit + rng.uniform(-0.125, 0.125, unit.shape), 0.0, 1.0)
    fresh = rng.random(unit.shape)
    half = (np.arange(len(base)) % 2 == 0)[:, None]
    moved = space.to_unit(base)
    moved[:, list(which.columns)] = np.where(half, fresh, near)
    rows[:, list(which.columns)] = space.from_unit(moved)[:, list(which.columns)]
    return rows
