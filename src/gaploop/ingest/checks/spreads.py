"""Episodes whose numbers are as large as another unit would make them."""

from collections.abc import Iterator, Sequence

import numpy as np

from gaploop.ingest.checks.batch import Said
from gaploop.ingest.checks.odd import middle, odd_ones
from gaploop.ingest.checks.roles import grippers, quaternions
from gaploop.ingest.checks.summary import Columns
from gaploop.ingest.findings import Seen
from gaploop.signals import ratio

_UNITLESS = {"1", "C", "V", "N m", "N", "A", "%"}
_FELLOWS = 25.0
"""Spread over the other episodes' from which another unit is likelier than another motion."""
_TOGETHER = 0.3
"""Share of the columns that a writer in another unit converts at least."""
_WHOLE = 0.3
"""Share of the usual length under which an episode says nothing about its spread."""


def spreads(f: Columns, said: Sequence[Said]) -> Iterator[tuple[int, Seen]]:
    """Columns of an episode that differ from their fellows' by the factor of a known unit."""
    if f.unit in _UNITLESS or wrapped(f).any():  # spreads of a wrapped count say nothing
        return
    fixed = {*grippers(f.columns), *(i + k for i, _ in quaternions(f.columns) for k in range(4))}
    columns = [d for d in range(len(f.columns)) if d not in fixed]
    long = f.length >= _WHOLE * np.median(f.length)
    for robot in dict.fromkeys(said[int(e)].robot for e in f.index):
        among = np.array([said[int(e)].robot == robot for e in f.index]) & long
        if among.sum() >= 3 and columns:
            yield from _odd(f, columns, np.flatnonzero(among))


def wrapped(f: Columns) -> np.ndarray:
    """(d, E) whether negative 16-bit numbers were logged as unsigned."""
    found = (f.high <= 65535) & (f.high >= 60000) & (f.low < 5535)
    # a wrap jumps over the whole range; a count that climbs there does not
    return found & (f.jump > 50000)


# -- inside -------------------------------------------------------------------


def _odd(f: Columns, columns: list[int], among: np.ndarray) -> Iterator[tuple[int, Seen]]:
    sd = f.sd[columns][:, among].astype(float)
    size = np.maximum(np.abs(f.high), np.abs(f.low))[columns][:, among].astype(float)
    with np.errstate(divide="ignore"):
        logs = np.where(sd > 1e-9, np.log(sd), np.nan)
        sizes = np.log(np.maximum(size, 1e-12))
    # of two groups as large, the one with the larger numbers is in the smaller unit
    centres = np.array([odd_ones(row, 1.2, worse=lambda v: v)[1] for row in logs])
    apart = logs - centres[:, None]
    level = np.abs(apart) < 1.2
    usual = middle(np.where(level, sizes, np.nan), axis=1)
    # a joint that hardly moved stays about where it was: another unit moves its place too
    moved = (sizes - usual[:, None]) * np.sign(apart) > 0.5 * np.abs(apart)
    with np.errstate(invalid="ignore"):
        off = np.where(moved & (np.abs(apart) > np.log(_FELLOWS)), np.sign(apart), 0)
    moving = np.isfinite(apart).sum(axis=0)
    for sign in (1, -1):
        count = (off == sign).sum(axis=0)
        for k in np.flatnonzero((count > 0) & (count >= _TOGETHER * moving)):
            mine = off[:, k] == sign
            # motions differ column by column, a unit does not: their middle names it
            shared = float(np.median(apart[np.sign(apart[:, k]) == sign, k]))
            named = ratio(np.exp([shared]), np.ones(1)).shared
            if named.name in ("", "same unit", "no known factor"):
                continue
            yield int(f.index[among[k]]), _seen(f, columns, mine, apart[:, k], named.name)


def _seen(f: Columns, columns: list[int], mine: np.ndarray, apart: np.ndarray, name: str) -> Seen:
    factor = float(np.exp(np.median(apart[mine])))
    which = (
        ""
        if mine.all()
        else f" in {', '.join(f.columns[columns[i]] for i in np.flatnonzero(mine))}"
    )
    return Seen(
        code="unit_mismatch",
        # a far narrower spread may be an attempt that hardly moved
        severity="error" if factor > 1 else "warning",
        feature=f.key,
        message=f"spreads {factor:.3g} times as wide as in the other episodes{which}: {name}",
        fix="Convert this episode." if factor > 1 else "In another unit, or hardly moved?",
    )
