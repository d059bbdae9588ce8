"""The servo reader: what it reads from real logs, and how it refuses bad ones."""

import json
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import InputError
from gaploop.core.protocols import Reader
from gaploop.ingest.readers.servo import ServoReader, read_servo_log


def _log(n: int = 20) -> dict:
    entries = [
        {"timestamp": 5.0 + 0.005 * i, "goal_position": 0.1 * i, "position": 0.09 * i}
        for i in range(n)
    ]
    return {"mass": 0.5, "length": 0.1, "kp": 400, "motor": "m", "entries": entries}


def _write(path: Path, log: object) -> Path:
    path.write_text(json.dumps(log), encoding="utf-8")
    return path


def test_is_a_reader() -> None:
    assert isinstance(ServoReader(), Reader)


def test_reads_units_rig_and_stamps_from_zero(tmp_path: Path) -> None:
    episode = read_servo_log(_write(tmp_path / "a.json", _log()))
    assert episode.signals["action"].unit == "rad"
    assert episode.signals["observation.state"].times[0] == 0.0
    assert episode.signals["observation.state"].values[10, 0] == pytest.approx(0.9)
    assert episode.fact("rig")["kp"] == 400
    assert episode.contract.action_mode.source == "declared"
    assert "observation.load" not in episode.signals


def test_rig_is_a_fact_and_no_part_of_the_id(tmp_path: Path) -> None:
    one = read_servo_log(_write(tmp_path / "a.json", _log()))
    two = read_servo_log(_write(tmp_path / "b.json", {**_log(), "mass": 0.7}))
    assert one.id == two.id
    assert one.fact("rig") != two.fact("rig")


def test_folder_in_order_of_name(tmp_path: Path) -> None:
    _write(tmp_path / "b.json", _log())
    _write(tmp_path / "a.json", _log(30))
    _write(tmp_path / "other.json", {"nothing": 1})
    lengths = [len(e.signals["action"].times) for e in ServoReader().read(tmp_path)]
    assert lengths == [30, 20]


def test_cut_file_is_recognised_and_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(_log(200))[:-500], encoding="utf-8")
    assert ServoReader().sniff(path)
    with pytest.raises(InputError, match=r"cut\.json.*line 1"):
        list(ServoReader().read(path))


@pytest.mark.parametrize("cell", ["fast", [1], {"a": 1}, 10**400])
def test_a_cell_that_is_no_number_names_file_and_entry(tmp_path: Path, cell: object) -> None:
    log = _log()
    log["entries"][7]["position"] = cell
    with pytest.raises(InputError, match=r"a\.json, entry 7: `position`"):
        read_servo_log(_write(tmp_path / "a.json", log))


def test_missing_column_names_file_and_entry(tmp_path: Path) -> None:
    log = _log()
    del log["entries"][4]["goal_position"]
    with pytest.raises(InputError, match=r"entry 4: `goal_position` is missing"):
        read_servo_log(_write(tmp_path / "a.json", log))


@pytest.mark.parametrize("log", [[], {}, {"entries": []}, {"entries": "no"}, {"entries": [1, 2]}])
def test_other_json_is_refused_in_one_sentence(tmp_path: Path, log: object) -> None:
    with pytest.raises(InputError, match=r"a\.json"):
        read_servo_log(_write(tmp_path / "a.json", log))


def test_nan_stays_for_the_screen(tmp_path: Path) -> None:
    log = _log()
    log["entries"][3]["position"] = float("nan")
    log["entries"][4]["position"] = None
    episode = read_servo_log(_write(tmp_path / "a.json", log))
    assert np.isnan(episode.signals["observation.state"].values[3:5, 0]).all()


def test_nan_in_the_stamp_is_refused(tmp_path: Path) -> None:
    log = _log()
    log["entries"][3]["timestamp"] = float("nan")
    with pytest.raises(InputError, match="entry 3: `timestamp`"):
        read_servo_log(_write(tmp_path / "a.json", log))


def test_sniff_never_raises(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe\x00")
    assert not ServoReader().sniff(tmp_path)
    assert not ServoReader().sniff(tmp_path / "absent.json")


def test_real_logs(data: Path) -> None:
    episodes = list(ServoReader().read(data / "bam_xl330"))
    assert len(episodes) == len(list((data / "bam_xl330").glob("*.json")))
    assert len({e.id for e in episodes}) == len(episodes)
    assert all(
        e.signals["observation.state"].rate == pytest.approx(200, rel=0.01) for e in episodes
    )


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(_log()).encode())
    assert read_servo_log(path).task == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"entries": [{"goal_position": ' + "[" * 100_000, "nested too deeply"),
        ('{"dt": 1e400, "entries": [{"goal_position": 1, "position": 1}]}', "`dt`, but inf"),
        ('{"dt": 1e308, "entries": [{"goal_position": 1, "position": 1}]}', "`dt`, but 1e"),
        ('{"mass": 1%s, "entries": [{"timestamp": 0, "goal_position": 1, "position": 1}]}'
         % ("0" * 400), "`mass`"),
    ],
)  # fmt: skip
def test_numbers_beyond_reason_are_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=words):
        read_servo_log(tmp_path / "a.json")
