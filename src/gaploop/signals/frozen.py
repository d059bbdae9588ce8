"""Readings that stand still when they should not."""

from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import InputError
from gaploop.signals.spans import Span, runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """One dimension that repeats its value over one stretch."""

    dimension: int
    span: Span
    value: float
    p_value: float
    """Chance of so long a repetition by this dimension's own habit of repeating."""
    whole: bool
    """The dimension never changes at all: unused or dead, which a log cannot tell apart."""


def frozen(
    values: np.ndarray,
    times: np.ndarray,
    *,
    minimum: int = 10,
    tolerance: float = 0.0,
    moving: np.ndarray | None = None,
    alpha: float = 1e-3,
) -> tuple[Frozen, ...]:
    """Stretches where a reading repeats exactly, unlikely long for its own habit.

    A quantised or resting reading repeats by nature. With q the share of repeats outside
    the longest stretch, a stretch of L repeats among T is as unlikely as
    1 - exp(-T (1 - q) q^L) (longest success run: Feller, An Introduction to Probability
    Theory I, section XIII.7); stretches above `alpha` are left out. With `moving`, only
    frames where motion is expected count, so that rest is no finding.

    Args:
      values: (T,) or (T, d).
      times: (T,) s.
      minimum: shortest stretch in frames.
      tolerance: steps up to this size count as a repeat, in the reading's unit.
      moving: (T,) bool, where the reading should change (the command moves, say).

    Raises:
      InputError: when lengths differ.
    """
    table = np.asarray(values, dtype=float)
    table = table[:, None] if table.ndim == 1 else table.reshape(len(table), -1)
    stamps = np.asarray(times, dtype=float).ravel()
    expected = np.ones(len(table), bool) if moving is None else np.asarray(moving, bool).ravel()
    if not len(table) == len(stamps) == len(expected):
        raise InputError(
            f"Frozen test: {len(table)} readings, {len(stamps)} stamps, {len(expected)} marks."
        )
    if len(table) < 2:
        return ()
    # frame i + 1 repeats frame i; NaN never does
    repeats = (np.abs(np.diff(table, axis=0)) <= tolerance) & expected[1:, None]
    return tuple(
        found
        for d in range(table.shape[1])
        for found in _dimension(d, table[:, d], stamps, repeats[:, d], minimum, alpha)
    )


def _dimension(
    d: int, values: np.ndarray, times: np.ndarray, repeats: np.ndarray, minimum: int, alpha: float
) -> list[Frozen]:
    """Findings of one dimension."""
    stretches = runs(repeats)
    if not len(stretches):
        return []
    lengths = stretches[:, 1] - stretches[:, 0]
    longest = int(lengths.max())
    total = len(repeats)
    # half a repeat more, so that a reading that never repeats has some habit to compare with
    habit = (lengths.sum() - longest + 0.5) / (total - longest + 1.0)
    found = []
    for (a, b), length in zip(stretches, lengths, strict=True):
        chance = float(-np.expm1(-total * (1 - habit) * habit**length))
        whole = length == total
        if length + 1 < minimum or (chance > alpha and not whole):
            continue
        span = Span(start=int(a), stop=int(b) + 1, t0=float(times[a]), t1=float(times[b]))
        found.append(
            Frozen(dimension=d, span=span, value=float(values[a]), p_value=chance, whole=whole)
        )
    return found
