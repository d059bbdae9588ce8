"""Statistics of features as LeRobot v3.0 keeps them, a row an episode and over all.

All are exact. Quantiles over all frames are taken in memory up to `KEPT` numbers; beyond,
the frames are read twice more from where they were written: quantiles of quantiles, or
of a histogram, are no quantiles.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
NAMES = ("min", "max", "mean", "std", "count", *QUANTILES)
KEPT = 8_000_000
"""Numbers kept in memory for quantiles: 64 MB."""
_BINS = 1 << 14

Stats = dict[str, np.ndarray]


def describe(values: np.ndarray) -> Stats:
    """Statistics of (T, d) values along time, by name, each (d,); `count` is (1,).

    Of no rows all are 0.
    """
    if not len(values):
        nothing = np.zeros(values.shape[1])
        return {n: np.array([0]) if n == "count" else nothing for n in NAMES}
    quantiles = np.quantile(values, list(QUANTILES.values()), axis=0)
    return {
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        "count": np.array([len(values)]),
        **dict(zip(QUANTILES, quantiles, strict=True)),
    }


@dataclass(slots=True)
class Running:
    """Statistics over all rows, fed episode by episode."""

    count: int = 0
    low: np.ndarray = field(default_factory=lambda: np.empty(0))
    high: np.ndarray = field(default_factory=lambda: np.empty(0))
    mean: np.ndarray = field(default_factory=lambda: np.empty(0))
    square: np.ndarray = field(default_factory=lambda: np.empty(0))
    """Sum of squared distances from the mean."""
    kept: list[np.ndarray] = field(default_factory=list[np.ndarray])
    room: int = KEPT

    def add(self, values: np.ndarray, stats: Stats) -> None:
        """Adds (T, d) values and their `describe`.

        Means and squares are merged pairwise (Chan, Golub, LeVeque 1983, eq. 1.3).
        """
        n = len(values)
        if not n and self.count:
            return
        square = ((values - stats["mean"]) ** 2).sum(axis=0)
        if self.count == 0:  # first rows
            self.low, self.high = stats["min"], stats["max"]
            self.mean, self.square = stats["mean"], square
        else:
            self.low = np.minimum(self.low, stats["min"])
            self.high = np.maximum(self.high, stats["max"])
            apart = stats["mean"] - self.mean
            total = self.count + n
            self.square = self.square + square + apart**2 * (self.count * n / total)
            self.mean = self.mean + apart * (n / total)
        self.count += n
        self.room -= values.size
        if self.room >= 0:
            self.kept.append(values)
        else:
            self.kept.clear()

    def result(self, again: Callable[[], Iterable[np.ndarray]]) -> Stats:
        """Statistics over all rows, as `describe` names them.

        again: gives all rows once more, (T, d) at a time; called where they were too many
          to be kept.
        """
        if not self.count:
            return describe(np.zeros((0, len(self.mean))))
        levels = np.array(list(QUANTILES.values()))
        if self.kept:
            found = np.quantile(np.concatenate(self.kept), levels, axis=0)
        else:
            found = quantiles(again, self.low, self.high, self.count, levels)
        return {
            "min": self.low,
            "max": self.high,
            "mean": self.mean,
            "std": np.sqrt(self.square / self.count),
            "count": np.array([self.count]),
            **dict(zip(QUANTILES, found, strict=True)),
        }


def quantiles(
    again: Callable[[], Iterable[np.ndarray]],
    low: np.ndarray,
    high: np.ndarray,
    count: int,
    levels: np.ndarray,
) -> np.ndarray:
    """(q, d) exact quantiles, linearly interpolated as NumPy's, of rows that pass twice.

    The first pass counts into fine bins, the second keeps only the numbers of the bins in
    which the wanted ranks lie.

    again: all rows, (T, d) at a time, the same at each call.
    low, high: (d,) least and greatest number of each column.
    count: rows in all.
    levels: (q,) from 0 to 1.
    """
    width = len(low)
    scale = np.where(high > low, _BINS / np.maximum(high - low, 1e-300), 0.0)

    def bins(rows: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            at = np.nan_to_num((rows - low) * scale)
        return np.clip(at, 0, _BINS - 1).astype(np.int64)

    counts = np.zeros((width, _BINS), np.int64)
    for rows in again():
        at = bins(rows)
        for d in range(width):
            counts[d] += np.bincount(at[:, d], minlength=_BINS)
    place = levels * (count - 1)
    ranks = np.stack([np.floor(place), np.ceil(place)]).astype(np.int64)  # (2, q)
    ends = np.cumsum(counts, axis=1)
    wanted = np.stack([np.searchsorted(e, ranks, side="right") for e in ends])  # (d, 2, q)
    kept: list[dict[int, _Values]] = [
        {int(b): _Values() for b in np.unique(wanted[d])} for d in range(width)
    ]
    for rows in again():
        at = bins(rows)
        for d, mine in enumerate(kept):
            for b, found in mine.items():
                found.add(rows[at[:, d] == b, d])
    exact = np.empty((2, len(levels), width))
    for d, mine in enumerate(kept):
        for side in range(2):
            for q in range(len(levels)):
                b = int(wanted[d, side, q])
                before = int(ends[d, b] - counts[d, b])
                exact[side, q, d] = mine[b].at(int(ranks[side, q]) - before)
    part = (place - ranks[0])[:, None]
    return exact[0] + (exact[1] - exact[0]) * part


class _Values:
    """Numbers of one bin with their counts: a switch has two, however often they come."""

    def __init__(self) -> None:
        self._values, self._counts = np.empty(0), np.empty(0, np.int64)

    def add(self, more: np.ndarray) -> None:
        values, counts = np.unique(more, return_counts=True)
        both = np.concatenate([self._values, values])
        self._values, place = np.unique(both, return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(place, weights=weights).astype(np.int64)

    def at(self, rank: int) -> float:
        """The number of this rank, from 0."""
        return float(self._values[np.searchsorted(np.cumsum(self._counts), rank, side="right")])
