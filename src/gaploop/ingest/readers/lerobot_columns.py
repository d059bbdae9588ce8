"""LeRobot datasets as columns of many episodes: the fast way for whoever checks them.

Tolerant where the reader is exact: a table or a text that is missing leaves its field
empty, since what is wrong with the files is what the audit says.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gaploop.core import Contract, InputError, Label, Loss
from gaploop.ingest.checks.batch import Batch, Said, Stream, outcomes_of
from gaploop.store import datasets_layout as layout
from gaploop.store.datasets_blocks import Block, blocks
from gaploop.store.datasets_layout import DatasetInfo, load_info
from gaploop.store.datasets_read import declared_by
from gaploop.store.datasets_sidecar import DatasetSidecar
from gaploop.store.datasets_tables import Lines, load_sidecar, load_tasks


def read_columns(path: Path) -> Iterator[Batch | Loss]:
    """Whole episodes in the order of the files, and a Loss for each damaged place.

    Raises:
      InputError: when the folder is no dataset.
    """
    info = load_info(Path(path))
    about = _About(info)
    first = 0
    for block in blocks(info):
        if isinstance(block, Loss):
            yield block
            continue
        yield about.batch(block, first)
        first += len(block.files)


class _About:
    """What the tables beside the frames say."""

    def __init__(self, info: DatasetInfo) -> None:
        self.info = info
        self.tasks: dict[int, str] = {}
        with contextlib.suppress(InputError):
            self.tasks = load_tasks(info)
        self.side: DatasetSidecar | None = load_sidecar(info)
        self.lines = (
            None if self.side is None else Lines(info.path / layout.SIDECAR_EPISODES, info.episodes)
        )
        self.contract = declared_by(info)
        self.edges = sorted((a, b, name) for name, (a, b) in info.splits.items())

    def batch(self, block: Block, first: int) -> Batch:
        times = _times(block, self.info.fps)
        streams = {
            key: self._stream(key, values, times, block.bounds)
            for key, values in sorted(block.columns.items())
        }
        said, contracts = zip(
            *(self._said(block, streams, e, first + e) for e in range(len(block.files))),
            strict=True,
        )
        return Batch(
            first=first, streams=streams, said=said, contracts=contracts, counters=block.counters
        )

    def _stream(
        self, key: str, values: np.ndarray, times: np.ndarray, bounds: np.ndarray
    ) -> Stream:
        meaning = None if self.side is None else self.side.signals.get(key)
        if meaning is None:
            return Stream(key, values, times, bounds, columns=self.info.features[key].names)
        return Stream(key, values, times, bounds, unit=meaning.unit, columns=meaning.columns)

    def _said(
        self, block: Block, streams: dict[str, Stream], e: int, index: int
    ) -> tuple[Said, Contract]:
        source = f"{self.info.path}#{index}"
        split = next((name for a, b, name in self.edges if a <= index < b), "")
        if self.side is not None and self.lines is not None and index < self.info.episodes:
            line = self.lines.read(index)
            contract = self.side.contracts[min(line.contract, len(self.side.contracts) - 1)]
            return (
                Said(
                    robot=line.robot, source=source, text=line.instruction or line.task,
                    rate=self.info.fps, mode=str(contract.action_mode.value or ""),
                    origin=line.origin, split=split, **outcomes_of(line.facts),
                ),
                contract,
            )  # fmt: skip
        text = self.tasks.get(int(block.counters["task_index"][block.bounds[e]]), "")
        facts: tuple[Label, ...] = ()
        if "next.success" in streams:
            success = bool(streams["next.success"].values[streams["next.success"].rows(e)].any())
            facts = (
                Label(subject="", key="outcome", value={"success": success}, author="next.success"),
            )
        return (
            Said(
                robot=self.info.robot, source=source, text=text, rate=self.info.fps, split=split,
                **outcomes_of(facts),
            ),
            self.contract,
        )  # fmt: skip


def _times(block: Block, fps: float) -> np.ndarray:
    """(R,) s; frame / fps where the stored single-precision stamps say just that."""
    stored = block.counters["timestamp"]
    lengths = np.diff(block.bounds)
    frame = np.arange(len(stored)) - np.repeat(block.bounds[:-1], lengths)
    grid = frame / fps
    same = stored.astype(np.float32) == grid.astype(np.float32)
    return grid if same.all() else np.where(same, grid, stored.astype(np.float64))
