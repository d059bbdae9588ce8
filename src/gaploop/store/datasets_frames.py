"""Rows of the data files, decoded and checked before anything large is allocated."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core.errors import InputError
from gaploop.store import datasets_layout as layout
from gaploop.store.arrow import pa, pq
from gaploop.store.datasets_layout import DatasetInfo, reading

_MAX_GROUP = 2 << 30
_MAX_ROWS_A_BYTE = 64
"""A frame counter takes at least a bit a row: a file that claims more rows is broken."""


@dataclass(frozen=True, slots=True)
class Where:
    """A stretch of rows in a file, for messages."""

    path: Path
    first: int

    def error(self, row: int, what: str) -> InputError:
        return InputError(f"{self.path}, row {self.first + row}: {what}.")


class DataFile:
    """One Parquet file of frames; the row group read last stays in memory."""

    def __init__(self, path: Path, info: DatasetInfo, expected: int) -> None:
        self.path, self.info = path, info
        if not path.is_file():
            raise InputError(f"{path} is missing.", hint="Copy the dataset again.")
        with reading(path):
            self._file: Any = pq.ParquetFile(path, page_checksum_verification=True)
            meta = self._file.metadata
            sizes = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
            if min(sizes, default=0) < 0 or sum(sizes) != expected or meta.num_rows != expected:
                raise ValueError(f"it has {meta.num_rows} rows, and {expected} were expected")
            if expected > _MAX_ROWS_A_BYTE * path.stat().st_size:
                raise ValueError(f"{expected} rows cannot lie in {path.stat().st_size} bytes")
            width = sum(f.width for f in info.features.values()) + len(layout.COUNTERS)
            if max(sizes, default=0) * width * 8 > _MAX_GROUP:
                raise ValueError("a row group is larger than 2 GiB")
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._group: tuple[int, dict[str, np.ndarray]] | None = None

    def rows(self, start: int, stop: int) -> dict[str, np.ndarray]:
        """Columns of rows [start, stop): signals as (T, d), counters as (T,)."""
        low = int(np.searchsorted(self._starts, start, side="right")) - 1
        high = int(np.searchsorted(self._starts, stop, side="left"))
        parts: list[dict[str, np.ndarray]] = []
        for group in range(low, high):
            base = int(self._starts[group])
            columns = self._read(group)
            cut = slice(max(start - base, 0), max(stop - base, 0))
            parts.append({k: v[cut] for k, v in columns.items()})
        joined = {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
        if len(joined["timestamp"]) != stop - start:
            raise InputError(f"{self.path} has no rows {start} to {stop}.")
        return joined

    def _read(self, group: int) -> dict[str, np.ndarray]:
        if self._group is None or self._group[0] != group:
            with reading(self.path):
                self._group = (group, self._decode(group))
        return self._group[1]

    def _decode(self, group: int) -> dict[str, np.ndarray]:
        counters = ("timestamp", "frame_index", "episode_index", "task_index")
        names = [*self.info.features, *counters]
        table = self._file.read_row_group(group, columns=names, use_threads=False)
        rows = int(self._starts[group + 1] - self._starts[group])
        found = {k: numbers(table, k, rows, f.width) for k, f in self.info.features.items()}
        return {**found, **{k: numbers(table, k, rows, 1)[:, 0] for k in counters}}


def numbers(table: Any, name: str, rows: int, width: int) -> np.ndarray:
    """A column as (rows, width) numbers; lists may be nested, of fixed size or not."""
    if table.column_names.count(name) != 1:
        raise ValueError(f"column {name!r} is missing or there twice")
    column = table.column(name)
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if len(array) != rows:
        raise ValueError(f"column {name!r} has {len(array)} rows, and {rows} were expected")
    found = 1
    while pa.types.is_nested(array.type):
        if array.null_count:
            raise ValueError(f"column {name!r}, row {_first_null(array) // found}: no value")
        if not hasattr(array, "flatten") or pa.types.is_struct(array.type):
            raise ValueError(f"column {name!r} is {array.type}, and numbers were expected")
        inner = array.flatten()
        each = len(inner) // max(len(array), 1)
        lengths = np.asarray(array.value_lengths())
        if (lengths != each).any():
            raise ValueError(f"column {name!r} has rows of different lengths")
        found, array = found * each, inner
    if array.null_count:
        raise ValueError(f"column {name!r}, row {_first_null(array) // max(found, 1)}: no value")
    if found != width:
        raise ValueError(f"column {name!r} has {found} numbers a row, and {width} were declared")
    values = np.asarray(array.to_numpy(zero_copy_only=False))
    if values.dtype.kind not in "fiub":
        raise ValueError(f"column {name!r} is {array.type}, and numbers were expected")
    return values.reshape(rows, width)


def _first_null(array: Any) -> int:
    return int(np.argmax(np.asarray(array.is_null().to_numpy(zero_copy_only=False))))


def check_counters(rows: dict[str, np.ndarray], index: int, where: Where) -> None:
    length = len(rows["timestamp"])
    for name, expected in (
        ("episode_index", np.full(length, index)),
        ("frame_index", np.arange(length)),
    ):
        wrong = np.flatnonzero(rows[name] != expected)
        if len(wrong):
            at = int(wrong[0])
            raise where.error(at, f"{name} is {rows[name][at]}, and {expected[at]} was expected")


def stamps(stored: np.ndarray, fps: float, where: Where) -> np.ndarray:
    """Seconds; frame_index / fps where the stored single-precision stamps say just that."""
    grid = np.arange(len(stored)) / fps
    if np.array_equal(stored.astype(np.float32), grid.astype(np.float32)):
        return grid
    bad = np.flatnonzero(~np.isfinite(stored))
    if len(bad):
        raise where.error(int(bad[0]), "timestamp is not a finite number")
    return stored.astype(np.float64)
