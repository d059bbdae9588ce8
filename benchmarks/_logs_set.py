"""A clean LeRobot v3.0 set without video, of any length, streamed to disk.

Smooth commands, readings that follow three frames behind, no fault; one row group an
episode, as LeRobot's own writer leaves them.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FPS = 30
WIDTH = 14
FRAMES = 300
_A_FILE = 1000
"""Episodes a data file: about the 100 MB that LeRobot itself writes."""
_NAMES = [f"joint_{i}.pos" for i in range(WIDTH)]


def write_set(folder: Path, episodes: int, seed: int = 0) -> Path:
    """A clean set of `episodes` times 300 frames, streamed to disk."""
    rng = np.random.default_rng(seed)
    (folder / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    totals = _Totals()
    for file, first in enumerate(range(0, episodes, _A_FILE)):
        target = folder / "data" / "chunk-000" / f"file-{file:03d}.parquet"
        with pq.ParquetWriter(target, _SCHEMA) as writer:
            for index, action, state in _episodes(rng, first, min(first + _A_FILE, episodes)):
                writer.write_table(_table(index, action, state))
                totals.add(action, state)
    _meta(folder, episodes, totals)
    return folder


# -- inside -------------------------------------------------------------------


class _Totals:
    """Running sums of both features, for stats.json."""

    def __init__(self) -> None:
        self.n = 0
        self.sums = {k: np.zeros((2, WIDTH)) for k in ("action", "observation.state")}
        self.ends = {k: np.array([[np.inf], [-np.inf]]) + np.zeros(WIDTH) for k in self.sums}

    def add(self, action: np.ndarray, state: np.ndarray) -> None:
        for key, x in (("action", action), ("observation.state", state)):
            wide = x.astype(float)
            self.sums[key] += [wide.sum(axis=0), np.square(wide).sum(axis=0)]
            ends = self.ends[key]
            self.ends[key] = np.array(
                [np.minimum(ends[0], x.min(axis=0)), np.maximum(ends[1], x.max(axis=0))]
            )
        self.n += len(action)

    def stats(self) -> dict[str, dict[str, list[float]]]:
        found = {}
        for key, (total, square) in self.sums.items():
            mean = total / self.n
            sd = np.sqrt(square / self.n - mean**2)
            low, high = self.ends[key]
            figures = {"min": low, "max": high, "mean": mean, "std": sd}
            found[key] = {k: v.tolist() for k, v in figures.items()} | {"count": [self.n]}
        return found


_LIST = pa.list_(pa.float32(), WIDTH)
_SCHEMA = pa.schema(
    [
        ("action", _LIST), ("observation.state", _LIST), ("timestamp", pa.float32()),
        ("frame_index", pa.int64()), ("episode_index", pa.int64()), ("index", pa.int64()),
        ("task_index", pa.int64()),
    ]
)  # fmt: skip


def _episodes(
    rng: np.random.Generator, first: int, last: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(index, commands, readings), each (300, 14) float32."""
    t = np.arange(FRAMES + 3)[:, None, None] / FPS
    for index in range(first, last):
        pace, phase = rng.uniform(0.1, 0.6, (WIDTH, 3)), rng.uniform(0, 6.3, (WIDTH, 3))
        wave = rng.normal(0, 0.3, (WIDTH, 3)) * np.sin(2 * np.pi * pace * t + phase)
        path = wave.sum(axis=2)
        reading = path[:-3] + rng.normal(0, 0.002, (FRAMES, WIDTH))
        yield index, path[3:].astype(np.float32), reading.astype(np.float32)


def _table(index: int, action: np.ndarray, state: np.ndarray) -> pa.Table:
    rows = np.arange(FRAMES)
    columns = [
        pa.FixedSizeListArray.from_arrays(pa.array(action.ravel()), type=_LIST),
        pa.FixedSizeListArray.from_arrays(pa.array(state.ravel()), type=_LIST),
        pa.array((rows / FPS).astype(np.float32)), pa.array(rows),
        pa.array(np.full(FRAMES, index)), pa.array(index * FRAMES + rows),
        pa.array(np.zeros(FRAMES, np.int64)),
    ]  # fmt: skip
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def _meta(folder: Path, episodes: int, totals: _Totals) -> None:
    features = {
        k: {"dtype": "float32", "shape": [WIDTH], "names": _NAMES}
        for k in ("action", "observation.state")
    }
    scalar = {"timestamp": "float32", **dict.fromkeys(
        ("frame_index", "episode_index", "index", "task_index"), "int64")}  # fmt: skip
    features |= {k: {"dtype": d, "shape": [1], "names": None} for k, d in scalar.items()}
    info = {
        "codebase_version": "v3.0", "robot_type": "arm", "total_episodes": episodes,
        "total_frames": episodes * FRAMES, "total_tasks": 1, "chunks_size": 1000,
        "data_files_size_in_mb": 100, "video_files_size_in_mb": 200, "fps": FPS,
        "splits": {"train": f"0:{episodes}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": None, "features": features,
    }  # fmt: skip
    (folder / "meta" / "info.json").write_text(json.dumps(info, indent=1))
    (folder / "meta" / "stats.json").write_text(json.dumps(totals.stats()))
    tasks = pa.table({"task_index": pa.array([0]), "task": pa.array(["reach and come back"])})
    pq.write_table(tasks, folder / "meta" / "tasks.parquet")
    e = np.arange(episodes)
    table = pa.table(
        {
            "episode_index": e,
            "tasks": pa.array([["reach and come back"]] * episodes),
            "length": np.full(episodes, FRAMES),
            "data/chunk_index": np.zeros(episodes, np.int64),
            "data/file_index": e // _A_FILE,
            "dataset_from_index": e * FRAMES,
            "dataset_to_index": (e + 1) * FRAMES,
            "meta/episodes/chunk_index": np.zeros(episodes, np.int64),
            "meta/episodes/file_index": np.zeros(episodes, np.int64),
        }
    )
    pq.write_table(table, folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet")
