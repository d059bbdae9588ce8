"""One pass over all batches: a few figures an episode and column, for every check to read.

What follows is decided on these figures alone, so a set of any length needs memory for
its summary and for one batch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gaploop.ingest.checks.batch import Batch, Said, Stream, label, reduce
from gaploop.ingest.config import ScreenConfig

_LONE = 8.0
"""Times its episode's mean from which a value is looked at more closely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """Values of one column of one episode that are not finite."""

    episode: int
    label: str
    code: str
    """nan or inf."""
    count: int
    row: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """One feature over the episodes that have it under the same column names."""

    key: str
    unit: str
    columns: tuple[str, ...]
    index: np.ndarray
    """(E,) which episodes."""
    length: np.ndarray
    """(E,) frames."""
    low: np.ndarray
    """(d, E), as all below."""
    high: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    start: np.ndarray
    """First reading."""
    step: np.ndarray
    """Root mean square change a frame."""
    jump: np.ndarray
    """Largest change from one frame to the next."""
    kink: np.ndarray
    """Farthest a reading lies from the middle of its neighbours: half a leap, or a spike."""
    kink_row: np.ndarray
    """Its row."""
    bend: np.ndarray
    """Distance from that middle that 90 % of the frames stay under; only where `kink` stands
    out among its episode's, else `kink`."""
    still: np.ndarray
    """Share of frames that repeat the one before."""

    @property
    def labels(self) -> tuple[str, ...]:
        return label(self.key, self.columns)

    @property
    def span(self) -> np.ndarray:
        """(d,) typical travel of a column within an episode: median over episodes."""
        return np.median(self.high - self.low, axis=1)


@dataclass(slots=True)
class Summary:
    """Everything the checks decide on."""

    said: list[Said] = field(default_factory=list[Said])
    """By episode index."""
    bad: list[Bad] = field(default_factory=list[Bad])
    frames: list[int] = field(default_factory=list[int])
    """Rows of each episode's longest signal."""
    _parts: dict[tuple[str, str, tuple[str, ...]], list[dict[str, np.ndarray]]] = field(
        default_factory=dict
    )

    def add(self, batch: Batch) -> None:
        """Takes in one batch."""
        self.said += batch.said
        lengths = [s.lengths for s in batch.streams.values()]
        longest = np.max(lengths, axis=0) if lengths else np.zeros(batch.episodes, int)
        self.frames += longest.tolist()
        for stream in batch.streams.values():
            self._finite(batch, stream)
            parts = self._parts.setdefault((stream.key, stream.unit, stream.columns), [])
            parts.append(_figures(batch.first, stream))

    @property
    def features(self) -> list[Columns]:
        """By key, then by first appearance."""
        found = [
            Columns(
                key=key, unit=unit, columns=columns,
                **{n: np.concatenate([p[n] for p in parts], axis=-1) for n in parts[0]},
            )
            for (key, unit, columns), parts in self._parts.items()
        ]  # fmt: skip
        return sorted(found, key=lambda c: c.key)

    def _finite(self, batch: Batch, stream: Stream) -> None:
        if stream.good is None:
            return
        for d, e in zip(*np.nonzero(reduce(np.add, ~stream.good, stream.bounds)), strict=True):
            rows = stream.rows(int(e))
            values = stream.raw[d, rows]
            for code, test in (("nan", np.isnan), ("inf", np.isinf)):
                at = np.flatnonzero(test(values))
                if len(at):
                    self.bad.append(
                        Bad(
                            episode=batch.first + int(e), label=stream.labels[d], code=code,
                            count=len(at), row=int(at[0]),
                            seconds=float(stream.times[rows][at[0]]),
                        )
                    )  # fmt: skip


def summarise(batches: Iterable[Batch], watchers: Sequence["Watcher"] = ()) -> Summary:
    """Reads all batches once; `watchers` see each as it passes."""
    summary = Summary()
    for batch in batches:
        summary.add(batch)
        for watcher in watchers:
            watcher.see(batch)
    return summary


class Watcher:
    """A check that needs the frames themselves."""

    def __init__(self, config: ScreenConfig) -> None:
        self.config = config

    def see(self, batch: Batch) -> None:
        """Called once a batch, in order."""
        raise NotImplementedError


def _figures(first: int, stream: Stream) -> dict[str, np.ndarray]:
    """The arrays of `Columns`; single precision, since they are compared and not added up."""
    full = np.flatnonzero(stream.lengths > 0)
    bounds = stream.bounds
    size = np.abs(stream.steps)
    jump = reduce(np.maximum, size, bounds)
    bends = _bends(stream)
    kink = reduce(np.maximum, bends, bounds)
    power = reduce(np.add, np.square(stream.steps), bounds)
    still = reduce(np.add, size == 0, bounds) - 1  # the first row has no change by definition
    moves = np.maximum(stream.lengths - 1, 1)
    figures = {
        "low": stream.low, "high": stream.high, "mean": stream.mean, "sd": stream.sd,
        "start": stream.x[:, np.minimum(bounds[:-1], max(stream.x.shape[1] - 1, 0))]
        if stream.x.shape[1] else np.zeros_like(jump),
        "step": np.sqrt(power / moves), "jump": jump, "kink": kink, "still": still / moves,
    }  # fmt: skip
    kept = {n: v[:, full].astype(np.float32) for n, v in figures.items()}
    rows, bend = _rows(bends, kink, bounds)
    return {
        **kept,
        "index": first + full,
        "length": stream.lengths[full],
        "kink_row": rows[:, full],
        "bend": bend[:, full].astype(np.float32),
    }


def _bends(stream: Stream) -> np.ndarray:
    """(d, R) distance of each reading from the middle of its two neighbours; 0 at the ends."""
    bends = np.zeros_like(stream.steps)
    if bends.shape[1] > 2:
        np.subtract(stream.steps[:, 1:-1], stream.steps[:, 2:], out=bends[:, 1:-1])
        np.abs(bends, out=bends)
        bends *= 0.5
    full = stream.lengths > 0
    bends[:, stream.bounds[:-1][full]] = 0
    bends[:, stream.bounds[1:][full] - 1] = 0
    return bends


def _rows(
    size: np.ndarray, largest: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(d, E) row of the largest value, and the one that is seldom exceeded.

    Looked up only where the largest stands out among the episode's own frames: what else
    lies in the batch must not matter.
    """
    typical = reduce(np.add, size, bounds) / np.maximum(np.diff(bounds), 1)
    rows = np.zeros(largest.shape, dtype=np.int32)
    seldom = largest.copy()
    for d, e in zip(*np.nonzero(largest > _LONE * typical), strict=True):
        inside = size[d, bounds[e] : bounds[e + 1]]
        rows[d, e] = int(np.argmax(inside))
        rank = (9 * (len(inside) - 1)) // 10
        seldom[d, e] = np.partition(inside, rank)[rank]
    return rows, seldom
