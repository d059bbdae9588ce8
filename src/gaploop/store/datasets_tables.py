"""The small tables of a dataset: tasks, episodes, and the sidecar's lines."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gaploop.core.errors import InputError
from gaploop.core.label import Label
from gaploop.store import codec, datasets_v21
from gaploop.store import datasets_layout as layout
from gaploop.store.arrow import pa, pq
from gaploop.store.datasets_frames import numbers
from gaploop.store.datasets_layout import DatasetInfo, reading
from gaploop.store.datasets_sidecar import FORMAT, DatasetSidecar, EpisodeSidecar

PLACES = (
    "episode_index", "length", "dataset_from_index", "dataset_to_index",
    "data/chunk_index", "data/file_index",
)  # fmt: skip


def load_tasks(info: DatasetInfo) -> dict[int, str]:
    """Task index to text; the text is the index of a data frame, under whatever name."""
    old = info.path / layout.OLD_TASKS
    path = info.path / layout.TASKS
    if info.version == layout.OLD or (old.is_file() and not path.is_file()):
        return datasets_v21.load_tasks(old)
    with reading(path):
        # of read_table half of pyarrow would be loaded
        table = pq.ParquetFile(path).read(use_threads=False)
        texts = [
            f.name
            for f in table.schema
            if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)
        ]
        if "task_index" not in table.column_names or not texts:
            raise ValueError("expected the columns task and task_index")
        name = "task" if "task" in texts else texts[0]
        indexes = numbers(table, "task_index", len(table), 1)[:, 0].tolist()
        words = table.column(name).to_pylist()
        return {int(i): str(t or "") for i, t in zip(indexes, words, strict=True)}


def load_places(info: DatasetInfo) -> np.ndarray:
    """(episodes,) structured array: where each episode lies. Checked against info.json."""
    if info.version == layout.OLD:
        places, folder = datasets_v21.places_of(info, PLACES), info.path / layout.OLD_EPISODES
    else:
        folder = info.path / "meta" / "episodes"
        places = load_table(info, PLACES)
    _check_places(info, places, folder)
    return places


def load_table(info: DatasetInfo, names: Sequence[str], real: Sequence[str] = ()) -> np.ndarray:
    """(episodes,) columns of v3.0's episodes table, in order of the episodes.

    names: integer columns; real: those of other numbers.

    Raises:
      InputError: when there is no table, or it lacks a column.
    """
    folder = info.path / "meta" / "episodes"
    files = sorted(folder.glob("*/*.parquet"))
    if not files:
        raise InputError(f"{folder} holds no Parquet file.", hint="Copy the dataset again.")
    kinds = [(n, np.int64) for n in names] + [(n, np.float64) for n in real]
    parts: list[np.ndarray] = []
    for path in files:
        with reading(path):
            # of read_table a name with dots would be a path into a struct
            file: Any = pq.ParquetFile(path, page_checksum_verification=True)
            table = file.read(columns=[n for n, _ in kinds], use_threads=False)
            part = np.empty(len(table), dtype=kinds)
            for name, _ in kinds:
                part[name] = numbers(table, name, len(table), 1)[:, 0]
            parts.append(part)
    found = np.concatenate(parts)
    return found[np.argsort(found["episode_index"], kind="stable")]


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


def file_of_each(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each episode: index of the first frame in its file, and that file's rows."""
    same = places[["data/chunk_index", "data/file_index"]]
    _, first, file = np.unique(same, return_index=True, return_inverse=True)
    rows = np.bincount(file, weights=places["length"]).astype(np.int64)
    return places["dataset_from_index"][first][file], rows[file]


def _follows(places: np.ndarray) -> np.ndarray:
    return places["dataset_from_index"][1:] == places["dataset_to_index"][:-1]


def load_sidecar(info: DatasetInfo) -> DatasetSidecar | None:
    path = info.path / layout.SIDECAR
    if not os.path.lexists(path):
        if os.path.lexists(info.path / layout.SIDECAR_EPISODES):
            raise InputError(
                f"{path} is missing, and {layout.SIDECAR_EPISODES} is there.",
                hint="Copy the dataset again: without it nobody knows what its episodes were.",
            )
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


class _Outcome(msgspec.Struct):
    """What the stages read of the fact `outcome`; it may say more."""

    success: bool | None
    margin: float | None = None


_FACTS: dict[str, Any] = {"outcome": _Outcome, "layout": dict[str, float] | list[float]}
"""Facts that the stages reckon with, and what they have to be."""


def _check_fact(fact: Label) -> None:
    if fact.key in _FACTS:
        try:
            msgspec.convert(fact.value, _FACTS[fact.key])
        except msgspec.ValidationError as error:
            raise ValueError(f"fact {fact.key!r}: {error}") from error


class Lines:
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
            line = codec.loads(content, EpisodeSidecar)
            for fact in line.facts:
                _check_fact(fact)
            return line
        except (OSError, ValueError) as error:
            raise self.error(index, str(error)) from error

    def error(self, index: int, what: str) -> InputError:
        return InputError(f"{self.path}, line {index + 1}: {what.rstrip('.')}.")
