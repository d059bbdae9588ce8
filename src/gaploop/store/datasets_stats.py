"""Statistics of features as LeRobot v3.0 keeps them, a row an episode and over all.

Minimum, maximum, mean and standard deviation over all frames are exact. Quantiles
over all frames are exact up to `KEPT` numbers; beyond, they are the mean of the
episodes' quantiles weighted by length, which is LeRobot's own approximation.
"""

from dataclasses import dataclass, field

import numpy as np

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
NAMES = ("min", "max", "mean", "std", "count", *QUANTILES)
KEPT = 8_000_000
"""Numbers kept in memory for exact quantiles: 64 MB."""

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
    weighted: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Quantile name to the sum of episode quantile times episode length."""
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
        for name in QUANTILES:
            self.weighted[name] = self.weighted.get(name, 0.0) + stats[name] * n
        self.room -= values.size
        if self.room >= 0:
            self.kept.append(values)
        else:
            self.kept.clear()

    def result(self) -> Stats:
        """Statistics over all rows, as `describe` names them."""
        stats = {
            "min": self.low,
            "max": self.high,
            "mean": self.mean,
            "std": np.sqrt(self.square / max(self.count, 1)),
            "count": np.array([self.count]),
        }
        if self.kept and self.count:
            every = np.concatenate(self.kept)
            exact = np.quantile(every, list(QUANTILES.values()), axis=0)
            return {**stats, **dict(zip(QUANTILES, exact, strict=True))}
        return {
            **stats,
            **{name: total / max(self.count, 1) for name, total in self.weighted.items()},
        }
