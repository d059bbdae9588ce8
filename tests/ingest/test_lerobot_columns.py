"""Columns of a LeRobot set: the same findings as episode by episode, and damage gone past."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaploop.core import Contract, Episode, InputError, Label, Loss, Signal, declared
from gaploop.ingest import ScreenConfig, check
from gaploop.ingest.checks import Batch, batches, examine
from gaploop.ingest.readers.lerobot import LeRobotReader
from gaploop.ingest.readers.lerobot_columns import read_columns
from gaploop.store.datasets import write_dataset
from gaploop.store.datasets_blocks import Block, blocks
from gaploop.store.datasets_layout import load_info

FPS = 20.0


def _episode(seed: int, frames: int = 120) -> Episode:
    rng = np.random.default_rng(seed)
    times = np.arange(frames) / FPS
    action = 0.4 * np.sin(times[:, None] * rng.uniform(0.5, 1.5, 2) + rng.uniform(0, 6, 2))
    state = np.roll(action, 2, axis=0) + 1e-3 * rng.standard_normal(action.shape)
    state[:2] = action[0]
    if seed == 3:
        state[7, 1] = np.nan
    if seed == 4:
        state[:, 0] *= -1
    signals = {
        key: Signal(name=key, unit="rad", columns=("a", "b"), times=times, values=x)
        for key, x in (("action", action), ("observation.state", state))
    }
    success = None if seed == 5 else seed % 2 == 0
    outcome = Label(subject="", key="outcome", value={"success": success}, author="test")
    contract = Contract(action_mode=declared("absolute"), log_rate=declared(FPS))
    return Episode(
        signals=signals, contract=contract, robot="arm", instruction="reach", facts=(outcome,)
    )


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Seven episodes; one with NaN, one with a joint the wrong way round."""
    episodes = [_episode(s, 100 + 10 * s) for s in range(7)]
    write_dataset(tmp_path / "set", episodes, fps=FPS, robot="arm", finite=False)
    return tmp_path / "set"


def _told(read) -> list[tuple[int, str, str, str]]:
    seen = examine(read, ScreenConfig())[1]
    return sorted((e, s.code, s.severity, s.feature) for e, s in seen)


@pytest.mark.parametrize("ours", [True, False])
def test_the_findings_are_those_of_episodes(dataset: Path, ours: bool) -> None:
    if not ours:
        shutil.rmtree(dataset / "meta" / "gaploop")
    found = [b for b in read_columns(dataset) if isinstance(b, Batch)]
    told = _told(found)
    assert told == _told(batches(LeRobotReader(finite=False).read(dataset)))
    assert {(e, c) for e, c, *_ in told if c in ("nan", "joint_sign")} == {
        (3, "nan"), (4, "joint_sign")
    }  # fmt: skip


@pytest.mark.parametrize("rows", [1, 130, 10**6])
def test_blocks_hold_whole_episodes_whatever_their_size(dataset: Path, rows: int) -> None:
    found = list(blocks(load_info(dataset), rows))
    assert all(isinstance(b, Block) for b in found)
    lengths = [n for b in found if isinstance(b, Block) for n in np.diff(b.bounds)]
    assert lengths == [100 + 10 * s for s in range(7)]
    episodes = LeRobotReader(finite=False).read(dataset)
    table = np.concatenate([b.columns["action"] for b in found if isinstance(b, Block)])
    whole = np.concatenate([e.signals["action"].values for e in episodes])
    assert np.array_equal(table, whole.astype(np.float32))


def _in_files(dataset: Path) -> list[Path]:
    """The same rows, an episode a file."""
    source = dataset / "data" / "chunk-000" / "file-000.parquet"
    table = pq.read_table(source)
    source.unlink()
    column = np.asarray(table.column("episode_index"))
    paths: list[Path] = []
    for e in np.unique(column):
        path = source.with_name(f"file-{e:03d}.parquet")
        pq.write_table(table.filter(pa.array(column == e)), path)
        paths.append(path)
    return paths


def test_a_cut_file_is_a_loss_and_the_others_are_checked(dataset: Path) -> None:
    paths = _in_files(dataset)
    content = paths[2].read_bytes()
    paths[2].write_bytes(content[: len(content) * 2 // 3])
    found = list(read_columns(dataset))
    losses = [item for item in found if isinstance(item, Loss)]
    assert len(losses) == 1
    assert losses[0].source.endswith("file-002.parquet")
    assert sum(b.episodes for b in found if isinstance(b, Batch)) == 6
    report = check(dataset)
    assert report.episodes == 6
    assert report.findings[0].severity == "error"
    assert "truncated_file" in {f.code for f in report.findings}


def test_the_same_attempt_on_both_sides_of_a_split(tmp_path: Path) -> None:
    episodes = [_episode(s) for s in (0, 1, 2, 6, 0)]
    write_dataset(tmp_path / "set", episodes, fps=FPS, robot="arm")
    path = tmp_path / "set" / "meta" / "info.json"
    info = json.loads(path.read_text())
    info["splits"] = {"train": "0:4", "test": "4:5", "odd": "all of them"}
    path.write_text(json.dumps(info))
    found = {f.code: f.episodes for f in check(tmp_path / "set").findings}
    assert found["leakage"] == (4,)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        next(read_columns(tmp_path / "nothing"))
