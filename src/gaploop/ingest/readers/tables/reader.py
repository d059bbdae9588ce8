"""Episodes of tables."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core import (
    Contract,
    Episode,
    Feature,
    InputError,
    Label,
    Loss,
    Signal,
    Stated,
    declared,
)
from gaploop.ingest.readers.tables.columns import Columns, is_table, names, read
from gaploop.ingest.readers.tables.mapping import FOLDER, Mapping, SignalMap, beside, known, load
from gaploop.ingest.readers.whole import whole

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_STATED = {f for f in Contract.__dataclass_fields__ if f != "features"}


class TableReader:
    """Reads a CSV, NPZ or JSON-lines file that a mapping describes, or a folder of them."""

    name = "table"

    def sniff(self, path: Path) -> bool:
        """Whether `path` is such a table, or a folder that holds one."""
        return any(_described(file) for file in _files(Path(path))[:20])

    def read(self, path: Path) -> Iterator[Episode]:
        """Episodes file by file, in order of name.

        Raises:
          InputError: naming the file and the row.
        """
        return whole(self.salvage(path))

    def salvage(self, path: Path) -> Iterator[Episode | Loss]:
        """Every whole episode, and a Loss for rows that are damaged.

        Raises:
          InputError: when nothing there is a table that a mapping describes.
        """
        files = [f for f in _files(Path(path)) if _described(f)]
        if not files:
            raise InputError(
                f"{path} holds no table that a mapping describes.",
                hint=f"Write {FOLDER}: see docs/reference/log-formats.md.",
            )
        for file in files:
            yield from _episodes(file)


# -- inside -------------------------------------------------------------------


def _files(path: Path) -> list[Path]:
    try:
        if path.is_dir():
            return sorted(f for f in path.iterdir() if is_table(f) and f.is_file())
        return [path] if is_table(path) and path.is_file() else []
    except OSError:
        return []


def _described(file: Path) -> bool:
    if beside(file) is not None:
        return True
    try:
        return known(names(file)) is not None
    except Exception:  # a sniff never raises, whatever the bytes are
        return False


def _episodes(file: Path) -> Iterator[Episode | Loss]:
    own = beside(file)
    try:
        mapping = load(own) if own else known(names(file))
        if mapping is None:
            raise InputError(f"{file} is no table that is known.")
        table, losses = read(file, mapping.wanted)
        cuts = _cuts(file, table, mapping)
        made = [
            _episode(file, number, table, slice(a, b), mapping)
            for number, (a, b) in enumerate(cuts)
        ]
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {str(error).rstrip('.')}.") from None
    yield from losses
    yield from made


def _cuts(file: Path, table: Columns, mapping: Mapping) -> list[tuple[int, int]]:
    """(first, end) rows of each episode."""
    counts = {len(table[c]) for s in mapping.signals.values() for c in s.columns}
    if len(counts) != 1:
        raise InputError(f"{file}: its signals have {sorted(counts)} rows, expected one count.")
    rows = counts.pop()
    if mapping.lengths:
        lengths = table[mapping.lengths].ravel()
        whole_ = lengths.astype(np.int64)
        if (whole_ != lengths).any() or (whole_ < 0).any() or whole_.sum() != rows:
            raise InputError(
                f"{file}: {mapping.lengths!r} adds up to {lengths.sum():g}, and it has {rows} rows."
            )
        ends = np.cumsum(whole_)
        return [(int(b - n), int(b)) for n, b in zip(whole_, ends, strict=True) if n]
    if mapping.episode:
        number = table[mapping.episode].ravel()
        starts = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1, [rows]])
        return [(int(a), int(b)) for a, b in pairwise(starts) if b > a]
    return [(0, rows)] if rows else []


def _episode(file: Path, number: int, table: Columns, rows: slice, mapping: Mapping) -> Episode:
    times = _times(file, table, rows, mapping)
    signals: dict[str, Signal] = {}
    features: list[Feature] = []
    for key, part in mapping.signals.items():
        values, columns = _values(file, key, table, rows, part)
        signals[key] = Signal(
            name=key, unit=part.unit, frame=part.frame, columns=columns, times=times, values=values
        )
        features.append(
            Feature(
                key=key, columns=columns,
                role=declared(part.role) if part.role else Stated(),
                unit=declared(part.unit) if part.unit != "raw" else Stated(),
                frame=declared(part.frame) if part.frame else Stated(),
                rotation=declared(part.rotation) if part.rotation else Stated(),
            )
        )  # fmt: skip
    source = f"{file}#{number}" if mapping.episode or mapping.lengths else str(file)
    episode = Episode(
        signals=signals, contract=_contract(file, tuple(features), times, mapping),
        robot=mapping.robot, task=mapping.task, instruction=mapping.task, source=source,
    )  # fmt: skip
    return replace(episode, facts=tuple(_facts(episode.id, table, rows, mapping)))


def _times(file: Path, table: Columns, rows: slice, mapping: Mapping) -> np.ndarray:
    if not mapping.time:
        assert mapping.rate is not None
        return np.arange(rows.stop - rows.start) / mapping.rate
    times = table[mapping.time].ravel()[rows].astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad):
        raise InputError(f"{file}, row {rows.start + bad[0]}: {mapping.time!r} is no number.")
    return (times - times[0]) * _SECONDS[mapping.time_unit]


def _values(
    file: Path, key: str, table: Columns, rows: slice, part: SignalMap
) -> tuple[np.ndarray, tuple[str, ...]]:
    blocks = [table[c][rows].reshape(rows.stop - rows.start, -1) for c in part.columns]
    values = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
    if part.slice:
        values = values[:, part.slice[0] : part.slice[1]]
    columns = tuple(part.names)
    if not columns and all(b.shape[1] == 1 for b in blocks):
        columns = tuple(part.columns)
    if not values.shape[1] or (columns and len(columns) != values.shape[1]):
        raise InputError(
            f"{file}, signal {key!r}: {len(columns)} names for {values.shape[1]} columns."
        )
    return values, columns


def _contract(
    file: Path, features: tuple[Feature, ...], times: np.ndarray, mapping: Mapping
) -> Contract:
    unknown = mapping.contract.keys() - _STATED
    if unknown:
        raise InputError(
            f"{file}: the mapping's contract has {sorted(unknown)[0]!r}.",
            hint=f"Expected some of {', '.join(sorted(_STATED))}.",
        )
    stated: dict[str, Any] = {k: declared(v) for k, v in mapping.contract.items()}
    if mapping.rate:
        stated.setdefault("log_rate", declared(mapping.rate))
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    if step > 0:
        measured = Stated(value=round(1 / step, 3), source="inferred", confidence=0.99)
        stated.setdefault("log_rate", measured)
    return Contract(features=features, **stated)


def _facts(subject: str, table: Columns, rows: slice, mapping: Mapping) -> Iterator[Label]:
    if mapping.facts:
        value = json.loads(json.dumps(mapping.facts, default=str))
        yield Label(subject=subject, key="rig", value=value, author="mapping")
    if mapping.outcome is not None:
        last = float(np.ravel(table[mapping.outcome.column][rows])[-1])
        if np.isfinite(last):
            yield Label(
                subject=subject, key="outcome",
                value={"success": bool(last), "judge": mapping.outcome.column}, author="mapping",
            )  # fmt: skip
