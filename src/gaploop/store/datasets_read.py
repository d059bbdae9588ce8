"""Reads LeRobot v3.0 and v2.1 datasets, whoever wrote them. What is wrong is an InputError."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core.camera import Camera
from gaploop.core.contract import Contract, Feature, declared
from gaploop.core.episode import HELD, Episode
from gaploop.core.errors import InputError
from gaploop.core.label import Label
from gaploop.core.signal import Signal
from gaploop.store import datasets_layout as layout
from gaploop.store.datasets_frames import DataFile, Where, check_counters, stamps
from gaploop.store.datasets_layout import DatasetInfo, FeatureInfo, data_file, load_info
from gaploop.store.datasets_tables import (
    Lines,
    file_of_each,
    load_places,
    load_sidecar,
    load_tasks,
)  # fmt: skip
from gaploop.store.datasets_video import Videos, film, stills

_HELD = ("intervention", "is_intervention", "complementary_info.is_intervention")
"""Per-frame marks of a person at the controls, as LeRobot's recorders call them."""


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
        self._tasks = load_tasks(self.info)
        self._places = load_places(self.info)
        self._side = load_sidecar(self.info)
        self._starts, self._expected = file_of_each(self._places)
        self._videos = Videos(self.info, self._places["length"])
        self._file: DataFile | None = None

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
        where = Where(path, first)
        check_counters(rows, index, where)
        times = stamps(rows["timestamp"], self.info.fps, where)
        signals = {
            key: self._signal(key, feature, rows[key], times, where)
            for key, feature in self.info.features.items()
        }
        task = int(rows["task_index"][0])
        if task not in self._tasks:
            raise where.error(0, f"task {task} is not in the table of tasks")
        episode = self._episode(index, signals, self._tasks[task], where)
        return replace(episode, cameras=self._cameras(index, times, where))

    # -- inside -------------------------------------------------------------

    def _data(self, path: Path, index: int) -> "DataFile":
        if self._file is None or self._file.path != path:
            self._file = DataFile(path, self.info, int(self._expected[index]))
        return self._file

    def _signal(
        self, key: str, feature: FeatureInfo, values: np.ndarray, times: np.ndarray, where: "Where"
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

    def _cameras(self, index: int, times: np.ndarray, where: "Where") -> dict[str, Camera]:
        films = {k: film(self._videos, k, index, times) for k in self._videos.keys}
        rest = [k for k in self.info.cameras if k not in films]
        return films | {k: stills(self.info, k, where.path, where.first, times) for k in rest}

    def _episode(
        self, index: int, signals: dict[str, Signal], text: str, where: "Where"
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
        if episode.id != line.id:
            raise where.error(0, f"episode {index} is not what was written: its id differs")
        return episode

    @cached_property
    def _contract(self) -> Contract:
        return declared_by(self.info)

    @cached_property
    def _lines(self) -> "Lines":
        return Lines(self.info.path / layout.SIDECAR_EPISODES, len(self))


def declared_by(info: DatasetInfo) -> Contract:
    """What info.json itself declares, and not more."""
    features = tuple(Feature(key=k, columns=f.names) for k, f in info.features.items())
    return Contract(features=features, log_rate=declared(info.fps))


def _foreign(
    info: DatasetInfo, signals: dict[str, Signal], text: str, source: str, contract: Contract
) -> Episode:
    """An episode of a dataset without a sidecar: what it says, and nothing more."""
    episode = Episode(
        signals=signals, contract=contract, robot=info.robot, task=text, instruction=text,
        source=source,
    )  # fmt: skip
    facts: list[Label] = []
    if "next.success" in signals:
        success = bool(signals["next.success"].values.any())
        facts.append(
            Label(
                subject=episode.id, key="outcome", value={"success": success},
                author="next.success",
            )
        )  # fmt: skip
    for key in _HELD:
        if key in signals:
            facts += [
                Label(subject=episode.id, key=HELD, value={"by": "a person"}, author=key, span=span)
                for span in held_spans(signals[key])
            ]
    return replace(episode, facts=tuple(facts)) if facts else episode


def held_spans(signal: Signal) -> list[tuple[float, float]]:
    """(first, last) s of each stretch in which a person held the robot."""
    held = np.concatenate([[False], np.ravel(signal.values) > 0, [False]])
    edges = np.flatnonzero(np.diff(held.astype(np.int8)))
    return [
        (float(signal.times[a]), float(signal.times[b - 1]))
        for a, b in zip(edges[::2], edges[1::2], strict=True)
    ]
