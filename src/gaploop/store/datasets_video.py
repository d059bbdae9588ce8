"""The cameras of a dataset: which frames of which file an episode shows, decoded when asked for.

A frame is found by its number, round(stamp * fps), counted from the start of the file:
stamps are never summed, so the last episode of a long file is as exact as the first.
Needs the extra `video` (PyAV) once frames are asked for, and not before.
"""

import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core.camera import Camera
from gaploop.core.errors import InputError
from gaploop.store.arrow import pq
from gaploop.store.datasets_layout import DatasetInfo, reading, video_file
from gaploop.store.datasets_tables import load_table


@dataclass(frozen=True, slots=True)
class Clip:
    """The frames of one episode in a video."""

    path: Path
    first: int
    """Number of its first frame in the file."""
    length: int


class Videos:
    """Where each episode's frames lie, for every camera with files of its own."""

    def __init__(self, info: DatasetInfo, lengths: np.ndarray) -> None:
        """lengths: (episodes,) frames of each.

        Raises:
          InputError: when the episodes table does not say it.
        """
        self.info, self._lengths = info, lengths
        self._tables: dict[str, np.ndarray] = {}
        self._paths: dict[tuple[str, int, int], Path] = {}
        self.keys = tuple(k for k, p in info.cameras.items() if p.kind == "video")

    def clip(self, key: str, episode: int) -> Clip:
        """The frames of one episode.

        Raises:
          InputError: when the tables do not say where, or lead out of the folder.
        """
        length = int(self._lengths[episode])
        if self.info.version != "v3.0":
            chunk = episode // self.info.chunk_size
            return Clip(video_file(self.info, key, chunk, episode), 0, length)
        row = self._table(key)[episode]
        chunk, file, start = (row[n] for n in self._names(key))
        if not (np.isfinite(start) and 0 <= start < 1e9):
            raise InputError(f"{self.info.path}, episode {episode}: {key} starts at {start} s.")
        where = (key, int(chunk), int(file))
        path = self._paths.get(where)
        if path is None:  # a file holds many episodes
            path = self._paths[where] = video_file(self.info, *where)
        return Clip(path, round(float(start) * self.info.fps), length)

    def _table(self, key: str) -> np.ndarray:
        if key not in self._tables:
            *whole, start = self._names(key)
            self._tables[key] = load_table(self.info, ("episode_index", *whole), (start,))
        return self._tables[key]

    @staticmethod
    def _names(key: str) -> tuple[str, str, str]:
        return (
            f"videos/{key}/chunk_index",
            f"videos/{key}/file_index",
            f"videos/{key}/from_timestamp",
        )


def film(videos: Videos, key: str, episode: int, times: np.ndarray) -> Camera:
    """A camera whose frames lie in a video."""
    told = videos.info.cameras[key]

    def frames() -> Iterator[np.ndarray]:
        return decoded(videos.clip(key, episode), videos.info.fps)

    return Camera(
        name=key, times=times, height=told.height, width=told.width, encoding=told.codec,
        frames=frames,
    )  # fmt: skip


def stills(info: DatasetInfo, key: str, path: Path, first: int, times: np.ndarray) -> Camera:
    """A camera whose frames lie, encoded, in rows [first, first + T) of a data file."""
    told = info.cameras[key]

    def frames() -> Iterator[np.ndarray]:
        for row, content in enumerate(encoded(path, key, first, len(times)), start=first):
            yield still(content, f"{path}, row {row}, {key}")

    return Camera(
        name=key, times=times, height=told.height, width=told.width, encoding="png", frames=frames
    )


def encoded(path: Path, key: str, first: int, length: int) -> Iterator[bytes]:
    """The pictures of some rows as they are stored, a row group's at a time.

    Raises:
      InputError: naming the file and the row.
    """
    with reading(path):
        file: Any = pq.ParquetFile(path)
        if key not in file.schema_arrow.names:
            raise ValueError(f"column {key!r} is missing")
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    low = int(np.searchsorted(starts, first, side="right")) - 1
    high = int(np.searchsorted(starts, first + length, side="left"))
    batches = file.iter_batches(16, row_groups=range(low, high), columns=[key], use_threads=False)
    row = int(starts[low])
    while row < first + length:
        with reading(path):
            batch = next(batches, None)
            cells: list[Any] = [] if batch is None else batch.column(0).to_pylist()
        if batch is None:
            raise InputError(f"{path} ends at row {row}, and {key} was to reach {first + length}.")
        for cell in cells:
            if first <= row < first + length:
                content: Any = cell["bytes"] if hasattr(cell, "keys") else cell
                if not isinstance(content, bytes):
                    raise InputError(f"{path}, row {row}: {key} holds no picture.")
                yield content
            row += 1


def decoded(clip: Clip, fps: float) -> Iterator[np.ndarray]:
    """(H, W, 3) uint8 RGB, exactly `clip.length` of them.

    Raises:
      InputError: naming the file and the frame that is damaged, missing or there twice.
    """
    av = _av()
    done = 0
    try:
        with av.open(str(clip.path)) as container:
            stream = container.streams.video[0]
            stream.thread_type = "NONE"
            base, start = stream.time_base, stream.start_time or 0
            container.seek(int(clip.first / fps / base) + start, stream=stream)
            for frame in container.decode(stream):
                number = round(float((frame.pts - start) * base) * fps)
                if number < clip.first:
                    continue
                if number != clip.first + done:
                    raise ValueError(f"frame {clip.first + done} is missing")
                yield frame.to_ndarray(format="rgb24")
                done += 1
                if done == clip.length:
                    return
        raise ValueError(f"it ends after frame {clip.first + done - 1}")
    except (OSError, ValueError, TypeError, IndexError, av.FFmpegError) as error:
        raise InputError(
            f"{clip.path}, frame {clip.first + done} at {fps:g} Hz cannot be read: "
            f"{str(error).rstrip('.')[:160]}.",
            hint=f"{clip.length} frames were expected from frame {clip.first} on.",
        ) from error


def count_frames(path: Path) -> int | None:
    """Frames of a video by its own account; None where it has none, or PyAV is missing.

    Raises:
      InputError: when the file cannot be opened.
    """
    try:
        av = _av()
    except InputError:
        return None
    try:
        with av.open(str(path)) as container:
            return container.streams.video[0].frames or None
    except (OSError, ValueError, IndexError, av.FFmpegError) as error:
        raise InputError(f"{path} cannot be opened: {str(error).rstrip('.')[:160]}.") from error


def copy_clip(videos: Videos, key: str, episode: int, target: Path) -> None:
    """The frames of one episode as a file of their own, without encoding them anew.

    Raises:
      InputError: when the clip does not begin at a key frame, or frames are missing.
    """
    clip, fps = videos.clip(key, episode), videos.info.fps
    target.parent.mkdir(parents=True, exist_ok=True)
    if not clip.path.is_file():
        raise InputError(f"{clip.path} is missing.", hint="Copy the dataset again.")
    av = _av()
    try:
        with av.open(str(clip.path)) as container:
            stream = container.streams.video[0]
            if clip.first == 0 and stream.frames == clip.length:
                container.close()
                shutil.copyfile(clip.path, target)
                return
            _remux(av, container, stream, clip, fps, target)
    except (OSError, ValueError, TypeError, IndexError, av.FFmpegError) as error:
        raise InputError(
            f"{clip.path}, frames {clip.first} to {clip.first + clip.length - 1}: they cannot be "
            f"taken out as they are ({str(error).rstrip('.')[:160]}).",
            hint="Only clips that begin at a key frame can be cut without encoding them anew.",
        ) from error


def _remux(av: Any, container: Any, stream: Any, clip: Clip, fps: float, target: Path) -> None:
    base, start = stream.time_base, stream.start_time or 0
    container.seek(int(clip.first / fps / base) + start, stream=stream)
    kept = 0
    with av.open(str(target), "w") as out:
        copy = out.add_stream_from_template(stream)
        for packet in container.demux(stream):
            if packet.pts is None or packet.dts is None:
                continue
            number = round(float((packet.pts - start) * base) * fps) - clip.first
            if kept == 0 and (number != 0 or not packet.is_keyframe):
                if number < 0:
                    continue
                raise ValueError("the first frame is no key frame")
            if 0 <= number < clip.length:
                shift = round(clip.first / fps / base) + start
                packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
                packet.stream = copy
                out.mux(packet)
                kept += 1
            elif number < 0:
                raise ValueError("a frame leans on one before the clip")
            if kept == clip.length:
                return
    raise ValueError(f"{kept} frames are there")


def still(content: bytes, where: str) -> np.ndarray:
    """One encoded picture (PNG, JPEG, ...) as (H, W, 3) uint8 RGB.

    Raises:
      InputError: saying `where`, when it cannot be decoded.
    """
    av = _av()
    try:
        with av.open(io.BytesIO(content)) as container:
            return next(container.decode(video=0)).to_ndarray(format="rgb24")
    except (OSError, ValueError, StopIteration, IndexError, av.FFmpegError) as error:
        raise InputError(f"{where} is no picture that can be decoded: {error}.") from error


def _av() -> Any:
    try:
        import av  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise InputError(
            "Pictures cannot be decoded: PyAV is not installed.",
            hint="pip install 'gaploop[video]'",
        ) from None
    return av
