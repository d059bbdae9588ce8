"""Cameras and v2.1: every frame of every episode is the one that was recorded with it."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaploop.core import HELD, InputError
from gaploop.ingest import check
from gaploop.store.datasets import open_dataset, read_dataset

pytest.importorskip("av", reason="pictures need the extra video")
from tests.store.lerobot_files import number_of, rows_of, write_v21, write_v30

TOP, WRIST = "observation.images.top", "observation.images.wrist"
LENGTHS = [7, 12, 5]


def shown(episode, key: str) -> list[int]:
    return [number_of(f) for f in episode.cameras[key].frames()]


@pytest.mark.parametrize("write", [write_v21, write_v30])
def test_numbers_and_pictures_of_both_versions(tmp_path: Path, write) -> None:
    folder = write(tmp_path / "d", LENGTHS, cameras={TOP: "video", WRIST: "image"})
    first = 0
    for e, episode in enumerate(read_dataset(folder)):
        table = rows_of(e, first, LENGTHS[e], 30)
        for key in ("action", "observation.state"):
            told = np.array(table.column(key).to_pylist(), np.float32)
            assert np.array_equal(episode.signals[key].values, told)
        assert episode.task == f"task {e % 2}"
        for key in (TOP, WRIST):
            camera = episode.cameras[key]
            assert (camera.height, camera.width) == (64, 64)
            assert len(camera.times) == LENGTHS[e]
            assert shown(episode, key) == list(range(first, first + LENGTHS[e]))
            assert shown(episode, key)[0] == first, "a camera can be watched twice"
        first += LENGTHS[e]
    assert first == sum(LENGTHS)
    assert check(folder).episodes == 3


def test_fifty_clips_in_one_video_stay_exact(tmp_path: Path) -> None:
    """Summed seconds drift: the last of 50 clips of 291 frames is read by frame number."""
    lengths = [29] * 50  # a tenth of the frames, the same number of sums
    folder = write_v30(tmp_path / "d", lengths, cameras={TOP: "video"}, keys=60)
    episode = open_dataset(folder).episode(49)
    assert shown(episode, TOP) == list(range(49 * 29, 50 * 29))


def test_one_data_file_and_two_videos(tmp_path: Path) -> None:
    """The video's own file index counts, not that of the data."""
    folder = write_v30(tmp_path / "d", LENGTHS, cameras={TOP: "video"}, videos=[[0], [1, 2]])
    assert [shown(e, TOP)[0] for e in read_dataset(folder)] == [0, 7, 19]


def test_pictures_in_two_data_files(tmp_path: Path) -> None:
    folder = write_v30(tmp_path / "d", LENGTHS, cameras={WRIST: "image"}, files=[[0, 1], [2]])
    assert [shown(e, WRIST)[-1] for e in read_dataset(folder)] == [6, 18, 23]


def test_a_cut_video_is_named_with_its_frame(tmp_path: Path) -> None:
    folder = write_v30(tmp_path / "d", LENGTHS, cameras={TOP: "video"})
    table = folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    read = pq.read_table(table)
    late = pa.array([0.0, 7 / 30, 22 / 30])
    name = f"videos/{TOP}/from_timestamp"
    pq.write_table(read.set_column(read.column_names.index(name), name, late), table)
    episode = open_dataset(folder).episode(2)
    with pytest.raises(InputError, match=r"file-000\.mp4, frame 24 at 30 Hz"):
        list(episode.cameras[TOP].frames())
    video = folder / "videos" / TOP / "chunk-000" / "file-000.mp4"
    video.write_bytes(video.read_bytes()[:2000])
    with pytest.raises(InputError, match=r"file-000\.mp4, frame \d+ at 30 Hz"):
        list(open_dataset(folder).episode(1).cameras[TOP].frames())
    video.unlink()
    with pytest.raises(InputError, match=r"file-000\.mp4"):
        list(open_dataset(folder).episode(0).cameras[TOP].frames())


def test_a_damaged_picture_is_named_with_its_row(tmp_path: Path) -> None:
    folder = write_v30(tmp_path / "d", LENGTHS, cameras={WRIST: "image"})
    path = folder / "data" / "chunk-000" / "file-000.parquet"
    table = pq.read_table(path)
    cells = table.column(WRIST).to_pylist()
    cells[9]["bytes"] = cells[9]["bytes"][:60]
    pq.write_table(table.set_column(table.column_names.index(WRIST), WRIST, pa.array(cells)), path)
    assert shown(open_dataset(folder).episode(0), WRIST) == list(range(7))
    with pytest.raises(InputError, match=r"row 9, observation\.images\.wrist is no picture"):
        list(open_dataset(folder).episode(1).cameras[WRIST].frames())


def test_marks_of_a_person_become_facts(tmp_path: Path) -> None:
    folder = write_v30(tmp_path / "d", LENGTHS)
    path = folder / "data" / "chunk-000" / "file-000.parquet"
    held = np.zeros(24, bool)
    held[[9, 10, 11, 15]] = True
    table = pq.read_table(path).append_column("intervention", pa.array(held))
    pq.write_table(table, path)
    meta = folder / "meta" / "info.json"
    info = json.loads(meta.read_text())
    info["features"]["intervention"] = {"dtype": "bool", "shape": [1], "names": None}
    meta.write_text(json.dumps(info))
    spans = [
        [f.span for f in e.facts if f.key == HELD] for e in read_dataset(folder)
    ]  # fmt: skip
    assert [len(s) for s in spans] == [0, 2, 0]
    assert spans[1][0] == pytest.approx((2 / 30, 4 / 30))
    assert spans[1][1] == pytest.approx((8 / 30, 8 / 30))


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("episodes.jsonl", '{"episode_index": 0, "length": 7}\n{"epi', "line 2"),
        ("episodes.jsonl", '{"episode_index": 0, "length": 24}\n', "3 episodes, and .* lists 1"),
        ("tasks.jsonl", '{"task_index": "x"}\n', "tasks.jsonl cannot be read: line 1"),
    ],
)
def test_bad_tables_of_v21_are_named(tmp_path: Path, name: str, content: str, match: str) -> None:
    folder = write_v21(tmp_path / "d", LENGTHS)
    (folder / "meta" / name).write_text(content)
    with pytest.raises(InputError, match=match):
        list(read_dataset(folder))


def test_one_of_many_episodes_reads_no_other_file(tmp_path: Path) -> None:
    folder = write_v21(tmp_path / "d", [3] * 40)
    for path in (folder / "data").glob("*/*.parquet"):
        if path.name != "episode_000017.parquet":
            path.write_bytes(b"")
    assert len(open_dataset(folder).episode(17).signals["action"].times) == 3
