"""The frames of a dataset as columns of many episodes at once, for whoever looks at all of them.

No object is made an episode, and nothing is taken on trust: the files are read as they
lie in data/, episodes are told apart by the rows themselves, and damage is a Loss beside
which reading goes on. Memory is that of two blocks and of one episode.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core.errors import InputError
from gaploop.core.loss import Loss
from gaploop.store.arrow import pa, pq
from gaploop.store.datasets_frames import numbers
from gaploop.store.datasets_layout import DatasetInfo, FeatureInfo, reading

_ROWS = 32768
_LONGEST = 1 << 24
"""Rows of one episode above which its file is taken for broken."""
_COUNTERS = ("timestamp", "frame_index", "episode_index", "index", "task_index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Whole episodes, in the order in which they are stored."""

    bounds: np.ndarray
    """(E + 1,) first row of each episode, and the end."""
    columns: dict[str, np.ndarray]
    """Feature key to (R, d) as stored; a feature that a file lacks is not there."""
    counters: dict[str, np.ndarray]
    """timestamp, frame_index, episode_index, index, task_index: (R,) each, as stored."""
    files: tuple[str, ...]
    """(E,) path of the file each episode lies in, from the dataset's folder."""


def blocks(info: DatasetInfo, rows: int = _ROWS) -> Iterator[Block | Loss]:
    """All frames, in blocks of about `rows` rows, and one Loss for each damaged file."""
    files = data_files(info.path)
    gathered = _Gathered([p.relative_to(info.path).as_posix() for p in files], rows)
    for number, path in enumerate(files):
        kept = 0
        try:
            for part in _parts(path, info.features, rows):
                length = len(part["episode_index"])
                kept += length
                yield from gathered.add({**part, _FILE: np.full(length, number)})
        except InputError as error:
            yield _loss(path, kept, error)
    yield from gathered.rest()


def data_files(root: Path) -> list[Path]:
    """The Parquet files of data/, in order; none of another folder a link leads to."""
    inside = root.resolve()
    found = sorted((root / "data").glob("*/*.parquet"))
    return [p for p in found if p.resolve().is_relative_to(inside)]


# -- inside -------------------------------------------------------------------

_Part = dict[str, np.ndarray]
_FILE = "file"
"""Beside the counters: which of the files a row lies in."""


class _Gathered:
    """Rows that wait for the end of their episode, or for a block to be full."""

    def __init__(self, names: list[str], rows: int) -> None:
        self._names, self._rows = names, rows
        self._parts: list[_Part] = []
        self._size = 0

    def add(self, part: _Part) -> Iterator[Block]:
        """Takes in some rows; gives what is whole as soon as it is much."""
        if self._parts and _form(self._parts[-1]) != _form(part):
            yield from self.rest()
        self._parts.append(part)
        self._size += len(part[_FILE])
        if self._size >= self._rows:
            yield from self._whole()

    def rest(self) -> Iterator[Block]:
        """Everything that is left."""
        if self._size:
            yield self._block(self._joined())
        self._parts, self._size = [], 0

    def _whole(self) -> Iterator[Block]:
        joined = self._joined()
        last = int(_starts(joined)[-1])
        self._parts = [joined]
        if last:
            yield self._block({k: v[:last] for k, v in joined.items()})
            rest = {k: v[last:].copy() for k, v in joined.items()}  # let go of what was given
            self._parts, self._size = [rest], len(rest[_FILE])
        elif self._size > _LONGEST:
            name = self._names[int(joined[_FILE][-1])]
            raise InputError(f"{name} holds an episode of more than {_LONGEST} rows.")

    def _joined(self) -> _Part:
        parts = self._parts
        return (
            parts[0] if len(parts) == 1
            else {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
        )  # fmt: skip

    def _block(self, part: _Part) -> Block:
        starts = _starts(part)
        return Block(
            bounds=np.append(starts, len(part[_FILE])),
            columns={k: v for k, v in part.items() if k not in (*_COUNTERS, _FILE)},
            counters={k: part[k] for k in _COUNTERS},
            files=tuple(self._names[int(i)] for i in part[_FILE][starts]),
        )


def _form(part: _Part) -> tuple[object, ...]:
    return tuple((k, v.dtype, v.shape[1:]) for k, v in part.items())


def _starts(part: _Part) -> np.ndarray:
    """First rows of episodes: where the number changes."""
    return np.concatenate([[0], np.flatnonzero(np.diff(part["episode_index"])) + 1])


def _parts(path: Path, features: dict[str, FeatureInfo], rows: int) -> Iterator[_Part]:
    """The rows of one file, some at a time.

    Raises:
      InputError: at the first damaged place.
    """
    with reading(path):
        file: Any = pq.ParquetFile(path, page_checksum_verification=True)
        there = set(file.schema_arrow.names)
        lacking = [c for c in ("episode_index", "frame_index", "timestamp") if c not in there]
        if lacking:
            raise ValueError(f"it has no column {lacking[0]!r}")
        wanted = [n for n in (*features, *_COUNTERS) if n in there]
        width = sum(f.width for f in features.values()) + len(_COUNTERS)
        # wide rows come in smaller pieces; a piece is what is decoded at once
        size = max(1, min(rows, (1 << 26) // (8 * width)))
        batches = file.iter_batches(batch_size=size, columns=wanted, use_threads=False)
    while True:
        with reading(path):
            batch = next(batches, None)
            if batch is None:
                return
            table = pa.Table.from_batches([batch])
            part = {
                k: numbers(table, k, len(table), f.width)
                for k, f in features.items() if k in there
            }  # fmt: skip
            for name in _COUNTERS:
                known = name in there
                part[name] = (
                    numbers(table, name, len(table), 1)[:, 0]
                    if known
                    else np.zeros(len(table), np.int64)
                )
        if len(table):
            yield part


def _loss(path: Path, kept: int, error: InputError) -> Loss:
    return Loss(
        source=str(path),
        kept=kept,
        lost=None,
        unit="rows",
        lost_bytes=0 if kept else path.stat().st_size,
        reason=str(error).split("\n")[0].removeprefix(f"{path} ").rstrip("."),
    )
