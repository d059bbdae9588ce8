"""Command jumps where one action chunk ends and the next begins."""

from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """How much rougher commands are at chunk boundaries than inside chunks."""

    execute: int
    """Commands from one boundary to the next; 0 where none was found."""
    offset: int
    """Index of the first boundary after the start."""
    ratio: float
    """Median jump at boundaries over median jump elsewhere; 1 is seamless, NaN unknown."""
    p_value: float
    """One-sided rank-sum test, corrected for the number of periods tried."""
    boundaries: int
    worst: int
    """Frame of the largest boundary jump, -1 for none."""


def seam(commands: np.ndarray, execute: int, offset: int | None = None) -> Seam:
    """Are the jumps at every execute-th command larger than the others?

    A jump is the distance of a command from the straight line through the two before
    it, each column scaled by its own mean jump: steady motion is no jump. Test: Wilcoxon
    (1945), Biometrics Bulletin 1:80-83, with the normal approximation and ties.

    Args:
      commands: (T,) or (T, a).
      execute: commands a chunk is followed for.
      offset: index of the first command of a second chunk; `execute` when not given.

    Raises:
      InputError: for execute below 1.
    """
    if execute < 1:
        raise InputError(f"Seam test: chunks of {execute} commands are impossible.")
    start = execute if offset is None else offset
    return _test(_jumps(commands), execute, start, tried=1)


def find_seam(commands: np.ndarray, longest: int = 32) -> Seam:
    """The period and phase with the clearest boundaries, Bonferroni-corrected; p = 1 for none.

    Args:
      commands: (T,) or (T, a).
      longest: largest period tried, from 3 commands up.
    """
    jumps = _jumps(commands)
    periods = range(3, min(longest, len(jumps) // 4) + 1)
    tried = sum(periods)
    found = [_test(jumps, e, e + o, tried) for e in periods for o in range(e)]
    if not found:
        return _nothing(0, 0)
    return min(found, key=lambda s: (s.p_value, s.execute))


def _jumps(commands: np.ndarray) -> np.ndarray:
    """(T,) scaled jump of each command; NaN for the first two."""
    c = np.asarray(commands, dtype=float)
    c = c[:, None] if c.ndim == 1 else c.reshape(len(c), -1)
    out = np.full(len(c), np.nan)
    if len(c) > 2:
        bend = np.abs(np.diff(c, n=2, axis=0))
        scale = bend.mean(axis=0)
        out[2:] = (bend / np.where(scale > 0, scale, 1.0)).mean(axis=1)
    return out


def _test(jumps: np.ndarray, execute: int, offset: int, tried: int) -> Seam:
    frame = np.arange(len(jumps))
    phase = (frame - offset) % execute
    known = np.isfinite(jumps)
    at = known & (phase == 0)
    # the line through the two commands before bends at a boundary once more
    inside = known & (phase > 1)
    k, m = int(at.sum()), int(inside.sum())
    if k < 2 or m < 2 or not np.ptp(jumps[at | inside]) > 0:
        return _nothing(execute, offset)
    high, low = float(np.median(jumps[at])), float(np.median(jumps[inside]))
    return Seam(
        execute=execute,
        offset=offset % execute,
        ratio=high / low if low > 0 else float("inf") if high > 0 else 1.0,
        p_value=min(1.0, tried * _rank_sum(jumps[at], jumps[inside])),
        boundaries=k,
        worst=int(frame[at][np.argmax(jumps[at])]),
    )


def _rank_sum(high: np.ndarray, low: np.ndarray) -> float:
    """P-value for `high` being stochastically larger than `low`."""
    from scipy.special import ndtr

    _, group, counts = np.unique(
        np.concatenate([high, low]), return_inverse=True, return_counts=True
    )
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[group]
    k, n = len(high), len(high) + len(low)
    ties = float(np.sum(counts**3 - counts)) / (n * (n - 1))
    sd = np.sqrt(k * (n - k) / 12 * (n + 1 - ties))
    return float(ndtr(-(ranks[:k].sum() - k * (n + 1) / 2) / sd)) if sd > 0 else 1.0


def _nothing(execute: int, offset: int) -> Seam:
    return Seam(
        execute=execute, offset=offset, ratio=float("nan"), p_value=1.0, boundaries=0, worst=-1
    )
