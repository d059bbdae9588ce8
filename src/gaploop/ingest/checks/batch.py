"""Some episodes side by side as columns: what every check looks at, once.

A dataset is read a few thousand rows at a time, and each check works on all episodes of
such a batch at once; no Python object an episode is made of its frames.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gaploop.core import Contract, Episode, Label

_ROWS = 32768
"""Rows a batch: some megabytes, so that a pass over a column stays in the cache."""


class Stream:
    """One feature over the episodes of a batch."""

    def __init__(
        self,
        key: str,
        values: np.ndarray,
        times: np.ndarray,
        bounds: np.ndarray,
        *,
        unit: str = "raw",
        columns: tuple[str, ...] = (),
    ) -> None:
        """key: feature. values: (R, d), as stored. times: (R,) s from each episode's start.
        bounds: (E + 1,) first row of each episode, and the end."""
        self.key, self.unit = key, unit
        self.values, self.times, self.bounds = values, times, bounds
        d = values.shape[1]
        self.columns = columns if len(columns) == d else tuple(str(i) for i in range(d))

    @property
    def width(self) -> int:
        return self.values.shape[1]

    @property
    def lengths(self) -> np.ndarray:
        """(E,) frames."""
        return np.diff(self.bounds)

    @property
    def labels(self) -> tuple[str, ...]:
        """One a column: `key[name]`, or `key` for a lone one."""
        return label(self.key, self.columns)

    @cached_property
    def raw(self) -> np.ndarray:
        """(d, R) floats, a column in one piece; what is not finite is still there."""
        wide = self.values.T
        kind = np.float32 if self.values.dtype == np.float32 else np.float64
        return np.ascontiguousarray(wide, dtype=kind)

    @cached_property
    def good(self) -> np.ndarray | None:
        """(d, R) whether a value is finite; None where all are."""
        finite = np.isfinite(self.raw)
        return None if finite.all() else finite

    @cached_property
    def x(self) -> np.ndarray:
        """(d, R) floats with what is not finite replaced by the reading before it."""
        return self.raw if self.good is None else _held(self.raw, self.good)

    @cached_property
    def steps(self) -> np.ndarray:
        """(d, R) change since the row before; 0 in an episode's first row."""
        change = np.zeros_like(self.x)
        np.subtract(self.x[:, 1:], self.x[:, :-1], out=change[:, 1:])
        change[:, self.bounds[:-1][self.lengths > 0]] = 0
        return change

    @cached_property
    def low(self) -> np.ndarray:
        return reduce(np.minimum, self.x, self.bounds)

    @cached_property
    def high(self) -> np.ndarray:
        return reduce(np.maximum, self.x, self.bounds)

    @cached_property
    def mean(self) -> np.ndarray:
        return reduce(np.add, self.x, self.bounds) / np.maximum(self.lengths, 1)

    @cached_property
    def centred(self) -> np.ndarray:
        """(d, R) without each episode's mean."""
        return self.x - np.repeat(self.mean.astype(self.x.dtype), self.lengths, axis=1)

    @cached_property
    def sd(self) -> np.ndarray:
        """(d, E) spread within an episode."""
        square = reduce(np.add, np.square(self.centred), self.bounds)
        return np.sqrt(square / np.maximum(self.lengths, 1))

    def rows(self, episode: int) -> slice:
        """The rows of episode `episode` of this batch."""
        return slice(int(self.bounds[episode]), int(self.bounds[episode + 1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is said about one episode beside its signals."""

    robot: str = ""
    source: str = ""
    """File and row, for messages."""
    text: str = ""
    """Task or instruction."""
    rate: float | None = None
    """Declared rows a second, None where nobody declares it."""
    control_rate: float | None = None
    mode: str = ""
    """Declared action mode."""
    origin: str = "rollout"
    split: str = ""
    outcomes: tuple[tuple[str, bool], ...] = ()
    """(who judged, success) of every judgement."""
    judged: bool = False
    """Whether anybody stated an outcome, be it that there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Whole episodes, in order."""

    first: int
    """Index of the first one among all that are checked."""
    streams: Mapping[str, Stream]
    """By feature key; all have the same number of episodes, empty where one lacks it."""
    said: Sequence[Said]
    contracts: Sequence[Contract] = ()
    """One an episode."""
    counters: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Row counters as stored, (R,) each, where the format has them."""

    @property
    def episodes(self) -> int:
        return len(self.said)


def label(key: str, columns: Sequence[str]) -> tuple[str, ...]:
    """`key[name]` a column, or `key` for a lone one."""
    return (key,) if len(columns) == 1 else tuple(f"{key}[{n}]" for n in columns)


def reduce(function: np.ufunc, x: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """(..., R) to (..., E): a ufunc over each episode's rows; 0 where there are none."""
    full = np.diff(bounds) > 0
    out = np.zeros((*x.shape[:-1], len(full)), dtype=np.float64)
    if full.any():
        starts = bounds[:-1][full]
        kind = np.float64 if function is np.add else None  # float32 sums lose digits
        out[..., full] = function.reduceat(x, starts, axis=-1, dtype=kind)
    return out


def batches(episodes: Iterable[Episode], rows: int = _ROWS) -> Iterator[Batch]:
    """Episodes of any reader as batches of about `rows` rows.

    Episodes that do not have the same features with the same columns stand in batches
    of their own.
    """
    gathered: list[Episode] = []
    first = size = 0
    for number, episode in enumerate(episodes):
        if gathered and (size >= rows or _shape(episode) != _shape(gathered[0])):
            yield _batch(first, gathered)
            gathered, first, size = [], number, 0
        gathered.append(episode)
        size += max((len(s.times) for s in episode.signals.values()), default=0)
    if gathered:
        yield _batch(first, gathered)


def said_of(episode: Episode) -> Said:
    """What an episode says of itself."""
    contract = episode.contract
    return Said(
        robot=episode.robot,
        source=episode.source,
        text=episode.instruction or episode.task,
        rate=_number(contract.log_rate),
        control_rate=_number(contract.control_rate),
        mode=str(contract.action_mode.value or ""),
        origin=episode.origin,
        split=str(episode.fact("split") or ""),
        **outcomes_of(episode.facts),
    )


def outcomes_of(facts: Iterable[Label]) -> dict[str, Any]:
    """The fields `outcomes` and `judged` of `Said`."""
    found = [f for f in facts if f.key == "outcome"]
    told = [(f.author, f.value.get("success")) for f in found]
    return {
        "outcomes": tuple((who, bool(s)) for who, s in told if s is not None),
        "judged": bool(found),
    }


# -- inside -------------------------------------------------------------------


def _number(stated) -> float | None:
    fine = stated.source == "declared" and stated.value
    return float(stated.value) if fine else None


def _shape(episode: Episode) -> tuple[object, ...]:
    return tuple(
        (k, s.unit, s.columns, s.values.shape[1:], s.values.dtype)
        for k, s in sorted(episode.signals.items())
    )


def _batch(first: int, episodes: Sequence[Episode]) -> Batch:
    streams: dict[str, Stream] = {}
    shared: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    for key in sorted(episodes[0].signals):
        parts = [e.signals[key] for e in episodes]
        times = np.concatenate([np.asarray(s.times, float) for s in parts])
        bounds = np.concatenate([[0], np.cumsum([len(s.times) for s in parts])])
        # signals of one table share their stamps: the same arrays say so
        times, bounds = shared.setdefault(times.tobytes() + bounds.tobytes(), (times, bounds))
        values = np.concatenate([np.asarray(s.values).reshape(len(s.times), -1) for s in parts])
        streams[key] = Stream(
            key, values, times, bounds, unit=parts[0].unit, columns=parts[0].columns
        )
    said = tuple(said_of(e) for e in episodes)
    contracts = tuple(e.contract for e in episodes)
    return Batch(first=first, streams=streams, said=said, contracts=contracts)


def _held(x: np.ndarray, good: np.ndarray) -> np.ndarray:
    at = np.where(good, np.arange(x.shape[1]), 0)
    np.maximum.accumulate(at, axis=1, out=at)
    filled = np.take_along_axis(x, at, axis=1)
    return np.nan_to_num(filled, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
