import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaploop.core import Episode, InputError, Label, Signal
from gaploop.store import codec, datasets_frames, datasets_stats, datasets_write
from gaploop.store.datasets import as_stored, open_dataset, read_dataset, seal, write_dataset

Make = Callable[..., list[Episode]]


def plain(values: np.ndarray, key: str = "action", **more: Any) -> Episode:
    times = np.arange(len(values)) / 10
    return Episode(signals={key: Signal(name=key, times=times, values=values, **more)})


def test_episodes_come_back(tmp_path: Path, make: Make) -> None:
    episodes = make(5)
    info = write_dataset(tmp_path / "d", iter(episodes), fps=20, robot="gantry", sidecar={"a": [1]})
    dataset = open_dataset(tmp_path / "d")
    assert dataset.info == info
    assert dataset.extra == {"a": [1]}
    assert dataset.ours
    assert (len(dataset), info.frames, info.fps, info.robot) == (5, 60, 20.0, "gantry")
    for index, (wrote, read) in enumerate(zip(episodes, read_dataset(tmp_path / "d"), strict=True)):
        assert read.id == wrote.id
        for name in ("robot", "unit", "task", "instruction", "world", "origin", "policy"):
            assert getattr(read, name) == getattr(wrote, name)
        assert (read.parents, read.contract) == (wrote.parents, wrote.contract)
        assert codec.dumps(read.facts) == codec.dumps(wrote.facts)
        assert read.source == f"{tmp_path / 'd'}#{index}"
        assert list(read.signals) == sorted(wrote.signals)
        for key, signal in read.signals.items():
            other = wrote.signals[key]
            assert (signal.name, signal.unit, signal.columns) == (key, other.unit, other.columns)
            np.testing.assert_array_equal(signal.values, other.values.astype(np.float32))
            np.testing.assert_array_equal(signal.times, np.arange(12) / 20)
            assert signal.values.dtype == np.float32


def test_an_episode_read_is_the_episode_stored(tmp_path: Path, make: Make) -> None:
    stored = [as_stored(e, 20) for e in make(2)]
    assert [e.id for e in stored] == [e.id for e in make(2)]
    write_dataset(tmp_path / "d", stored, fps=20, robot="gantry")
    again = list(read_dataset(tmp_path / "d"))
    write_dataset(tmp_path / "e", again, fps=20, robot="gantry")
    assert seal(tmp_path / "d") == seal(tmp_path / "e")


def test_any_episode_can_be_read_alone(tmp_path: Path, make: Make) -> None:
    episodes = make(7)
    write_dataset(tmp_path / "d", episodes, fps=20, robot="gantry")
    dataset = open_dataset(tmp_path / "d")
    for index in (6, 0, 3, 3):
        assert dataset.episode(index).id == episodes[index].id
    for index in (-1, 7):
        with pytest.raises(InputError, match="has 7 episodes"):
            dataset.episode(index)


def test_equal_episodes_give_equal_bytes(tmp_path: Path, make: Make) -> None:
    for name in ("one", "two"):
        write_dataset(tmp_path / name, make(3), fps=20, robot="gantry")
    assert seal(tmp_path / "one") == seal(tmp_path / "two")
    write_dataset(tmp_path / "three", make(3, seed=1), fps=20, robot="gantry")
    assert seal(tmp_path / "three") != seal(tmp_path / "one")


def test_a_fact_changes_the_dataset_and_not_the_id(tmp_path: Path, make: Make) -> None:
    one = make(1)
    two = [
        replace(e, facts=(Label(subject=e.id, key="note", value="x", author="me"),)) for e in one
    ]
    assert one[0].id == two[0].id
    for name, episodes in (("one", one), ("two", two)):
        write_dataset(tmp_path / name, episodes, fps=20, robot="gantry")
    assert seal(tmp_path / "one") != seal(tmp_path / "two")


def test_many_row_groups_and_files(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets_write, "ROWS_A_GROUP", 20)
    monkeypatch.setattr(datasets_write, "EPISODES_A_GROUP", 2)
    monkeypatch.setattr(datasets_write.layout, "MEGABYTES_A_FILE", 0)
    monkeypatch.setattr(datasets_write.layout, "FILES_A_CHUNK", 2)
    episodes = make(9)
    write_dataset(tmp_path / "d", episodes, fps=20, robot="gantry")
    assert len(list((tmp_path / "d").glob("data/*/*.parquet"))) == 5
    assert len(list((tmp_path / "d").glob("data/*"))) == 3
    assert [e.id for e in read_dataset(tmp_path / "d")] == [e.id for e in episodes]
    assert open_dataset(tmp_path / "d").episode(8).id == episodes[8].id


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    width=st.integers(1, 4),
    kind=st.sampled_from(["f4", "f8", "i4", "i8", "?"]),
    scalar=st.booleans(),
    fps=st.sampled_from([1, 20, 30, 29.97, 148.0, 1000]),
)
def test_any_shape_rate_and_number(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], width: int, kind: str,
    scalar: bool, fps: float,
) -> None:  # fmt: skip
    root = tmp_path_factory.mktemp("any")
    rng = np.random.default_rng(0)
    episodes: list[Episode] = []
    for n in lengths:
        values = (rng.normal(size=(n,) if scalar else (n, width)) * 100).astype(kind)
        times = np.arange(n) * (1 / fps)
        episodes.append(Episode(signals={"s": Signal(name="s", times=times, values=values)}))
    write_dataset(root / "d", episodes, fps=fps, robot="")
    read = list(read_dataset(root / "d"))
    assert [e.id for e in read] == [e.id for e in episodes]
    for one, other in zip(read, episodes, strict=True):
        assert one.signals["s"].values.shape == other.signals["s"].values.shape


def test_statistics_are_exact(tmp_path: Path, make: Make) -> None:
    write_dataset(tmp_path / "d", make(4), fps=20, robot="gantry")
    stats = json.loads((tmp_path / "d" / "meta" / "stats.json").read_text())
    rows = pq.read_table(tmp_path / "d/meta/episodes/chunk-000/file-000.parquet").to_pylist()
    per = [e.signals["action"].values.astype(float) for e in read_dataset(tmp_path / "d")]
    every = np.concatenate(per)
    for found, values in [(stats["action"], every)] + [
        ({n: row[f"stats/action/{n}"] for n in datasets_stats.NAMES}, v)
        for row, v in zip(rows, per, strict=True)
    ]:
        assert found["count"] == [len(values)]
        np.testing.assert_array_equal(found["min"], values.min(0))
        np.testing.assert_array_equal(found["max"], values.max(0))
        np.testing.assert_allclose(found["mean"], values.mean(0), rtol=1e-12)
        np.testing.assert_allclose(found["std"], values.std(0), rtol=1e-12)
        for name, q in datasets_stats.QUANTILES.items():
            np.testing.assert_allclose(found[name], np.quantile(values, q, axis=0), rtol=1e-12)
    assert stats["index"]["max"] == [47.0]
    assert stats["timestamp"]["max"][0] == float(np.float32(11 / 20))


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=5),
    kind=st.sampled_from(["normal", "switch", "constant", "wide", "ties"]),
    seed=st.integers(0, 2**16),
)
def test_quantiles_beyond_memory_are_those_of_all_rows(
    sizes: list[int], kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    parts = []
    for n in sizes:
        x = rng.standard_normal((n, 2))
        parts.append(
            {
                "normal": x, "switch": (x > 0).astype(float), "constant": np.ones_like(x),
                "wide": np.sinh(30 * x), "ties": np.round(x, 1),
            }[kind]
        )  # fmt: skip
    running = datasets_stats.Running(room=0)
    for part in parts:
        running.add(part, datasets_stats.describe(part))
    assert running.kept == []
    found, whole = running.result(lambda: parts), np.concatenate(parts)
    for name, level in datasets_stats.QUANTILES.items():
        expected = np.quantile(whole, level, axis=0)
        np.testing.assert_allclose(found[name], expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["std"], whole.std(axis=0), rtol=1e-9, atol=1e-12)


def test_a_dataset_beyond_memory_has_the_same_statistics(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dataset(tmp_path / "a", make(7), fps=20.0, robot="gantry")
    monkeypatch.setattr(datasets_stats.Running.__init__, "__defaults__", _no_room())
    write_dataset(tmp_path / "b", make(7), fps=20.0, robot="gantry")
    ours, theirs = (
        json.loads((tmp_path / n / "meta" / "stats.json").read_text()) for n in ("a", "b")
    )
    for key, stats in ours.items():
        for name, value in stats.items():
            np.testing.assert_allclose(theirs[key][name], value, rtol=1e-12)


def _no_room() -> tuple[object, ...]:
    defaults = list(datasets_stats.Running.__init__.__defaults__ or ())
    return (*defaults[:-1], 0)


@pytest.mark.parametrize(
    ("episodes", "match"),
    [
        ([], "would have no episodes"),
        ([Episode(signals={})], "episode 0 has no signals"),
        ([plain(np.zeros((0, 2)))], "empty ones"),
        ([plain(np.array([[0.0], [np.nan]]))], r"episode 0, signal 'action', row 1: not a finite"),
        ([plain(np.array([[0.0], [1e300]]))], r"row 1: not a finite"),
        ([plain(np.zeros((2, 2, 2)))], "cannot be stored"),
        ([plain(np.zeros((2, 0)))], "cannot be stored"),
        ([plain(np.array(["a", "b"]))], "cannot be stored"),
        ([plain(np.zeros((2, 2)), columns=("x",))], "1 column names for 2 columns"),
        ([plain(np.zeros((2, 2)), key="timestamp")], "cannot be called 'timestamp'"),
        ([plain(np.zeros((2, 2)), key="a/b")], "cannot be called 'a/b'"),
        ([plain(np.zeros((2, 2))), plain(np.zeros((2, 3)))], "episode 1: signal 'action' differs"),
        ([plain(np.zeros(2)), plain(np.zeros(2), unit="m")], "episode 1: signal 'action' differs"),
        ([plain(np.zeros(2)), plain(np.zeros(2), key="b")], "episode 1: signal"),
    ],
)  # fmt: skip
def test_what_cannot_be_stored_is_named(
    tmp_path: Path, episodes: list[Episode], match: str
) -> None:
    with pytest.raises(InputError, match=match):
        write_dataset(tmp_path / "d", episodes, fps=10, robot="r")
    assert list(tmp_path.iterdir()) == []


def test_stamps_off_the_grid_are_refused(tmp_path: Path) -> None:
    times = np.array([0.0, 0.1, 0.2002])
    late = Episode(signals={"a": Signal(name="a", times=times, values=np.zeros(3))})
    with pytest.raises(InputError, match=r"row 2: stamp 0.2002 s, and 0.2 s was"):
        write_dataset(tmp_path / "d", [late], fps=10, robot="r")


@pytest.mark.parametrize("fps", [0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(tmp_path: Path, make: Make, fps: float) -> None:
    with pytest.raises(InputError, match="frames a second"):
        write_dataset(tmp_path / "d", make(1), fps=fps, robot="gantry")


def test_stamps_nearly_on_the_grid_are_put_on_it(tmp_path: Path) -> None:
    times = np.array([0.0, 0.10003, 0.2])
    near = Episode(signals={"a": Signal(name="a", times=times, values=np.zeros(3))})
    write_dataset(tmp_path / "d", [near], fps=10, robot="r")
    [read] = read_dataset(tmp_path / "d")
    assert read.id == as_stored(near, 10).id != near.id


@pytest.mark.parametrize("rows", [[1], [0, 1, 2]])
def test_a_field_may_keep_what_is_not_finite(tmp_path: Path, rows: list[int]) -> None:
    values = np.array([[1.0], [2.0], [3.0]])
    values[rows] = np.nan
    episodes = [plain(values), plain(np.array([[5.0], [np.inf]]))]
    write_dataset(tmp_path / "d", episodes, fps=10, robot="r", finite=False)
    read = list(read_dataset(tmp_path / "d", finite=False))
    assert [e.id for e in read] == [e.id for e in episodes]
    with pytest.raises(InputError, match=f"row {rows[0]}: 'action' is not a finite number"):
        list(read_dataset(tmp_path / "d"))
    stats = json.loads((tmp_path / "d" / "meta" / "stats.json").read_text())["action"]
    kept = [v for i, v in enumerate([1.0, 2.0, 3.0]) if i not in rows] + [5.0]
    assert (stats["count"], stats["min"], stats["max"]) == ([len(kept)], [min(kept)], [5.0])
    np.testing.assert_allclose([stats["mean"], stats["q50"]], [[np.mean(kept)], [np.median(kept)]])


def test_an_existing_folder_is_left_alone(tmp_path: Path, make: Make) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(InputError, match="exists already"):
        write_dataset(tmp_path / "d", make(1), fps=20, robot="gantry")


def test_an_error_of_the_source_leaves_nothing(tmp_path: Path, make: Make) -> None:
    def broken() -> Any:
        yield from make(2)
        raise FileNotFoundError("the source's own")

    with pytest.raises(FileNotFoundError, match="the source's own"):
        write_dataset(tmp_path / "d", broken(), fps=20, robot="gantry")
    assert list(tmp_path.iterdir()) == []


def test_a_draft_of_a_killed_writer_is_no_obstacle(tmp_path: Path, make: Make) -> None:
    (tmp_path / ".d.part" / "data").mkdir(parents=True)
    write_dataset(tmp_path / "d", make(1), fps=20, robot="gantry")
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


def test_reading_holds_one_row_group(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets_write, "ROWS_A_GROUP", 24)
    write_dataset(tmp_path / "d", make(8), fps=20, robot="gantry")
    read: list[int] = []
    real = datasets_frames.DataFile._decode

    def counting(self: Any, group: int) -> dict[str, np.ndarray]:
        read.append(group)
        return real(self, group)

    monkeypatch.setattr(datasets_frames.DataFile, "_decode", counting)
    assert len(list(read_dataset(tmp_path / "d"))) == 8
    assert read == [0, 1, 2, 3]  # each once, in order
