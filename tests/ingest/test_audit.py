"""One fault planted in the files of a set, one finding with its episodes; none in healthy ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaploop.ingest import check
from gaploop.store.datasets import convert_dataset

pytest.importorskip("av", reason="videos need the extra video")
from tests.store.lerobot_files import write_v21, write_v30, write_video

TOP = "observation.images.top"
LENGTHS = [14, 12, 15, 13]
EPISODES = Path("meta/episodes/chunk-000/file-000.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four episodes in two data files and two videos, with true statistics."""
    raw = write_v30(
        tmp_path / "raw", LENGTHS, cameras={TOP: "video"}, videos=[[0, 1], [2, 3]],
        files=[[0, 1], [2, 3]],
    )  # fmt: skip
    convert_dataset(
        write_v21(tmp_path / "old", LENGTHS), tmp_path / "true", "v3.0"
    )  # the same rows, for their statistics
    stats = (tmp_path / "true" / "meta" / "stats.json").read_text()
    (raw / "meta" / "stats.json").write_text(stats)
    return raw


def _edit(path: Path, name: str, change: Callable[[list[Any]], None]) -> None:
    table = pq.read_table(path)
    values = table.column(name).to_pylist()
    change(values)
    place = table.column_names.index(name)
    pq.write_table(table.set_column(place, name, pa.array(values)), path)


def _found(folder: Path) -> dict[str, tuple[Any, ...]]:
    return {f.code: f.episodes for f in check(folder).findings if f.severity == "error"}


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_healthy_sets_have_no_finding(folder: Path, tmp_path: Path, version: str) -> None:
    assert _found(folder) == {}
    old = write_v21(tmp_path / "v21", LENGTHS, cameras={TOP: "video"})
    convert_dataset(old, tmp_path / "x", version)
    assert _found(tmp_path / "x") == {}
    assert _found(old) == {}


def test_a_stale_file_index(folder: Path) -> None:
    def change(values: list[int]) -> None:
        values[2] = 0

    _edit(folder / EPISODES, "data/file_index", change)
    assert _found(folder) == {"file_index": (2,)}


def test_a_length_that_is_off_by_one(folder: Path) -> None:
    def change(values: list[int]) -> None:
        values[1] += 1

    _edit(folder / EPISODES, "length", change)
    found = _found(folder)
    assert found["episode_boundary"] == (1,)


def test_boundaries_that_do_not_follow(folder: Path) -> None:
    def change(values: list[int]) -> None:
        values[2] += 3

    _edit(folder / EPISODES, "dataset_from_index", change)
    assert _found(folder)["episode_boundary"] == (2,)


def test_episodes_out_of_order(folder: Path) -> None:
    def change(values: list[int]) -> None:
        values[2] = 1

    _edit(folder / EPISODES, "episode_index", change)
    assert _found(folder)["episode_order"] == (2,)


def test_counts_of_info_json(folder: Path) -> None:
    path = folder / "meta" / "info.json"
    info = json.loads(path.read_text())
    info["total_frames"] += 5
    path.write_text(json.dumps(info))
    assert "episode_count" in _found(folder)


@pytest.mark.parametrize("name", ["std", "mean", "max"])
def test_statistics_that_are_not_those_of_the_rows(folder: Path, name: str) -> None:
    path = folder / "meta" / "stats.json"
    stats = json.loads(path.read_text())
    stats["action"][name][1] = stats["action"][name][1] / 10 + 0.3
    path.write_text(json.dumps(stats))
    (found,) = [f for f in check(folder).findings if f.code == "stats_mismatch"]
    assert found.feature == "action[b]"


def test_a_missing_data_file(folder: Path) -> None:
    (folder / "data" / "chunk-000" / "file-001.parquet").unlink()
    found = _found(folder)
    assert found["missing_file"] == (2, 3)
    assert "episode_count" in found


def test_a_file_with_other_columns(folder: Path) -> None:
    path = folder / "data" / "chunk-000" / "file-001.parquet"
    table = pq.read_table(path)
    values = pa.array(table.column("action").to_pylist(), pa.list_(pa.float64(), 2))
    pq.write_table(table.set_column(0, "action", values), path)
    found = next(f for f in check(folder).findings if f.code == "schema_drift")
    assert found.feature == "action"


def test_videos_that_are_short_missing_or_cut(folder: Path) -> None:
    video = folder / "videos" / TOP / "chunk-000" / "file-001.mp4"
    whole = video.read_bytes()
    write_video(video, range(26, 26 + 20), 30)
    assert _found(folder) == {"video_frames": (3,)}
    video.write_bytes(whole[:300])
    assert _found(folder) == {"truncated_file": (2, 3)}
    video.unlink()
    assert _found(folder) == {"missing_file": (2, 3)}


def test_a_clip_that_begins_in_the_one_before(folder: Path) -> None:
    def change(values: list[float]) -> None:
        values[1] -= 4 / 30

    _edit(folder / EPISODES, f"videos/{TOP}/from_timestamp", change)
    found = _found(folder)
    assert found["video_timestamp"] == (1,)


@pytest.mark.parametrize("name", [str(EPISODES), "meta/tasks.parquet", "meta/stats.json"])
def test_a_broken_table_is_a_finding_and_the_frames_are_checked(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"x" * 50)
    report = check(folder)
    assert report.episodes == 4
    assert "table_broken" in {f.code for f in report.findings}
