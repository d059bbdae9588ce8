"""Writes LeRobot v3.0 datasets, streamed: memory holds some thousand frames at a time."""

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gaploop.core.contract import Contract
from gaploop.core.digest import digest
from gaploop.core.episode import Episode
from gaploop.core.errors import InputError
from gaploop.core.signal import Signal
from gaploop.store import codec
from gaploop.store import datasets_layout as layout
from gaploop.store.arrow import pa
from gaploop.store.datasets_blocks import parts
from gaploop.store.datasets_layout import DatasetInfo
from gaploop.store.datasets_parquet import (
    ParquetFile,
    arrow_array,
    arrow_type,
    episode_schema,
    write_json,
    write_tasks,
)  # fmt: skip
from gaploop.store.datasets_prepare import as_stored
from gaploop.store.datasets_sidecar import DatasetSidecar, SignalMeaning, line_of
from gaploop.store.datasets_stats import NAMES, Running, Stats, describe
from gaploop.store.files import saving, sync_folder, sync_tree

ROWS_A_GROUP = 4096
"""Short episodes share a row group: fewer and larger reads, a small footer."""
EPISODES_A_GROUP = 512

_INTEGERS = ("frame_index", "episode_index", "index", "task_index")


def write_dataset(
    path: str | Path,
    episodes: Iterable[Episode],
    *,
    fps: float,
    robot: str,
    sidecar: Mapping[str, Any] | None = None,
    finite: bool = True,
    exact: bool = False,
) -> DatasetInfo:
    """Writes episodes as a LeRobot v3.0 dataset at `path`, which appears once it is whole.

    Equal episodes give equal bytes. Signals are stored in single precision, stamps as
    frame_index / fps; an episode's id is taken over just that (stamps in nanoseconds),
    so it stays the same. One whose stamps are put on the grid gets a new id: the one of
    `as_stored(episode, fps)`.

    path: a new folder.
    episodes: at least one, all with the same signals, each (T,) or (T, d), T >= 1.
    fps: rate of the frames in Hz; stamps may lie at most 0.1 ms off its grid.
    robot: robot type, for readers that know no sidecar.
    sidecar: JSON data to keep beside, for `Dataset.extra`.
    finite: whether NaN and infinity are refused. A field keeps them, for the screen to
      find; statistics are then taken over the rows without any.
    exact: keeps double precision where an episode has it, at twice the size. The id stays
      that of single precision.

    Raises:
      InputError: when the folder exists, or an episode cannot be stored as it is.
      WorkcellError: when the disk is full or cannot be written; then nothing is left.
    """
    target = Path(path)
    if not 0 < fps <= 1e6:
        raise InputError(f"A dataset cannot have {fps} frames a second.")
    if target.exists():
        raise InputError(f"{target} exists already.", hint="Expected a new folder.")
    draft = target.parent / f".{target.name}.part"
    with saving(target):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
    writer = _Writer(draft, fps=float(fps), robot=robot)
    try:
        for number, episode in enumerate(episodes):
            stored = as_stored(episode, fps, where=f"episode {number}", finite=finite, exact=exact)
            with saving(target):
                writer.add(stored)
        with saving(target):
            info = writer.finish(sidecar or {}, target)
            sync_tree(draft)
            draft.rename(target)
            sync_folder(target.parent)
    finally:
        writer.abandon()
        shutil.rmtree(draft, ignore_errors=True)
    return info


class _Writer:
    """The files of one dataset in the making."""

    def __init__(self, root: Path, *, fps: float, robot: str) -> None:
        self.root, self.fps, self.robot = root, fps, robot
        self.meaning: dict[str, SignalMeaning] = {}
        self.types: dict[str, np.dtype[Any]] = {}
        self.contracts: dict[str, Contract] = {}
        self.indexes: dict[str, int] = {}
        self.tasks: dict[str, int] = {}
        self.running = Running()
        self.widths: dict[str, int] = {}
        self.episodes = self.frames = self.pending = 0
        self.chunk = self.file = 0
        self.parts: list[dict[str, np.ndarray]] = []
        self.rows: list[dict[str, Any]] = []
        self.data: ParquetFile | None = None
        self.table: ParquetFile | None = None
        self.lines: BinaryIO | None = None

    def add(self, episode: Episode) -> None:
        """Adds one episode as `as_stored` gives it."""
        self._agree(episode)
        if self.data is None:
            self._open_data()
        columns = self._columns(episode)
        stats = self._describe(columns)
        length = len(columns["index"])
        self.rows.append(
            {
                "episode_index": self.episodes,
                "tasks": [_task(episode)],
                "length": length,
                "data/chunk_index": self.chunk,
                "data/file_index": self.file,
                "dataset_from_index": self.frames,
                "dataset_to_index": self.frames + length,
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
                **{f"stats/{k}/{n}": s[n].tolist() for k, s in stats.items() for n in NAMES},
            }
        )
        self._line(episode)
        self.parts.append(columns)
        self.episodes += 1
        self.frames += length
        self.pending += length
        if self.pending >= ROWS_A_GROUP:
            self._flush_data()
        if len(self.rows) >= EPISODES_A_GROUP:
            self._flush_rows()

    def finish(self, extra: Mapping[str, Any], target: Path) -> DatasetInfo:
        """Writes what is left; the dataset is whole afterwards."""
        if not self.episodes:
            raise InputError(f"{target} would have no episodes.", hint="Expected at least one.")
        self._flush_data()
        self._flush_rows()
        for file in (self.data, self.table, self.lines):
            if file is not None:
                file.close()
        write_tasks(self.root / layout.TASKS, list(self.tasks))
        stats = {
            key: {name: value.tolist() for name, value in found.items()}
            for key, found in self._split(self.running.result(self._again)).items()
        }
        write_json(self.root / layout.STATS, stats)
        side = DatasetSidecar(
            signals=self.meaning, contracts=tuple(self.contracts.values()), extra=dict(extra)
        )
        (self.root / layout.SIDECAR).write_bytes(codec.dumps(side) + b"\n")
        write_json(self.root / layout.INFO, self._info())
        return replace(layout.load_info(self.root), path=target)

    def abandon(self) -> None:
        """Closes whatever is open; errors no longer matter."""
        for file in (self.data, self.table, self.lines):
            with contextlib.suppress(Exception):
                if file is not None:
                    file.close()

    # -- inside -------------------------------------------------------------

    def _agree(self, episode: Episode) -> None:
        meaning = {
            k: SignalMeaning(
                unit=s.unit, frame=s.frame, columns=s.columns, scalar=s.values.ndim == 1
            )
            for k, s in episode.signals.items()
        }
        types = {k: s.values.dtype for k, s in episode.signals.items()}
        widths = {k: _width(s) for k, s in episode.signals.items()}
        if not self.meaning:
            self.meaning, self.types, self.widths = meaning, types, widths
        for ours, theirs in ((self.meaning, meaning), (self.types, types), (self.widths, widths)):
            if ours != theirs:
                key = next(k for k in {**ours, **theirs} if ours.get(k) != theirs.get(k))
                raise InputError(
                    f"episode {self.episodes}: signal {key!r} differs from the first episode's"
                    f" ({theirs.get(key)} after {ours.get(key)}).",
                    hint="Expected the same signals, units and columns in all episodes.",
                )

    def _columns(self, episode: Episode) -> dict[str, np.ndarray]:
        length = len(next(iter(episode.signals.values())).times)
        frame = np.arange(length, dtype=np.int64)
        task = self.tasks.setdefault(_task(episode), len(self.tasks))
        return {
            **{k: s.values for k, s in episode.signals.items()},
            "timestamp": (frame / self.fps).astype(np.float32),  # in the order of COUNTERS
            "frame_index": frame,
            "episode_index": np.full(length, self.episodes, dtype=np.int64),
            "index": frame + self.frames,
            "task_index": np.full(length, task, dtype=np.int64),
        }

    def _describe(self, columns: dict[str, np.ndarray]) -> dict[str, Stats]:
        flat = [v.reshape(len(v), -1).astype(np.float64) for v in columns.values()]
        wide = np.concatenate(flat, axis=1)  # one pass for all features
        wide = wide[np.isfinite(wide).all(axis=1)]
        every = describe(wide)
        self.running.add(wide, every)
        return self._split(every)

    def _again(self) -> Iterator[np.ndarray]:
        """All rows as they were described, from the files that are written."""
        features = {
            k: layout.FeatureInfo(dtype=t.name, shape=(self.widths[k],))
            for k, t in self.types.items()
        }
        for path in sorted((self.root / "data").glob("*/*.parquet")):
            for part in parts(path, features):
                names = [*self.types, *layout.COUNTERS]
                flat = [part[n].reshape(len(part[n]), -1).astype(np.float64) for n in names]
                wide = np.concatenate(flat, axis=1)
                yield wide[np.isfinite(wide).all(axis=1)]

    def _split(self, every: Stats) -> dict[str, Stats]:
        """Statistics of all columns side by side, feature by feature."""
        found: dict[str, Stats] = {}
        start = 0
        for key in [*self.types, *layout.COUNTERS]:
            stop = start + self.widths.get(key, 1)
            found[key] = {n: v if n == "count" else v[start:stop] for n, v in every.items()}
            start = stop
        return found

    def _line(self, episode: Episode) -> None:
        if self.lines is None:
            path = self.root / layout.SIDECAR_EPISODES
            path.parent.mkdir(parents=True, exist_ok=True)
            self.lines = path.open("wb")
        key = digest(episode.contract)
        self.contracts.setdefault(key, episode.contract)
        index = self.indexes.setdefault(key, len(self.indexes))
        self.lines.write(codec.dumps(line_of(episode, index)) + b"\n")

    def _open_data(self) -> None:
        fields = [(k, arrow_type(t, self.widths[k])) for k, t in self.types.items()]
        fields += [("timestamp", pa.float32()), *((k, pa.int64()) for k in _INTEGERS)]
        name = layout.DATA.format(chunk_index=self.chunk, file_index=self.file)
        self.data = ParquetFile(self.root / name, pa.schema(fields))

    def _flush_data(self) -> None:
        if not self.parts or self.data is None:
            return
        schema = self.data.schema
        arrays = [
            arrow_array(np.concatenate([p[name] for p in self.parts]), schema.field(name).type)
            for name in schema.names
        ]
        self.data.write(pa.Table.from_arrays(arrays, schema=schema))
        self.parts.clear()
        self.pending = 0
        if self.data.size >= layout.MEGABYTES_A_FILE << 20:
            self.data.close()
            self.data = None
            self.file += 1
            if self.file == layout.FILES_A_CHUNK:
                self.chunk, self.file = self.chunk + 1, 0

    def _flush_rows(self) -> None:
        if not self.rows:
            return
        if self.table is None:
            name = layout.EPISODES.format(chunk_index=0, file_index=0)
            self.table = ParquetFile(self.root / name, episode_schema(self.rows[0]))
        self.table.write(pa.Table.from_pylist(self.rows, schema=self.table.schema))
        self.rows.clear()

    def _info(self) -> dict[str, Any]:
        features = {
            key: {
                "dtype": "bool" if dtype.kind == "b" else dtype.name,
                "shape": [self.widths[key]],
                "names": list(self.meaning[key].columns) or None,
            }
            for key, dtype in self.types.items()
        }
        for key in layout.COUNTERS:
            dtype = "float32" if key == "timestamp" else "int64"
            features[key] = {"dtype": dtype, "shape": [1], "names": None}
        return {
            "codebase_version": layout.VERSION,
            "fps": int(self.fps) if self.fps.is_integer() else self.fps,
            "features": features,
            "total_episodes": self.episodes,
            "total_frames": self.frames,
            "total_tasks": len(self.tasks),
            "chunks_size": layout.FILES_A_CHUNK,
            "data_files_size_in_mb": layout.MEGABYTES_A_FILE,
            "video_files_size_in_mb": 200,
            "data_path": layout.DATA,
            "video_path": None,
            "robot_type": self.robot or None,
            "splits": {"train": f"0:{self.episodes}"},
        }


def _task(episode: Episode) -> str:
    return episode.instruction or episode.task


def _width(signal: Signal) -> int:
    return 1 if signal.values.ndim == 1 else signal.values.shape[1]
