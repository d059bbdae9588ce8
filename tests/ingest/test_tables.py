"""Tables with a mapping: numbers exact, rows that are damaged counted, lies about size refused."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaploop.core import Episode, InputError, Loss
from gaploop.ingest import check, find_reader
from gaploop.ingest.readers.tables import TableReader
from gaploop.testing.readers import check_reader

MAP = """
robot = "arm"
time = "t"
time_unit = "ms"
[signals.action]
columns = ["goal"]
unit = "rad"
role = "joint_command"
[signals."observation.state"]
columns = ["q"]
names = ["elbow"]
unit = "rad"
[outcome]
column = "done"
[contract]
action_mode = "absolute"
[facts]
payload_kg = 0.5
"""


def _rows(count: int = 40) -> np.ndarray:
    t = np.arange(count) * 10.0
    return np.stack([t, np.sin(t / 200), np.sin(t / 200 - 0.1), np.arange(count) > 30], axis=1)


def _csv(rows: np.ndarray) -> str:
    lines = (",".join(repr(float(v)) for v in row) for row in rows)
    return "t,goal,q,done\n" + "\n".join(lines) + "\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV with its mapping beside it."""
    path = tmp_path / "log.csv"
    path.write_text(_csv(_rows()))
    (tmp_path / "log.csv.map.toml").write_text(MAP)
    return path


def _is(episode: Episode, rows: np.ndarray) -> None:
    assert np.array_equal(episode.signals["action"].values[:, 0], rows[:, 1])
    assert np.array_equal(episode.signals["observation.state"].values[:, 0], rows[:, 2])
    assert episode.signals["observation.state"].columns == ("elbow",)
    assert np.allclose(episode.signals["action"].times, rows[:, 0] / 1000)
    assert episode.success is True
    assert episode.contract.action_mode.value == "absolute"
    assert episode.fact("rig") == {"payload_kg": 0.5}


def test_csv_gzip_npz_and_json_lines_say_the_same(table: Path, tmp_path: Path) -> None:
    rows = _rows()
    (tmp_path / "gaploop.map.toml").write_text(MAP)
    with gzip.open(tmp_path / "b.csv.gz", "wt") as out:
        out.write(_csv(rows))
    np.savez(tmp_path / "c.npz", t=rows[:, 0], goal=rows[:, 1], q=rows[:, 2], done=rows[:, 3])
    names = ("t", "goal", "q", "done")
    lines = [json.dumps(dict(zip(names, row.tolist(), strict=True))) for row in rows]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    found = list(TableReader().read(tmp_path))
    assert len(found) == 4
    for episode in found:
        _is(episode, rows)
    assert len({e.id for e in found}) == 1


def test_the_kit(table: Path) -> None:
    check_reader(TableReader(), table.parent)
    assert find_reader(table).name == "table"


@pytest.mark.parametrize("by", ["episode", "lengths"])
def test_episodes_of_one_file(tmp_path: Path, by: str) -> None:
    x = np.arange(30.0).reshape(10, 3)
    np.savez(tmp_path / "a.npz", x=x, n=[0] * 4 + [1] * 6, length=[4, 6])
    (tmp_path / "gaploop.map.toml").write_text(
        f'rate = 50.0\n{by} = "{"n" if by == "episode" else "length"}"\n'
        '[signals."observation.state"]\ncolumns = ["x"]\nslice = [1, 3]\nnames = ["b", "c"]\n'
    )
    first, second = TableReader().read(tmp_path)
    assert np.array_equal(second.signals["observation.state"].values, x[4:, 1:])
    assert len(first.signals["observation.state"].times) == 4
    assert first.contract.log_rate.value == 50.0


def test_damaged_rows_are_counted_and_the_rest_read(table: Path) -> None:
    lines = table.read_text().splitlines()
    lines[5] = "1,2"
    table.write_text("\n".join(lines)[:-3])
    found = list(TableReader().salvage(table))
    losses = [f for f in found if isinstance(f, Loss)]
    assert (losses[0].lost, losses[0].kept) == (1, 39)
    assert "line 6" in losses[0].reason
    with pytest.raises(InputError, match="line 6"):
        list(TableReader().read(table))
    assert "truncated_file" in {f.code for f in check(table).findings}


def test_a_cut_gzip_gives_its_whole_rows(table: Path, tmp_path: Path) -> None:
    content = gzip.compress(_csv(_rows(4000)).encode())
    path = tmp_path / "x.csv.gz"
    path.write_bytes(content[: len(content) // 2])
    (tmp_path / "x.csv.gz.map.toml").write_text(MAP)
    found = list(TableReader().salvage(path))
    episode = next(f for f in found if isinstance(f, Episode))
    assert any(isinstance(f, Loss) for f in found)
    assert 500 < len(episode.signals["action"].times) < 4000


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("time = ", "tme = "), "tme"),
        (('"rad"', '"furlong"'), "'furlong' is not known"),
        (('["q"]', '["nobody"]'), "no column 'nobody'"),
        (("action_mode", "action_mood"), "'action_mood'"),
        (('names = ["elbow"]', 'names = ["a", "b"]'), "2 names for 1 columns"),
        (('time = "t"\n', ""), "neither `time` nor `rate`"),
        (("[signals.action]", "[signals.action"), "no mapping"),
    ],
)
def test_a_wrong_mapping_is_named(table: Path, change: tuple[str, str], match: str) -> None:
    mapping = table.parent / "log.csv.map.toml"
    mapping.write_text(MAP.replace(*change))
    with pytest.raises(InputError, match=match):
        list(TableReader().read(table))


def test_a_text_among_numbers_is_named_and_an_empty_cell_is_nan(table: Path) -> None:
    lines = table.read_text().splitlines()
    lines[4] = "30.0,,0.1,0"
    table.write_text("\n".join(lines))
    (episode,) = TableReader().read(table)
    assert np.isnan(episode.signals["action"].values[3, 0])
    lines[4] = "30.0,often,0.1,0"
    table.write_text("\n".join(lines))
    with pytest.raises(InputError, match="row 3, column 'goal': 'often' is no number"):
        list(TableReader().read(table))


def test_an_array_that_lies_about_its_size_is_refused(table: Path, tmp_path: Path) -> None:
    sink = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        sink, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    )
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("t", "goal", "q", "done"):
            archive.writestr(f"{name}.npy", sink.getvalue() + bytes(80))
    (tmp_path / "x.npz.map.toml").write_text(MAP)
    with pytest.raises(InputError, match="claims more than it holds"):
        list(TableReader().read(path))


def test_pickled_arrays_are_refused(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, t=np.array([{}, {}], dtype=object), goal=[1], q=[1], done=[1])
    (tmp_path / "x.npz.map.toml").write_text(MAP)
    with pytest.raises(InputError, match="claims more than it holds"):
        list(TableReader().read(path))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), kind=st.sampled_from(["csv", "npz", "jsonl"]))
def test_garbled_bytes_never_crash(tmp_path: Path, data: st.DataObject, kind: str) -> None:
    rows = _rows(12)
    path = tmp_path / f"g.{kind}"
    if kind == "npz":
        np.savez(path, t=rows[:, 0], goal=rows[:, 1], q=rows[:, 2], done=rows[:, 3])
    elif kind == "csv":
        path.write_text(_csv(rows))
    else:
        path.write_text('{"t": 1, "goal": 2, "q": 3, "done": 0}\n' * 12)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    (tmp_path / f"g.{kind}.map.toml").write_text(MAP)
    try:
        for _ in TableReader().salvage(path):
            pass
    except InputError as error:
        assert len(str(error)) < 1500  # noqa: PT017


def test_real_tables(data: Path) -> None:
    reports = {
        name: check(data / name) for name in ("go2_air", "double_pendulum", "contactnets_cube")
    }
    assert [r.episodes for r in reports.values()] == [1, 4, 270]
    assert reports["contactnets_cube"].frames == 28547
    assert all(f.severity != "error" for r in reports.values() for f in r.findings)
    turn = reports["contactnets_cube"].contract.feature("observation.object_rotation")
    assert turn is not None
    assert turn.rotation.value == "wxyz"
    lag = next(f for f in reports["go2_air"].findings if f.code == "action_lag")
    assert "100 ms" in lag.message
    mode = reports["double_pendulum"].contract.action_mode
    assert (mode.value, mode.source) == ("torque", "declared")
