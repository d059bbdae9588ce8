"""LeRobot v2.1 to v3.0 and back, file by file: rows are copied as they lie, never computed.

Videos are copied, or cut between key frames without being encoded anew. Statistics of
numbers are taken afresh from the rows; those of pictures are the source's own.
"""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core.errors import InputError
from gaploop.store import datasets_layout as layout
from gaploop.store.arrow import pa, pq
from gaploop.store.datasets_frames import numbers
from gaploop.store.datasets_layout import DatasetInfo, data_file, load_info, reading
from gaploop.store.datasets_parquet import ParquetFile, write_json, write_tasks
from gaploop.store.datasets_stats import NAMES, Running, Stats, describe
from gaploop.store.datasets_tables import load_places, load_tasks
from gaploop.store.datasets_video import Videos, copy_clip
from gaploop.store.files import saving, sync_folder, sync_tree

VERSIONS = (layout.OLD, layout.VERSION)


def convert_dataset(source: str | Path, target: str | Path, version: str) -> DatasetInfo:
    """Writes a LeRobot dataset in the other version at `target`, which appears once it is whole.

    version: `v2.1` or `v3.0`; that of the source gives a copy with fresh statistics.

    Raises:
      InputError: when the source is damaged, or the target exists.
      WorkcellError: when the disk is full or cannot be written; then nothing is left.
    """
    info, goal = load_info(Path(source)), Path(target)
    if version not in VERSIONS:
        raise InputError(f"Version {version!r} is not written.", hint=f"One of {VERSIONS}.")
    if goal.exists():
        raise InputError(f"{goal} exists already.", hint="Expected a new folder.")
    draft = goal.parent / f".{goal.name}.part"
    with saving(goal):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
    try:
        with saving(goal):
            _Conversion(info, draft, version).run()
            sync_tree(draft)
            draft.rename(goal)
            sync_folder(goal.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return load_info(goal)


# -- inside -------------------------------------------------------------------


class _Conversion:
    """One dataset on its way."""

    def __init__(self, info: DatasetInfo, root: Path, version: str) -> None:
        self.info, self.root, self.version = info, root, version
        self.places = load_places(info)
        self.videos = Videos(info, self.places["length"])
        self.tasks = load_tasks(info)
        self.pictures = _Pictures(info)
        self.running = Running()
        self.rows: list[dict[str, Any]] = []
        self.files = _Files(root)

    def run(self) -> None:
        for index, table in enumerate(self._tables()):
            self._episode(index, table)
        self.files.close()
        raw = json.loads((self.info.path / layout.INFO).read_text())
        self._tasks()
        stats = _split(self.info, self.running.result(self._again))
        if self.version == layout.VERSION:
            write_json(
                self.root / layout.STATS,
                {k: {n: v.tolist() for n, v in s.items()} for k, s in stats.items()}
                | self.pictures.all(),
            )
            name = layout.EPISODES.format(chunk_index=0, file_index=0)
            target = self.root / name
            target.parent.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(self.rows), target)
        write_json(self.root / layout.INFO, self._info(raw))
        side = self.info.path / "meta" / "gaploop"
        if side.is_dir() and not side.is_symlink():
            shutil.copytree(side, self.root / "meta" / "gaploop")

    def _tables(self) -> Iterator[Any]:
        """The rows of each episode, as Arrow holds them."""
        known: tuple[Path, Any, int] | None = None
        for place in self.places:
            path = data_file(
                self.info, int(place["data/chunk_index"]), int(place["data/file_index"])
            )
            first = int(place["dataset_from_index"])
            if known is None or known[0] != path:
                with reading(path):
                    known = (path, pq.read_table(path, use_threads=False), first)
            table = known[1].slice(first - known[2], int(place["length"]))
            if len(table) != place["length"]:
                raise InputError(f"{path} has no rows of episode {place['episode_index']}.")
            yield table

    def _episode(self, index: int, table: Any) -> None:
        length = len(table)
        wide = _wide(self.info, table)
        wide = wide[np.isfinite(wide).all(axis=1)]
        every = describe(wide)
        self.running.add(wide, every)
        stats = _split(self.info, every)
        told = self.pictures.of(index)
        texts = [
            self.tasks.get(int(t), "")
            for t in dict.fromkeys(numbers(table, "task_index", length, 1)[:, 0].tolist())
        ]
        if self.version == layout.OLD:
            chunk = index // layout.FILES_A_CHUNK
            name = layout.OLD_DATA.format(episode_chunk=chunk, episode_index=index)
            self.files.alone(name, table)
            row = {"episode_index": index, "tasks": texts, "length": length}
            self._line(layout.OLD_EPISODES, row)
            plain = {k: {n: v.tolist() for n, v in s.items()} for k, s in stats.items()}
            self._line(layout.OLD_STATS, {"episode_index": index, "stats": plain | told})
            for key in self.videos.keys:
                name = layout.OLD_VIDEO.format(
                    episode_chunk=chunk, episode_index=index, video_key=key
                )
                copy_clip(self.videos, key, index, self.root / name)
            return
        chunk, file = self.files.together(table)
        first = int(self.places["dataset_from_index"][index])
        self.rows.append(
            {
                "episode_index": index, "tasks": texts, "length": length,
                "data/chunk_index": chunk, "data/file_index": file,
                "dataset_from_index": first, "dataset_to_index": first + length,
                "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0,
                **self._films(index, length),
                **{f"stats/{k}/{n}": s[n].tolist() for k, s in stats.items() for n in NAMES},
                **{f"stats/{k}/{n}": v for k, s in told.items() for n, v in s.items()},
            }
        )  # fmt: skip

    def _films(self, index: int, length: int) -> dict[str, Any]:
        """One file an episode: a clip can be copied as it is, and has no seconds to sum."""
        found: dict[str, Any] = {}
        chunk, file = divmod(index, layout.FILES_A_CHUNK)
        for key in self.videos.keys:
            name = layout.VIDEO.format(video_key=key, chunk_index=chunk, file_index=file)
            copy_clip(self.videos, key, index, self.root / name)
            found |= {
                f"videos/{key}/chunk_index": chunk, f"videos/{key}/file_index": file,
                f"videos/{key}/from_timestamp": 0.0,
                f"videos/{key}/to_timestamp": length / self.info.fps,
            }  # fmt: skip
        return found

    def _again(self) -> Iterator[np.ndarray]:
        for table in self._tables():
            wide = _wide(self.info, table)
            yield wide[np.isfinite(wide).all(axis=1)]

    def _tasks(self) -> None:
        if self.version == layout.OLD:
            for index, text in sorted(self.tasks.items()):
                self._line(layout.OLD_TASKS, {"task_index": index, "task": text})
            return
        texts = [self.tasks.get(i, "") for i in range(max(self.tasks, default=-1) + 1)]
        write_tasks(self.root / layout.TASKS, texts)

    def _line(self, name: str, value: dict[str, Any]) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(value) + "\n")

    def _info(self, raw: dict[str, Any]) -> dict[str, Any]:
        """info.json with what the other version says otherwise; all else as it was."""
        episodes = len(self.places)
        if self.version == layout.OLD:
            for key in ("data_files_size_in_mb", "video_files_size_in_mb"):
                raw.pop(key, None)
            changed = {
                "codebase_version": layout.OLD, "data_path": layout.OLD_DATA,
                "video_path": layout.OLD_VIDEO if self.videos.keys else None,
                "total_videos": episodes * len(self.videos.keys),
                "total_chunks": -(-episodes // layout.FILES_A_CHUNK),
                "chunks_size": layout.FILES_A_CHUNK,
            }  # fmt: skip
        else:
            for key in ("total_videos", "total_chunks"):
                raw.pop(key, None)
            changed = {
                "codebase_version": layout.VERSION, "data_path": layout.DATA,
                "video_path": layout.VIDEO if self.videos.keys else None,
                "data_files_size_in_mb": layout.MEGABYTES_A_FILE, "video_files_size_in_mb": 200,
                "chunks_size": layout.FILES_A_CHUNK,
            }  # fmt: skip
        return {**raw, **changed}


class _Files:
    """Data files in the making."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.number = 0
        self._open: ParquetFile | None = None

    def alone(self, name: str, table: Any) -> None:
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, target)

    def together(self, table: Any) -> tuple[int, int]:
        """Appends to the file at hand; its chunk and number in it."""
        chunk, file = divmod(self.number, layout.FILES_A_CHUNK)
        if self._open is None:
            name = layout.DATA.format(chunk_index=chunk, file_index=file)
            self._open = ParquetFile(self.root / name, table.schema)
        self._open.write(table)
        if self._open.size >= layout.MEGABYTES_A_FILE << 20:
            self.close()
            self.number += 1
        return chunk, file

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


class _Pictures:
    """Statistics of pictures, which the source made of samples nobody else has."""

    def __init__(self, info: DatasetInfo) -> None:
        self.info = info
        self._rows: list[dict[str, Any]] = []
        if not info.cameras:
            return
        with contextlib.suppress(InputError):
            self._rows = list(self._read())

    def of(self, index: int) -> dict[str, dict[str, Any]]:
        """Feature to statistics of one episode."""
        found = self._rows[index] if index < len(self._rows) else {}
        return {k: found[k] for k in self.info.cameras if k in found}

    def all(self) -> dict[str, Any]:
        """Over all episodes: least, greatest, mean and standard deviation by their counts."""
        found: dict[str, Any] = {}
        for key in self.info.cameras:
            parts = [r[key] for r in self._rows if {"mean", "std", "count"} <= set(r.get(key, {}))]
            if parts:
                found[key] = _pooled(parts)
        return found

    def _read(self) -> Iterator[dict[str, Any]]:
        if self.info.version == layout.OLD:
            path = self.info.path / layout.OLD_STATS
            with reading(path):
                lines = [json.loads(x) for x in path.read_text().splitlines() if x.strip()]
            for line in sorted(lines, key=lambda x: x["episode_index"]):
                yield line["stats"]
            return
        for path in sorted((self.info.path / "meta" / "episodes").glob("*/*.parquet")):
            with reading(path):
                file: Any = pq.ParquetFile(path)
                names = [
                    n for n in file.schema_arrow.names
                    if n.startswith("stats/") and n.split("/")[1] in self.info.cameras
                ]  # fmt: skip
                table = file.read(columns=names)
            for row in table.to_pylist():
                found: dict[str, Any] = {}
                for name, value in row.items():
                    _, key, statistic = name.split("/")
                    found.setdefault(key, {})[statistic] = value
                yield found


def _pooled(parts: list[dict[str, Any]]) -> dict[str, Any]:
    count = np.array([np.ravel(p["count"])[0] for p in parts], float)
    mean = np.array([p["mean"] for p in parts])
    share = (count / count.sum()).reshape(-1, *[1] * (mean.ndim - 1))
    middle = (share * mean).sum(axis=0)
    spread = np.array([p["std"] for p in parts]) ** 2 + (mean - middle) ** 2
    found = {"mean": middle, "std": np.sqrt((share * spread).sum(axis=0))}
    for name, pick in (("min", np.min), ("max", np.max)):
        if all(name in p for p in parts):
            found[name] = pick(np.array([p[name] for p in parts]), axis=0)
    return {k: v.tolist() for k, v in found.items()} | {"count": [int(count.sum())]}


def _wide(info: DatasetInfo, table: Any) -> np.ndarray:
    """(T, d) all numbers side by side, features first and then the counters."""
    widths = {k: f.width for k, f in info.features.items()} | dict.fromkeys(layout.COUNTERS, 1)
    parts = [
        numbers(table, k, len(table), w).astype(np.float64) for k, w in widths.items()
    ]  # fmt: skip
    return np.concatenate(parts, axis=1)


def _split(info: DatasetInfo, every: Stats) -> dict[str, Stats]:
    found: dict[str, Stats] = {}
    start = 0
    widths = {k: f.width for k, f in info.features.items()} | dict.fromkeys(layout.COUNTERS, 1)
    for key, width in widths.items():
        stop = start + width
        found[key] = {n: v if n == "count" else v[start:stop] for n, v in every.items()}
        start = stop
    return found
