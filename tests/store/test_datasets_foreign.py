"""Datasets that others wrote: no sidecar, other types, other paths."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaploop.core import Episode, InputError, Signal
from gaploop.store.datasets import open_dataset, read_dataset, write_dataset
from gaploop.testing.readers import check_reader

Make = Callable[..., list[Episode]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset as a stranger would leave it."""
    episodes: list[Episode] = []
    for index in range(3):
        times = np.arange(6) / 20
        signals = {
            "action": np.random.default_rng(index).normal(size=(6, 2)),
            "next.success": np.arange(6) >= (5 if index == 1 else 9),
        }
        episodes.append(
            Episode(
                signals={k: Signal(name=k, times=times, values=v) for k, v in signals.items()},
                instruction=f"task {index % 2}",
            )
        )
    write_dataset(tmp_path / "d", episodes, fps=20, robot="so101")
    shutil.rmtree(tmp_path / "d" / "meta" / "gaploop")
    return tmp_path / "d"


def edit_info(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "meta" / "info.json"
    info = json.loads(path.read_text())
    change(info)
    path.write_text(json.dumps(info))


def edit_data(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    path = folder / "data" / "chunk-000" / "file-000.parquet"
    pq.write_table(change(pq.read_table(path)), path)


def with_column(name: str, values: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda t: t.set_column(t.column_names.index(name), name, values)


def test_it_says_what_it_says_and_nothing_more(folder: Path) -> None:
    dataset = open_dataset(folder)
    assert not dataset.ours
    assert dataset.extra == {}
    episodes = list(dataset)
    assert [e.success for e in episodes] == [False, True, False]
    assert [e.instruction for e in episodes] == ["task 0", "task 1", "task 0"]
    assert episodes[0].robot == "so101"
    assert episodes[0].signals["action"].unit == "raw"
    assert episodes[0].signals["action"].values.shape == (6, 2)
    feature = episodes[0].contract.feature("action")
    assert feature is not None
    assert feature.unit.source == "unknown"
    assert episodes[0].contract.log_rate.value == 20.0
    assert all(f.subject == e.id for e in episodes for f in e.facts)


def test_the_built_in_reader_keeps_the_rules(folder: Path) -> None:
    from gaploop.core import registry

    reader = registry.load("readers", "lerobot")()
    assert len(check_reader(reader, folder)) == 3


def test_our_own_datasets_keep_the_rules(tmp_path: Path, make: Make) -> None:
    from gaploop.ingest.readers.lerobot import LeRobotReader

    write_dataset(tmp_path / "d", make(2), fps=20, robot="gantry")
    assert len(check_reader(LeRobotReader(), tmp_path / "d")) == 2


def test_without_a_success_column_nothing_is_known(folder: Path) -> None:
    edit_info(folder, lambda i: i["features"].pop("next.success"))
    assert [e.success for e in read_dataset(folder)] == [None] * 3


def test_stamps_off_the_grid_are_kept_as_stored(folder: Path) -> None:
    stamps = np.tile([0.0, 0.05, 0.1, 0.2, 0.21, 0.25], 3).astype(np.float32)
    edit_data(folder, with_column("timestamp", pa.array(stamps)))
    episode = next(read_dataset(folder))
    np.testing.assert_array_equal(episode.signals["action"].times, stamps[:6].astype(float))


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 2), pa.large_list(pa.float64())]
)
def test_lists_of_any_kind(folder: Path, kind: pa.DataType) -> None:
    before = [e.signals["action"].values for e in read_dataset(folder)]
    edit_data(folder, lambda t: with_column("action", t["action"].cast(kind))(t))
    after = [e.signals["action"].values for e in read_dataset(folder)]
    np.testing.assert_array_equal(before, after)


def test_cameras_and_texts_are_listed_and_not_read(folder: Path) -> None:
    def change(info: dict[str, Any]) -> None:
        video = {"dtype": "video", "shape": [48, 64, 3], "names": ["height", "width", "channel"]}
        info["features"]["observation.images.top"] = video
        info["features"]["note"] = {"dtype": "string", "shape": [1], "names": None}
        info["features"]["action"]["names"] = {"motors": ["a", "b"]}

    edit_info(folder, change)
    dataset = open_dataset(folder)
    assert list(dataset.info.cameras) == ["observation.images.top"]
    assert dataset.info.features["action"].names == ("a", "b")
    assert sorted(next(iter(dataset)).signals) == ["action", "next.success"]


def test_a_task_table_with_an_unnamed_index(folder: Path) -> None:
    path = folder / "meta" / "tasks.parquet"
    table = pq.read_table(path)
    pq.write_table(table.rename_columns(["task_index", "__index_level_0__"]), path)
    assert next(read_dataset(folder)).task == "task 0"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda i: i.update(codebase_version="v1.6"), "says version 'v1.6'"),
        (lambda i: i.update(total_episodes=4), "4 episodes, and .* lists 3"),
        (lambda i: i.update(total_frames=17), "17 frames, and .* lists 18"),
        (lambda i: i.update(total_frames=-1), "info.json cannot be read"),
        (lambda i: i.update(total_frames=10**30), "info.json cannot be read"),
        (lambda i: i.update(fps=0), "info.json cannot be read"),
        (lambda i: i.pop("features"), "info.json cannot be read"),
        (lambda i: i["features"]["action"].update(shape=[3]), "2 numbers a row, and 3"),
        (lambda i: i["features"]["action"].update(shape=[2**20, 2**20]), "'action' has shape"),
        (lambda i: i["features"].update({"b": {"dtype": "int8"}}), "'b' is missing"),
        (lambda i: i.update(data_path="../d/data/x.parquet"), "leads out of the folder"),
        (lambda i: i.update(data_path="/etc/passwd"), "leads out of the folder"),
        (lambda i: i.update(data_path="{chunk_index.__class__}"), "is no pattern"),
        (lambda i: i.update(data_path="{chunk_index:099999999d}"), "is no pattern"),
        (lambda i: i.update(data_path="data/none.parquet"), "none.parquet is missing"),
    ],
)  # fmt: skip
def test_an_info_that_does_not_fit_is_explained(
    folder: Path, change: Callable[[dict[str, Any]], object], match: str
) -> None:
    edit_info(folder, change)
    with pytest.raises(InputError, match=match):
        list(read_dataset(folder))


def test_a_link_out_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    path = folder / "data" / "chunk-000" / "file-000.parquet"
    path.rename(tmp_path / "elsewhere.parquet")
    path.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(InputError, match="leads out of the folder"):
        list(read_dataset(folder))


@pytest.mark.parametrize(
    ("name", "values", "match"),
    [
        ("frame_index", [0, 1, 2, 3, 5, 5] * 3, r"file-000.parquet, row 4: frame_index is 5"),
        ("episode_index", [0] * 7 + [1] * 5 + [2] * 6, r"row 6: episode_index is 0, and 1"),
        ("task_index", [0] * 12 + [9] * 6, r"row 12: task 9 is not in the table of tasks"),
        ("timestamp", [0.0, 0.05, None, 0.15, 0.2, 0.25] * 3, r"'timestamp', row 2: no value"),
        ("timestamp", ["x"] * 18, "numbers were expected"),
        ("action", [[0.0, 0.0]] * 13 + [[0.0, float("nan")]] + [[0.0, 0.0]] * 4,
         r"file-000.parquet, row 13: 'action' is not a finite number"),
        ("action", [[0.0, 0.0]] * 17 + [[0.0]], "rows of different lengths"),
        ("action", [[0.0, 0.0]] * 17 + [None], r"'action', row 17: no value"),
        ("action", [[0.0, 0.0]] * 17 + [[0.0, None]], r"'action', row 17: no value"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named(folder: Path, name: str, values: list[Any], match: str) -> None:
    edit_data(folder, with_column(name, pa.array(values)))
    with pytest.raises(InputError, match=match):
        list(read_dataset(folder))


def test_a_screen_may_look_at_what_is_not_finite(folder: Path) -> None:
    values = pa.array([[0.0, float("nan")]] * 18)
    edit_data(folder, with_column("action", values))
    episode = next(read_dataset(folder, finite=False))
    assert np.isnan(episode.signals["action"].values[:, 1]).all()


def test_a_file_with_rows_too_many_is_refused(folder: Path) -> None:
    edit_data(folder, lambda t: pa.concat_tables([t, t]))
    with pytest.raises(InputError, match="it has 36 rows, and 18 were expected"):
        list(read_dataset(folder))


@pytest.mark.parametrize(
    ("path", "match"),
    [
        ("meta/info.json", "no meta/info.json"),
        ("meta/tasks.parquet", "tasks.parquet cannot be read"),
        ("meta/episodes", "holds no Parquet file"),
        ("data", "is missing"),
    ],
)
def test_a_missing_part_is_named(folder: Path, path: str, match: str) -> None:
    target = folder / path
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    with pytest.raises(InputError, match=match):
        list(read_dataset(folder))


def test_what_is_no_dataset_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_dataset(tmp_path / "missing")
    with pytest.raises(InputError, match="is no dataset"):
        read_dataset(tmp_path)
