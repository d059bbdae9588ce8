"""Which command drives which reading, and how: as a place, as a step, as a speed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.signals import permutation

FARTHEST = 20
"""Frames a reading may trail its command."""
_EARLIEST = -1
_MOVES = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Follows:
    """How well readings follow one way of reading the commands."""

    shift: int
    """Frames, whole."""
    order: tuple[int, ...]
    """Reading column of each command column."""
    signs: tuple[int, ...]
    slopes: np.ndarray
    """(m,) reading per command, signed."""
    left: np.ndarray
    """(m,) share of each reading's variance that its command leaves over."""
    margin: np.ndarray
    """(m,) natural log of how much worse the next best reading of each command is."""
    weight: np.ndarray
    """(m,) bool, commands that move."""

    @property
    def score(self) -> float:
        """Mean log of what is left over, of the commands that move; 0 for no relation."""
        return float(np.log(self.left[self.weight]).mean()) if self.weight.any() else 0.0


def follows(
    sent: Sequence[np.ndarray], seen: Sequence[np.ndarray], *, apart: bool, mapped: bool = True
) -> Follows:
    """The best whole-frame shift and assignment of commands (T, m) to readings (T, n >= m).

    apart: each episode has its own start, as sums of steps do; else one zero for all.
    mapped: any reading may follow a command; else reading i follows command i.
    """
    # short episodes leave few rows to a long shift, and few rows fit anything
    farthest = min(FARTHEST, int(np.median([len(a) for a in sent])) // 3)
    trials = [
        _at(sent, seen, shift, apart=apart, mapped=mapped)
        for shift in range(_EARLIEST, farthest + 1)
    ]
    return min(trials, key=lambda f: f.score)


def _at(
    sent: Sequence[np.ndarray], seen: Sequence[np.ndarray], shift: int, *, apart: bool, mapped: bool
) -> Follows:
    x, y = stacked(sent, seen, shift, apart=apart)
    px, py = (x * x).sum(axis=0), (y * y).sum(axis=0)
    cross = x.T @ y
    floor = np.sqrt(np.outer(px, py))
    r = np.where(floor > 0, cross / np.where(floor > 0, floor, 1.0), 0.0)
    left = np.clip(1.0 - r * r, 1e-6, 1.0)
    m = x.shape[1]
    moving = px > _MOVES * max(float(px.max(initial=0.0)), 1e-300)
    free = mapped and m == y.shape[1]
    order = np.array(permutation(x, y).order) if free else np.arange(m)
    rows = np.arange(m)
    others = left.copy()
    others[rows, order] = np.inf
    rival = others.min(axis=1) if y.shape[1] > 1 else np.ones(m)
    slopes = np.where(px > 0, cross[rows, order] / np.where(px > 0, px, 1.0), 0.0)
    return Follows(
        shift=shift,
        order=tuple(int(j) for j in order),
        signs=tuple(-1 if s < 0 else 1 for s in slopes),
        slopes=slopes,
        left=left[rows, order],
        margin=np.log(rival / left[rows, order]),
        weight=moving & (py[order] > 0),
    )


def stacked(
    sent: Sequence[np.ndarray], seen: Sequence[np.ndarray], shift: int, *, apart: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(N, m) and (N, n) rows of all episodes, reading `shift` frames on, about their means."""
    xs, ys = [], []
    for a, b in zip(sent, seen, strict=True):
        k = min(abs(shift), len(a) - 2)
        x, y = (a[: len(a) - k], b[k:]) if shift >= 0 else (a[k:], b[: len(b) - k])
        if apart:
            x, y = x - x.mean(axis=0), y - y.mean(axis=0)
        xs.append(x)
        ys.append(y)
    x, y = np.concatenate(xs), np.concatenate(ys)
    return x - x.mean(axis=0), y - y.mean(axis=0)


def together(x: np.ndarray, y: np.ndarray) -> float:
    """Correlation of two series (T,); 0 where one of them stands still."""
    if len(x) < 2:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    power = float(np.sqrt(float(x @ x) * float(y @ y)))
    return float(x @ y) / power if power > 0 else 0.0


def coarse(rows: Sequence[np.ndarray], stride: int) -> list[np.ndarray]:
    """Means of `stride` rows; commands and readings lose the same half of them."""
    if stride == 1:
        return list(rows)
    return [
        a[: len(a) // stride * stride].reshape(-1, stride, a.shape[1]).mean(axis=1) for a in rows
    ]


def summed(sent: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Where steps lead: running sums of each episode."""
    return [np.cumsum(a, axis=0) for a in sent]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """How commands know the readings of their own frame."""

    order: tuple[int, ...]
    signs: tuple[int, ...]
    correlation: float
    """Median over commands, near -1 where they were told as target - reading."""
    scale: float
    """Reading per command."""
    margin: np.ndarray
    """(m,) how much nearer to -1 than with the next best reading."""


def corrected(sent: Sequence[np.ndarray], seen: Sequence[np.ndarray], *, mapped: bool) -> Corrected:
    """Whether the quickest changes of commands are those of readings, turned over.

    A command told as `(target - reading) / scale` carries that reading's noise with the sign
    turned. Noise is each reading's own, so it also says which reading a command was told from.
    """
    x = np.concatenate([np.diff(a, n=2, axis=0) for a in sent])
    y = np.concatenate([np.diff(b, n=2, axis=0) for b in seen])
    sx, sy = x.std(axis=0), y.std(axis=0)
    power = np.outer(sx, sy)
    r = (x - x.mean(axis=0)).T @ (y - y.mean(axis=0)) / len(x)
    r = np.where(power > 0, r / np.where(power > 0, power, 1.0), 0.0)
    m = len(r)
    free = mapped and m == r.shape[1]
    order = np.array(permutation(x, y).order) if free else np.arange(m)
    rows = np.arange(m)
    own = r[rows, order]
    others = np.abs(r)
    others[rows, order] = 0.0
    moving = (sx > 0) & (sy[order] > 0)
    signs = np.where(own > 0.3, -1, 1) if mapped else np.ones(m, int)
    strength = -own * signs
    return Corrected(
        order=tuple(int(j) for j in order),
        signs=tuple(int(k) for k in signs),
        correlation=-float(np.median(strength[moving])) if moving.any() else 0.0,
        scale=float(np.median(sy[order][moving] / sx[moving])) if moving.any() else 1.0,
        margin=np.abs(own) - others.max(axis=1),
    )
