"""Reads LeRobot v3.0 datasets, whoever wrote them. Whatever is wrong is an InputError."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core.contract import Contract, Feature, declared
from gaploop.core.episode import Episode
from gaploop.core.errors import InputError
from gaploop.core.label import Label
from gaploop.core.signal import Signal
from gaploop.store import codec
from gaploop.store import datasets_layout as layout
from gaploop.store.arrow import pa, pq
from gaploop.store.datasets_layout import DatasetInfo, FeatureInfo, data_file, load_info, reading
from gaploop.store.datasets_sidecar import FORMAT, DatasetSidecar, EpisodeSidecar

_PLACES = (
    "episode_index", "length", "dataset_from_index", "dataset_to_index",
    "data/chunk_index", "data/file_index",
)  # fmt: skip
_MAX_GROUP = 2 << 30
_MAX_ROWS_A_BYTE = 64
"""A frame counter takes at least a bit a row: a file that claims more rows is broken."""


def read_dataset(path: str | Path, *, finite: bool = True) -> Iterator[Episode]:
    """The episodes of a LeRobot v3.0 dataset, in order, one at a time in memory.

    finite: whether NaN and infinity are refused.

    Raises:
      InputError: now or later, naming the file and the row.
    """
    return iter(open_dataset(path, finite=finite))


def open_dataset(path: str | Path, *, finite: bool = True) -> "Dataset":
    """Opens a dataset and checks its tables; frames are read when asked for.

    Raises:
      InputError: when the folder is no dataset or its counts do not agree.
    """
    return Dataset(Path(path), finite=finite)


class Dataset:
    """An open dataset: its length, its episodes in order, or one of them."""

    def __init__(self, root: Path, *, finite: bool = True) -> None:
        """Use `open_dataset`."""
        self.info: DatasetInfo = load_info(root)
        self._finite = finite
        self._tasks = _load_tasks(root / layout.TASKS)
        self._places = _load_places(self.info)
        self._side = _load_sidecar(self.info)
        self._starts, self._expected = _files(self._places)
        self._file: _DataFile | None = None

    def __len__(self) -> int:
        return self.info.episodes

    def __iter__(self) -> Iterator[Episode]:
        for index in range(len(self)):
            yield self.episode(index)

    @property
    def extra(self) -> dict[str, Any]:
        """What the writer kept beside, empty for a dataset without a sidecar."""
        return {} if self._side is None else self._side.extra

    @property
    def ours(self) -> bool:
        """Whether gaploop wrote it, so that ids, units and facts are exact."""
        return self._side is not None

    def episode(self, index: int) -> Episode:
        """Episode number `index`, from 0.

        Raises:
          InputError: when there is none, or its rows are damaged.
        """
        if not 0 <= index < len(self):
            raise InputError(f"{self.info.path} has {len(self)} episodes, and no {index}.")
        place = self._places[index]
        first = int(place["dataset_from_index"] - self._starts[index])
        path = data_file(self.info, int(place["data/chunk_index"]), int(place["data/file_index"]))
        rows = self._data(path, index).rows(first, first + int(place["length"]))
        where = _Where(path, first)
        _check_counters(rows, index, where)
        times = _times(rows["timestamp"], self.info.fps, where)
        signals = {
            key: self._signal(key, feature, rows[key], times, where)
            for key, feature in self.info.features.items()
        }
        task = int(rows["task_index"][0])
        if task not in self._tasks:
            raise where.error(0, f"task {task} is not in {layout.TASKS}")
        return self._episode(index, signals, self._tasks[task], where)

    # -- inside -------------------------------------------------------------

    def _data(self, path: Path, index: int) -> "_DataFile":
        if self._file is None or self._file.path != path:
            self._file = _DataFile(path, self.info, int(self._expected[index]))
        return self._file

    def _signal(
        self, key: str, feature: FeatureInfo, values: np.ndarray, times: np.ndarray, where: "_Where"
    ) -> Signal:
        if self._finite and values.dtype.kind == "f":
            bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
            if len(bad):
                raise where.error(int(bad[0]), f"{key!r} is not a finite number")
        meaning = None if self._side is None else self._side.signals.get(key)
        if meaning is None:
            shaped = values.reshape(len(values), *feature.shape)
            return Signal(name=key, unit="raw", columns=feature.names, times=times, values=shaped)
        return Signal(
            name=key, unit=meaning.unit, frame=meaning.frame, columns=meaning.columns,
            times=times, values=values[:, 0] if meaning.scalar else values,
        )  # fmt: skip

    def _episode(
        self, index: int, signals: dict[str, Signal], text: str, where: "_Where"
    ) -> Episode:
        source = f"{self.info.path}#{index}"
        if self._side is None:
            return _foreign(self.info, signals, text, source, self._contract)
        line = self._lines.read(index)
        if not 0 <= line.contract < len(self._side.contracts):
            raise self._lines.error(index, "it names a contract that is not there")
        episode = Episode(
            signals=signals, contract=self._side.contracts[line.contract], robot=line.robot,
            unit=line.unit, task=line.task, instruction=line.instruction, world=line.world,
            origin=line.origin, policy=line.policy, parents=line.parents, facts=line.facts,
            source=source,
        )  # fmt: skip
        if self._finite and episode.id != line.id:
            raise where.error(0, f"episode {index} is not what was written: its id differs")
        return episode

    @cached_property
    def _contract(self) -> Contract:
        """What info.json itself declares, and not more."""
        features = tuple(Feature(key=k, columns=f.names) for k, f in self.info.features.items())
        return Contract(features=features, log_rate=declared(self.info.fps))

    @cached_property
    def _lines(self) -> "_Lines":
        return _Lines(self.info.path / layout.SIDECAR_EPISODES, len(self))


@dataclass(frozen=True, slots=True)
class _Where:
    """A stretch of rows in a file, for messages."""

    path: Path
    first: int

    def error(self, row: int, what: str) -> InputError:
        return InputError(f"{self.path}, row {self.first + row}: {what}.")


class _DataFile:
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
        found = {k: _numbers(table, k, rows, f.width) for k, f in self.info.features.items()}
        return {**found, **{k: _numbers(table, k, rows, 1)[:, 0] for k in counters}}


class _Lines:
    """Random access to the lines of episodes.jsonl."""

    def __init__(self, path: Path, expected: int) -> None:
        self.path = path
        with reading(path), path.open("rb") as file:
            ends = np.cumsum([len(line) for line in file], dtype=np.int64)
        if len(ends) != expected:
            raise InputError(f"{path} has {len(ends)} lines, and {expected} were expected.")
        self._starts = np.concatenate([[0], ends])

    def read(self, index: int) -> EpisodeSidecar:
        """The line of episode `index`."""
        try:
            with self.path.open("rb") as file:
                file.seek(int(self._starts[index]))
                content = file.read(int(self._starts[index + 1] - self._starts[index]))
            return codec.loads(content, EpisodeSidecar)
        except (OSError, ValueError) as error:
            raise self.error(index, str(error)) from error

    def error(self, index: int, what: str) -> InputError:
        return InputError(f"{self.path}, line {index + 1}: {what.rstrip('.')}.")


def _numbers(table: Any, name: str, rows: int, width: int) -> np.ndarray:
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


def _check_counters(rows: dict[str, np.ndarray], index: int, where: _Where) -> None:
    length = len(rows["timestamp"])
    for name, expected in (
        ("episode_index", np.full(length, index)),
        ("frame_index", np.arange(length)),
    ):
        wrong = np.flatnonzero(rows[name] != expected)
        if len(wrong):
            at = int(wrong[0])
            raise where.error(at, f"{name} is {rows[name][at]}, and {expected[at]} was expected")


def _times(stored: np.ndarray, fps: float, where: _Where) -> np.ndarray:
    """Seconds; frame_index / fps where the stored single-precision stamps say just that."""
    grid = np.arange(len(stored)) / fps
    if np.array_equal(stored.astype(np.float32), grid.astype(np.float32)):
        return grid
    bad = np.flatnonzero(~np.isfinite(stored))
    if len(bad):
        raise where.error(int(bad[0]), "timestamp is not a finite number")
    return stored.astype(np.float64)


def _foreign(
    info: DatasetInfo, signals: dict[str, Signal], text: str, source: str, contract: Contract
) -> Episode:
    """An episode of a dataset without a sidecar: what it says, and nothing more."""
    episode = Episode(
        signals=signals, contract=contract, robot=info.robot, task=text, instruction=text,
        source=source,
    )  # fmt: skip
    if "next.success" not in signals:
        return episode
    outcome = Label(
        subject=episode.id,
        key="outcome",
        value={"success": bool(signals["next.success"].values.any())},
        author="next.success",
    )
    return replace(episode, facts=(outcome,))


def _load_tasks(path: Path) -> dict[int, str]:
    """Task index to text; the text is the index of a data frame, under whatever name."""
    with reading(path):
        table = pq.read_table(path, use_threads=False)
        texts = [
            f.name
            for f in table.schema
            if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)
        ]
        if "task_index" not in table.column_names or not texts:
            raise ValueError("expected the columns task and task_index")
        name = "task" if "task" in texts else texts[0]
        numbers = _numbers(table, "task_index", len(table), 1)[:, 0].tolist()
        words = table.column(name).to_pylist()
        return {int(i): str(t or "") for i, t in zip(numbers, words, strict=True)}


def _load_places(info: DatasetInfo) -> np.ndarray:
    """(episodes,) structured array: where each episode lies. Checked against info.json."""
    folder = info.path / "meta" / "episodes"
    files = sorted(folder.glob("*/*.parquet"))
    if not files:
        raise InputError(f"{folder} holds no Parquet file.", hint="Copy the dataset again.")
    parts: list[np.ndarray] = []
    for path in files:
        with reading(path):
            table = pq.read_table(
                path, columns=list(_PLACES), use_threads=False, page_checksum_verification=True
            )
            part = np.empty(len(table), dtype=[(n, np.int64) for n in _PLACES])
            for name in _PLACES:
                part[name] = _numbers(table, name, len(table), 1)[:, 0]
            parts.append(part)
    places = np.concatenate(parts)
    places = places[np.argsort(places["episode_index"], kind="stable")]
    _check_places(info, places, folder)
    return places


def _check_places(info: DatasetInfo, places: np.ndarray, folder: Path) -> None:
    told = f"{info.path / layout.INFO} tells of"
    if len(places) != info.episodes:
        raise InputError(f"{told} {info.episodes} episodes, and {folder} lists {len(places)}.")
    checks = {
        "episode_index": places["episode_index"] == np.arange(len(places)),
        "length": (places["length"] > 0) & (places["length"] <= info.frames),
        "dataset_to_index": places["dataset_to_index"]
        == places["dataset_from_index"] + places["length"],
        "dataset_from_index": np.concatenate([[True], _follows(places)]),
        "data/file_index": (places["data/file_index"] >= 0) & (places["data/chunk_index"] >= 0),
    }
    for name, fine in checks.items():
        if not fine.all():
            row = int(np.argmin(fine))
            raise InputError(
                f"{folder}, row {row}: {name} is {places[name][row]}, which cannot be."
            )
    total = int(places["length"].sum())
    if total != info.frames:
        raise InputError(f"{told} {info.frames} frames, and {folder} lists {total}.")


def _files(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each episode: index of the first frame in its file, and that file's rows."""
    same = places[["data/chunk_index", "data/file_index"]]
    _, first, file = np.unique(same, return_index=True, return_inverse=True)
    rows = np.bincount(file, weights=places["length"]).astype(np.int64)
    return places["dataset_from_index"][first][file], rows[file]


def _follows(places: np.ndarray) -> np.ndarray:
    return places["dataset_from_index"][1:] == places["dataset_to_index"][:-1]


def _load_sidecar(info: DatasetInfo) -> DatasetSidecar | None:
    path = info.path / layout.SIDECAR
    if not path.exists():
        return None
    with reading(path):
        side = codec.loads(path.read_bytes(), DatasetSidecar)
        if side.format != FORMAT:
            raise ValueError(f"it has format {side.format}, and {FORMAT} is read")
        for key, meaning in side.signals.items():
            width = info.features[key].width if key in info.features else 0
            if len(meaning.columns) not in (0, width) or (meaning.scalar and width != 1):
                raise ValueError(f"signal {key!r} does not fit the features")
    return side
