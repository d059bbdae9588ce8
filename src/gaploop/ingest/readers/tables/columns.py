"""A table as named arrays of numbers, (T,) or (T, d) each."""

import csv
import gzip
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core import InputError, Loss

SUFFIXES = (".csv", ".csv.gz", ".npz", ".jsonl", ".ndjson")
_LARGEST = 4 << 30

Columns = dict[str, np.ndarray]


def is_table(path: Path) -> bool:
    """Whether the name is that of a table."""
    return path.name.lower().endswith(SUFFIXES)


def names(path: Path) -> list[str]:
    """What the columns or arrays are called; nothing is read but that."""
    if path.name.endswith(".npz"):
        with zipfile.ZipFile(path) as archive:
            return [n.removesuffix(".npy") for n in archive.namelist()]
    with _opened(path) as stream:
        line = stream.readline(1 << 20)
    if path.name.endswith((".jsonl", ".ndjson")):
        first = json.loads(line or "{}")
        return list(_flat(first)) if isinstance(first, dict) else []
    return [c.strip() for c in next(csv.reader([line]), [])]


def read(path: Path, wanted: Sequence[str]) -> tuple[Columns, list[Loss]]:
    """The wanted columns, and a Loss for rows that are damaged.

    Raises:
      InputError: when the file cannot be read at all, or lacks a column.
    """
    try:
        if path.name.endswith(".npz"):
            return _npz(path, wanted), []
        if path.name.endswith((".jsonl", ".ndjson")):
            return _lines(path, wanted)
        return _csv(path, wanted)
    except (
        OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, csv.Error, MemoryError,
        NotImplementedError,
    ) as error:  # fmt: skip
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"{path} cannot be read: {reason.rstrip('.')}.",
            hint="Is it whole, and does the mapping name its columns?",
        ) from None


# -- inside -------------------------------------------------------------------


def _opened(path: Path) -> Any:
    opener: Any = gzip.open if path.name.endswith(".gz") else open
    return opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="")


def _csv(path: Path, wanted: Sequence[str]) -> tuple[Columns, list[Loss]]:
    with _opened(path) as stream:
        rows = csv.reader(stream)
        header = [c.strip() for c in next(rows, [])]
        places = [_place(header, name) for name in wanted]
        good: list[list[str]] = []
        bad: list[int] = []
        try:
            for row in rows:
                if len(row) == len(header):
                    good.append([row[p] for p in places])
                elif row:
                    bad.append(rows.line_num)
        except (EOFError, OSError) as error:  # a cut gzip
            return _numbers(path, wanted, good), [
                _loss(path, len(good), None, f"it is cut ({str(error).rstrip('.')})")
            ]
    table = _numbers(path, wanted, good)
    if not bad:
        return table, []
    where = f"line {bad[0]} has another number of cells than the header"
    return table, [_loss(path, len(good), len(bad), where)]


def _place(header: Sequence[str], name: str) -> int:
    if name not in header:
        raise ValueError(f"there is no column {name!r} among {', '.join(header)[:120]}")
    return header.index(name)


def _numbers(path: Path, wanted: Sequence[str], rows: list[list[str]]) -> Columns:
    try:
        table = np.array(rows, dtype=np.float64).reshape(len(rows), len(wanted))
    except ValueError:  # an empty cell, or a text
        cells = [[_number(path, c, r, wanted[i]) for i, c in enumerate(row)]
                 for r, row in enumerate(rows)]  # fmt: skip
        table = np.array(cells, dtype=np.float64).reshape(len(rows), len(wanted))
    return {name: table[:, i] for i, name in enumerate(wanted)}


_WORDS = {"": np.nan, "true": 1.0, "false": 0.0}


def _number(path: Path, cell: str, row: int, name: str) -> float:
    text = cell.strip().lower()
    if text in _WORDS:
        return _WORDS[text]
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"row {row}, column {name!r}: {cell[:40]!r} is no number") from None


def _npz(path: Path, wanted: Sequence[str]) -> Columns:
    found: Columns = {}
    with zipfile.ZipFile(path) as archive:
        for name in wanted:
            member = f"{name}.npy"
            if member not in archive.namelist():
                raise ValueError(f"there is no array {name!r}")
            size = archive.getinfo(member).file_size
            if size > _LARGEST:
                raise ValueError(f"array {name!r} claims {size} bytes")
            with archive.open(member) as stream:
                _believable(stream, name, size)
            with archive.open(member) as stream:
                found[name] = np.lib.format.read_array(stream, allow_pickle=False)
            if found[name].dtype.kind not in "fiub":
                raise ValueError(f"array {name!r} holds no numbers")
    return found


def _believable(stream: Any, name: str, size: int) -> None:
    """An array's header must not claim more than its bytes: it decides what is allocated."""
    version = np.lib.format.read_magic(stream)
    header: Any = (
        np.lib.format.read_array_header_1_0 if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )  # fmt: skip
    shape, _, dtype = header(stream)
    if dtype.hasobject or int(np.prod(shape, dtype=object)) * dtype.itemsize > size:
        raise ValueError(f"array {name!r} claims more than it holds")


def _lines(path: Path, wanted: Sequence[str]) -> tuple[Columns, list[Loss]]:
    rows: list[Mapping[str, Any]] = []
    bad: list[int] = []
    with _opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                flat = _flat(json.loads(line))
                rows.append({name: flat[name] for name in wanted})
            except (ValueError, KeyError, AttributeError, RecursionError):
                bad.append(number)
    if not rows:
        raise ValueError(f"no line has {', '.join(wanted)[:120]}")
    found = {}
    for name in wanted:
        cells = [np.nan if row[name] is None else row[name] for row in rows]
        try:
            found[name] = np.array(cells, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name!r} is not the same count of numbers in all lines") from None
    losses = [_loss(path, len(rows), len(bad), f"line {bad[0]} is damaged")] if bad else []
    return found, losses


def _flat(node: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Nested objects as dotted names."""
    found: dict[str, Any] = {}
    for key, value in node.items():
        here = f"{path}.{key}".lstrip(".")
        found.update(_flat(value, here) if isinstance(value, dict) else {here: value})
    return found


def _loss(path: Path, kept: int, lost: int | None, reason: str) -> Loss:
    return Loss(source=str(path), kept=kept, lost=lost, unit="rows", reason=reason)
