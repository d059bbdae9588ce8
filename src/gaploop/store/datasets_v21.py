"""The tables of v2.1, as JSON lines, in the shape of those of v3.0."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from gaploop.store import datasets_layout as layout
from gaploop.store.datasets_layout import DatasetInfo, reading

_MAX = 256 << 20
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


class Row(msgspec.Struct):
    """A line of meta/episodes.jsonl."""

    episode_index: _Count
    length: _Count
    tasks: list[str] = []


class _Task(msgspec.Struct):
    task_index: int
    task: str | None = None


def load_rows(info: DatasetInfo) -> list[Row]:
    """meta/episodes.jsonl, in order of the episodes."""
    rows = _lines(info.path / layout.OLD_EPISODES, Row)
    return sorted(rows, key=lambda r: r.episode_index)


def load_tasks(path: Path) -> dict[int, str]:
    """meta/tasks.jsonl: task index to text."""
    return {t.task_index: t.task or "" for t in _lines(path, _Task)}


def places_of(info: DatasetInfo, names: tuple[str, ...]) -> np.ndarray:
    """(episodes,) structured array as `datasets_tables.load_places` gives it."""
    rows = load_rows(info)
    places = np.zeros(len(rows), dtype=[(n, np.int64) for n in names])
    places["episode_index"] = [r.episode_index for r in rows]
    places["length"] = [r.length for r in rows]
    ends = np.cumsum(places["length"])
    places["dataset_from_index"], places["dataset_to_index"] = ends - places["length"], ends
    places["data/chunk_index"] = places["episode_index"] // info.chunk_size
    places["data/file_index"] = places["episode_index"]
    return places


def _lines(path: Path, cls: Any) -> list[Any]:
    with reading(path):
        if path.stat().st_size > _MAX:
            raise ValueError(f"it is larger than {_MAX >> 20} MiB")
        decoder = msgspec.json.Decoder(cls)
        found: list[Any] = []
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            if line.strip():
                try:
                    found.append(decoder.decode(line))
                except msgspec.MsgspecError as error:
                    raise ValueError(f"line {number}: {error}") from error
        return found
