"""How often the expert passes, overall and over the knob box.

An expert that fails in part of the box leaves a hole in the data there, which a
mean would hide.
"""

from dataclasses import dataclass

import numpy as np

from gaploop.core import KnobSpace

BINS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobGate:
    """Gate counts of one knob, over equal-probability bins of its prior."""

    knob: str
    unit: str
    edges: tuple[float, ...]
    """(BINS + 1,) bin edges in the knob's unit."""
    k: tuple[int, ...]
    """(BINS,) passed."""
    n: tuple[int, ...]
    """(BINS,) tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """What was tried and what passed."""

    k: int
    """Passed: success, the second check agrees, not void."""
    n: int
    """Tried, void attempts left out."""
    void: int
    """Simulations that diverged: no attempts."""
    knobs: tuple[KnobGate, ...]

    @property
    def rate(self) -> float:
        """k / n, NaN where nothing was tried."""
        return self.k / self.n if self.n else float("nan")


def report(space: KnobSpace, knobs: np.ndarray, passed: np.ndarray, void: np.ndarray) -> GateReport:
    """Counts over the knob box. knobs (N, P), passed (N,) bool, void (N,) bool."""
    tried = ~void
    bins = np.clip((space.to_unit(knobs) * BINS).astype(int), 0, BINS - 1)
    edges = space.from_unit(np.tile(np.linspace(0, 1, BINS + 1)[:, None], (1, len(space))))
    rows = [
        KnobGate(
            knob=knob.name,
            unit=knob.unit,
            edges=tuple(map(float, edges[:, i])),
            k=tuple(int(np.sum(passed & (bins[:, i] == b))) for b in range(BINS)),
            n=tuple(int(np.sum(tried & (bins[:, i] == b))) for b in range(BINS)),
        )
        for i, knob in enumerate(space.knobs)
    ]
    return GateReport(
        k=int(passed.sum()), n=int(tried.sum()), void=int(void.sum()), knobs=tuple(rows)
    )
