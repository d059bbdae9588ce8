"""LeRobot folders made by hand for tests: v2.1, and cameras whose frames tell their number."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SIDE = 64


def picture(number: int) -> np.ndarray:
    """(64, 64, 3): the number's bits as black and white blocks, which no codec blurs."""
    bits = [(number >> b) & 1 for b in range(16)]
    blocks = np.array(bits, np.uint8).reshape(4, 4) * 200 + 25
    return np.repeat(np.kron(blocks, np.ones((16, 16), np.uint8))[:, :, None], 3, axis=2)


def number_of(frame: np.ndarray) -> int:
    """What `picture` wrote there."""
    blocks = frame[:, :, 0].reshape(4, 16, 4, 16)[:, 6:10, :, 6:10].mean(axis=(1, 3)) > 125
    return int(sum(int(b) << i for i, b in enumerate(blocks.ravel())))


def write_video(path: Path, numbers: Sequence[int], fps: int, keys: int = 10) -> None:
    """An H.264 file, a key frame every `keys` frames."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as out:
        stream: Any = out.add_stream("libx264", rate=fps)
        stream.width = stream.height = SIDE
        stream.pix_fmt = "yuv420p"
        stream.options = {"g": str(keys), "crf": "18", "preset": "ultrafast"}
        for n in numbers:
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture(n), format="rgb24")):
                out.mux(packet)
        for packet in stream.encode():
            out.mux(packet)


def png(number: int) -> bytes:
    """The picture as a PNG file."""
    sink = io.BytesIO()
    with av.open(sink, "w", format="image2pipe") as out:
        stream: Any = out.add_stream("png", rate=1)
        stream.width = stream.height = SIDE
        stream.pix_fmt = "rgb24"
        for packet in stream.encode(av.VideoFrame.from_ndarray(picture(number), format="rgb24")):
            out.mux(packet)
        for packet in stream.encode():
            out.mux(packet)
    return sink.getvalue()


def rows_of(episode: int, first: int, length: int, fps: int, seed: int = 0) -> pa.Table:
    """The frames of one episode, as LeRobot stores them."""
    rng = np.random.default_rng((seed, episode))
    frame = np.arange(length)
    lists = pa.list_(pa.float32(), 2)
    numbers = rng.standard_normal((2, length * 2)).astype(np.float32)
    return pa.table(
        {
            "action": pa.FixedSizeListArray.from_arrays(pa.array(numbers[0]), type=lists),
            "observation.state": pa.FixedSizeListArray.from_arrays(
                pa.array(numbers[1]), type=lists
            ),
            "timestamp": (frame / fps).astype(np.float32),
            "frame_index": frame,
            "episode_index": np.full(length, episode),
            "index": first + frame,
            "task_index": np.full(length, episode % 2),
        }
    )


def _info(version: str, lengths: Sequence[int], fps: int, cameras: dict[str, str]) -> Any:
    features: dict[str, Any] = {
        k: {"dtype": "float32", "shape": [2], "names": ["a", "b"]}
        for k in ("action", "observation.state")
    }
    for key, kind in cameras.items():
        features[key] = {
            "dtype": kind, "shape": [SIDE, SIDE, 3], "names": ["height", "width", "channels"],
        }  # fmt: skip
    for key in ("timestamp", "frame_index", "episode_index", "index", "task_index"):
        kind = "float32" if key == "timestamp" else "int64"
        features[key] = {"dtype": kind, "shape": [1], "names": None}
    return {
        "codebase_version": version, "robot_type": "arm", "fps": fps, "features": features,
        "total_episodes": len(lengths), "total_frames": int(sum(lengths)), "total_tasks": 2,
        "total_videos": len(lengths) * sum(k == "video" for k in cameras.values()),
        "total_chunks": 1, "chunks_size": 1000, "splits": {"train": f"0:{len(lengths)}"},
    }  # fmt: skip


def write_v21(
    folder: Path, lengths: Sequence[int], *, fps: int = 30, cameras: dict[str, str] | None = None
) -> Path:
    """A v2.1 folder; frame k of the set shows the number k on every camera."""
    cameras = cameras or {}
    info = _info("v2.1", lengths, fps, cameras) | {
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/"
        "episode_{episode_index:06d}.mp4",
    }
    (folder / "meta").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    tasks = [{"task_index": i, "task": f"task {i}"} for i in range(2)]
    _lines(folder / "meta" / "tasks.jsonl", tasks)
    first, rows, stats = 0, [], []
    for e, length in enumerate(lengths):
        table = rows_of(e, first, length, fps)
        shown = list(range(first, first + length))
        for key, kind in cameras.items():
            if kind == "video":
                name = f"videos/chunk-000/{key}/episode_{e:06d}.mp4"
                write_video(folder / name, shown, fps)
            else:
                cells = [{"bytes": png(n), "path": f"frame_{n:06d}.png"} for n in shown]
                table = table.append_column(key, pa.array(cells))
        pq.write_table(table, folder / "data" / "chunk-000" / f"episode_{e:06d}.parquet")
        rows.append({"episode_index": e, "tasks": [f"task {e % 2}"], "length": length})
        stats.append({"episode_index": e, "stats": {"action": {"count": [length]}}})
        first += length
    _lines(folder / "meta" / "episodes.jsonl", rows)
    _lines(folder / "meta" / "episodes_stats.jsonl", stats)
    return folder


def write_v30(
    folder: Path, lengths: Sequence[int], *, fps: int = 30, cameras: dict[str, str] | None = None,
    videos: Sequence[Sequence[int]] = (), files: Sequence[Sequence[int]] = (), keys: int = 10,
) -> Path:  # fmt: skip
    """A v3.0 folder likewise.

    videos: which episodes lie in each video file; all in one by default. files: likewise
    for the data files.
    """
    cameras = cameras or {}
    every = [list(range(len(lengths)))]
    info = _info("v3.0", lengths, fps, cameras) | {
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    }
    (folder / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    (folder / "meta" / "stats.json").write_text("{}")
    tasks = pa.table({"task_index": [0, 1], "task": ["task 0", "task 1"]})
    pq.write_table(tasks, folder / "meta" / "tasks.parquet")
    ends = np.cumsum(lengths)
    firsts = ends - np.array(lengths)
    where: dict[str, list[Any]] = {
        "episode_index": list(range(len(lengths))),
        "tasks": [[f"task {e % 2}"] for e in range(len(lengths))],
        "length": list(lengths),
        "dataset_from_index": firsts.tolist(),
        "dataset_to_index": ends.tolist(),
        "data/chunk_index": [0] * len(lengths),
        "data/file_index": [0] * len(lengths),
        "meta/episodes/chunk_index": [0] * len(lengths),
        "meta/episodes/file_index": [0] * len(lengths),
    }
    for f, members in enumerate(files or every):
        tables = []
        for e in members:
            where["data/file_index"][e] = f
            table = rows_of(e, int(firsts[e]), lengths[e], fps)
            for key in (k for k, kind in cameras.items() if kind == "image"):
                shown = range(int(firsts[e]), int(ends[e]))
                cells = [{"bytes": png(n), "path": f"frame_{n:06d}.png"} for n in shown]
                table = table.append_column(key, pa.array(cells))
            tables.append(table)
        target = folder / "data" / "chunk-000" / f"file-{f:03d}.parquet"
        pq.write_table(pa.concat_tables(tables), target)
    for key in (k for k, kind in cameras.items() if kind == "video"):
        columns: dict[str, list[Any]] = {
            n: [0] * len(lengths)
            for n in ("chunk_index", "file_index", "from_timestamp", "to_timestamp")
        }
        for f, members in enumerate(videos or every):
            shown, seconds = [], 0.0
            for e in members:
                shown += range(int(firsts[e]), int(ends[e]))
                columns["file_index"][e] = f
                columns["from_timestamp"][e] = seconds
                seconds += lengths[e] / fps  # summed, as recorders do
                columns["to_timestamp"][e] = seconds
            name = f"videos/{key}/chunk-000/file-{f:03d}.mp4"
            write_video(folder / name, shown, fps, keys)
        where |= {f"videos/{key}/{n}": v for n, v in columns.items()}
    pq.write_table(pa.table(where), folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet")
    return folder


def _lines(path: Path, rows: Sequence[Any]) -> None:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
