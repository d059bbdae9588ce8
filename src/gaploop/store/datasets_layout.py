"""How a LeRobot folder is laid out, and what its info.json says: v3.0 here, v2.1 beside.

meta/info.json                            counts, rate, features, path patterns
meta/stats.json                           statistics a feature
meta/tasks.parquet                        task texts
meta/episodes/chunk-000/file-000.parquet  a row an episode
data/chunk-000/file-000.parquet           a row a frame
meta/gaploop/                             the sidecar: what the format cannot say

v2.1 keeps an episode a file, and its tables as JSON lines:
data/chunk-000/episode_000000.parquet, meta/tasks.jsonl, meta/episodes.jsonl.
"""

import contextlib
import re
import string
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import msgspec

from gaploop.core.errors import InputError
from gaploop.store.arrow import pa

T = TypeVar("T")

VERSION = "v3.0"
OLD = "v2.1"
INFO = "meta/info.json"
STATS = "meta/stats.json"
TASKS = "meta/tasks.parquet"
EPISODES = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
OLD_DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
OLD_VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
OLD_TASKS = "meta/tasks.jsonl"
OLD_EPISODES = "meta/episodes.jsonl"
OLD_STATS = "meta/episodes_stats.jsonl"
VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
SIDECAR = "meta/gaploop/dataset.json"
SIDECAR_EPISODES = "meta/gaploop/episodes.jsonl"

COUNTERS = ("timestamp", "frame_index", "episode_index", "index", "task_index")
"""Columns that every dataset has and that are no signals."""
FILES_A_CHUNK = 1000
MEGABYTES_A_FILE = 100
GRID_TOLERANCE = 1e-4
"""Seconds a stamp may lie off frame_index / fps; LeRobot's own limit."""

_MAX_JSON = 64 << 20
_MAX_WIDTH = 1 << 20
_FIELDS = {"chunk_index", "file_index", "episode_chunk", "episode_index", "video_key"}
_NUMBERS = re.compile(r"^(float(16|32|64)|u?int(8|16|32|64)|bool)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureInfo:
    """One feature as info.json declares it."""

    dtype: str
    """NumPy name of the number type."""
    shape: tuple[int, ...]
    """Of one frame; (1,) for a scalar."""
    names: tuple[str, ...] = ()
    """Column names, empty where none are given."""

    @property
    def width(self) -> int:
        """Numbers a frame."""
        total = 1
        for n in self.shape:
            total *= n
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureInfo:
    """A camera as info.json declares it."""

    kind: str
    """`image`: encoded, a cell a frame of the data files. `video`: in files of its own."""
    height: int
    """Pixels; 0 where the shape does not say it."""
    width: int
    codec: str = ""
    """Of a video, empty where it is not stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """What a dataset holds, without its frames."""

    path: Path
    fps: float
    """Frames a second."""
    robot: str
    """Robot type, empty where none is given."""
    features: dict[str, FeatureInfo]
    """Signals by key; counters, cameras and texts are not among them."""
    cameras: dict[str, PictureInfo]
    """Image and video keys."""
    episodes: int
    frames: int
    data_path: str = DATA
    """Pattern of the data files."""
    video_path: str = VIDEO
    """Pattern of the video files."""
    version: str = VERSION
    chunk_size: int = FILES_A_CHUNK
    """Episodes a folder, in v2.1."""
    splits: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Name to first episode and the one after the last."""


class _Feature(msgspec.Struct):
    dtype: str
    shape: list[Annotated[int, msgspec.Meta(ge=0, le=_MAX_WIDTH)]] = []
    names: Any = None
    info: dict[str, Any] | None = None


class _Info(msgspec.Struct):
    codebase_version: str
    fps: Annotated[float, msgspec.Meta(gt=0, le=1e6)]
    features: dict[str, _Feature]
    total_episodes: Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
    total_frames: Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
    robot_type: str | None = None
    data_path: str = DATA
    video_path: str | None = None
    chunks_size: Annotated[int, msgspec.Meta(ge=1, le=1 << 40)] = FILES_A_CHUNK
    splits: dict[str, Any] | None = None


def load_info(root: Path) -> DatasetInfo:
    """Reads and checks meta/info.json.

    Raises:
      InputError: when the folder is no LeRobot v3.0 dataset.
    """
    if not root.exists():
        raise InputError(f"{root} does not exist.", hint="Expected the folder of a dataset.")
    path = root / INFO
    if not path.is_file():
        raise InputError(
            f"{root} is no dataset: it has no {INFO}.",
            hint="Expected a LeRobot v3.0 folder.",
        )
    raw = read_json(path, _Info)
    if raw.codebase_version not in (VERSION, OLD):
        raise InputError(
            f"{path} says version {raw.codebase_version!r}, and {OLD} and {VERSION} are read.",
            hint="LeRobot converts older datasets to v2.1.",
        )
    old = raw.codebase_version == OLD
    video = raw.video_path or (OLD_VIDEO if old else VIDEO)
    for name, pattern in (("data_path", raw.data_path), ("video_path", video)):
        _check_pattern(path, name, pattern)
    signals = {
        key: _feature(path, key, f)
        for key, f in raw.features.items()
        if key not in COUNTERS and _NUMBERS.match(f.dtype)
    }
    pictures = {
        k: _picture(f) for k, f in raw.features.items() if f.dtype in ("image", "video")
    }  # fmt: skip
    return DatasetInfo(
        path=root,
        fps=raw.fps,
        robot=raw.robot_type or "",
        features=signals,
        cameras=pictures,
        episodes=raw.total_episodes,
        frames=raw.total_frames,
        data_path=raw.data_path,
        video_path=video,
        version=raw.codebase_version,
        chunk_size=raw.chunks_size,
        splits=_splits(raw.splits or {}),
    )


def data_file(info: DatasetInfo, chunk: int, file: int) -> Path:
    """Path of a data file, which must lie inside the dataset.

    file: index of the file in its chunk; of v2.1, of the episode.

    Raises:
      InputError: when the pattern leads out of the folder.
    """
    return _inside(info, info.data_path, chunk, file, "")


def video_file(info: DatasetInfo, key: str, chunk: int, file: int) -> Path:
    """Path of a camera's video, likewise."""
    return _inside(info, info.video_path, chunk, file, key)


def _inside(info: DatasetInfo, pattern: str, chunk: int, file: int, key: str) -> Path:
    root = info.path.resolve()
    path = root / pattern.format(
        chunk_index=chunk, file_index=file, episode_chunk=chunk, episode_index=file, video_key=key
    )
    try:
        inside = path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a link that leads to itself
        inside = False
    if not inside:
        raise InputError(
            f"{path} leads out of the folder {root}.",
            hint="Expected plain files, no links to somewhere else.",
        )
    return path


def read_json(path: Path, cls: type[T]) -> T:
    """A JSON file as `cls`, or InputError."""
    with reading(path):
        if path.stat().st_size > _MAX_JSON:
            raise InputError(f"{path} is larger than {_MAX_JSON >> 20} MiB.")
        return msgspec.json.decode(path.read_bytes(), type=cls)


@contextlib.contextmanager
def reading(path: Path) -> Generator[None, None, None]:
    """Turns whatever a damaged file makes a library raise into one sentence."""
    try:
        yield
    except (
        pa.ArrowException, msgspec.MsgspecError, OSError, ValueError, TypeError, KeyError,
        IndexError, MemoryError, OverflowError, NotImplementedError, RecursionError,
    ) as error:  # fmt: skip
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise InputError(
            f"{path} cannot be read: {reason.rstrip('.')}.",
            hint="Expected a whole file as LeRobot writes it; copy the dataset again.",
        ) from error


def _check_pattern(path: Path, key: str, pattern: str) -> None:
    with reading(path):
        for _, name, spec, conversion in string.Formatter().parse(pattern):
            plain = name is None or (name in _FIELDS and not conversion)
            number = "" if name == "video_key" else r"(0?\d{1,2}d)?"
            if not plain or not re.fullmatch(number, spec or ""):
                raise ValueError(f"{key} {pattern!r} is no pattern of chunk and file index")
    if not pattern.strip("./"):
        raise InputError(f"{path}: {key} is {pattern!r}; expected a pattern such as {DATA}.")
    if pattern.startswith("/") or ".." in Path(pattern).parts or "\0" in pattern:
        raise InputError(f"{path}: {key} {pattern!r} leads out of the folder.")


def _picture(raw: _Feature) -> PictureInfo:
    """Shapes are (height, width, channels) or, with names that say so, channels first."""
    shape = raw.shape
    names: Any = raw.names
    listed = cast(list[Any], names) if isinstance(names, list) else []
    first = bool(listed) and str(listed[0]).startswith("channel")
    sides = (shape[1:] if first else shape[:2]) if len(shape) == 3 else [0, 0]
    told = (raw.info or {}).get("video.codec")
    return PictureInfo(
        kind=raw.dtype, height=sides[0], width=sides[1], codec=told if isinstance(told, str) else ""
    )


def _splits(raw: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """`{"train": "0:450"}` as ranges; what is written otherwise says nothing."""
    found: dict[str, tuple[int, int]] = {}
    for name, span in raw.items():
        ends = re.fullmatch(r"(\d{1,12}):(\d{1,12})", str(span))
        if ends is not None:
            found[name] = (int(ends[1]), int(ends[2]))
    return found


def _feature(path: Path, key: str, raw: _Feature) -> FeatureInfo:
    shape = tuple(raw.shape) or (1,)
    width = FeatureInfo(dtype=raw.dtype, shape=shape).width
    if not 1 <= width <= _MAX_WIDTH:
        raise InputError(f"{path}: feature {key!r} has shape {list(shape)}.")
    names: Any = raw.names
    if isinstance(names, dict):  # {"motors": [...]}, as older recordings have it
        inner = cast(dict[str, Any], names)
        names = next(iter(inner.values())) if len(inner) == 1 else list(inner)
    listed = cast(list[Any], names) if isinstance(names, list) else []
    fits = len(listed) == width and all(isinstance(n, str) for n in listed)
    return FeatureInfo(dtype=raw.dtype, shape=shape, names=tuple(listed) if fits else ())
