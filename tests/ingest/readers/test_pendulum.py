"""The pendulum reader: pairs, lone files, and bad rows."""

from pathlib import Path

import numpy as np
import pytest

from gaploop.core import InputError
from gaploop.core.protocols import Reader
from gaploop.ingest.readers.pendulum import PendulumReader, read_pendulum_log


def _csv(path: Path, rows: int = 20, start: float = 0.0, position: float = 1.0) -> Path:
    lines = ["time,position,velocity,torque"]
    lines += [f"{start + 0.005 * i},{position * i},{0.1 * i},{0.2}" for i in range(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_is_a_reader() -> None:
    assert isinstance(PendulumReader(), Reader)


def test_either_half_of_a_pair_gives_the_attempt(tmp_path: Path) -> None:
    desired = _csv(tmp_path / "run_desired.csv", start=2.0)
    measured = _csv(tmp_path / "run_measured.csv", rows=25, start=2.01)
    one, two = read_pendulum_log(desired), read_pendulum_log(measured)
    assert one.id == two.id
    assert set(one.signals) >= {"action", "action.position", "observation.state"}
    # both count from the earlier start, so their difference stays
    assert one.signals["action"].times[0] == 0.0
    assert one.signals["observation.state"].times[0] == pytest.approx(0.01)
    assert one.signals["action"].unit == "N m"


def test_a_lone_file_is_enough(tmp_path: Path) -> None:
    lone = read_pendulum_log(_csv(tmp_path / "run_measured.csv"))
    assert "action" not in lone.signals
    assert lone.signals["observation.state"].unit == "rad"


def test_a_pair_in_a_folder_is_one_episode(tmp_path: Path) -> None:
    for name in ("a_desired", "a_measured", "b_measured"):
        _csv(tmp_path / f"{name}.csv")
    assert [e.task for e in PendulumReader().read(tmp_path)] == ["a", "b"]


def test_silent_reference_is_left_out(tmp_path: Path) -> None:
    _csv(tmp_path / "run_desired.csv", position=0.0)
    episode = read_pendulum_log(_csv(tmp_path / "run_measured.csv"))
    assert "action" in episode.signals
    assert "action.position" not in episode.signals


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("0.1,x,0,0", r"line 4: cell 2 is 'x'"),
        ("0.1,1", r"line 4: the row has 2 cells"),
        ("nan,1,1,1", r"line 4: `time`"),
    ],
)
def test_a_bad_row_names_file_and_line(tmp_path: Path, bad: str, message: str) -> None:
    path = _csv(tmp_path / "run_measured.csv")
    lines = path.read_text().splitlines()
    lines[3] = bad
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"run_measured\.csv, " + message):
        read_pendulum_log(path)


def test_missing_column(tmp_path: Path) -> None:
    path = tmp_path / "run_measured.csv"
    path.write_text("time,position,velocity\n0,1,2\n1,2,3\n")
    assert PendulumReader().sniff(path)
    with pytest.raises(InputError, match=r"line 1: the column 'torque' is missing"):
        read_pendulum_log(path)


def test_empty_cell_is_nan_for_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "run_measured.csv"
    path.write_text("time,position,velocity,torque\n0,1,2,3\n1,,3,3\n2,1,1,1\n")
    assert np.isnan(read_pendulum_log(path).signals["observation.state"].values[1, 0])


@pytest.mark.parametrize("text", ["", "time,position,velocity,torque\n", "a;b;c\n1;2;3\n"])
def test_empty_or_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run_measured.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"run_measured\.csv"):
        read_pendulum_log(path)


def test_a_failure_in_the_name_is_an_outcome_with_its_judge(tmp_path: Path) -> None:
    failed = read_pendulum_log(_csv(tmp_path / "swingup_failure_data_measured.csv"))
    assert failed.success is False
    assert failed.fact("outcome")["judge"] == "file name"
    assert read_pendulum_log(_csv(tmp_path / "swingup_measured.csv")).success is None


def test_real_logs(data: Path) -> None:
    episodes = list(PendulumReader().read(data / "simple_pendulum"))
    assert len(episodes) == len(list((data / "simple_pendulum").glob("*_measured.csv")))


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = _csv(tmp_path / "run_measured.csv")
    plain = read_pendulum_log(path).id
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert PendulumReader().sniff(path)
    assert read_pendulum_log(path).id == plain
