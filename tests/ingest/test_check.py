"""One call on a path: format, figures, findings, or one clear sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gaploop.core import InputError
from gaploop.ingest import check, find_reader, ingest


def test_check_says_format_and_counts(write: Callable[..., Path]) -> None:
    report = check(write())
    assert (report.format, report.episodes, report.frames) == ("servo", 1, 400)
    assert report.contract.feature("action") is not None


def test_ingest_gives_episodes_and_their_screen(write: Callable[..., Path]) -> None:
    episodes, screened = ingest(write())
    assert screened.clean == (episodes[0].id,)


def test_the_format_is_found_by_content(write: Callable[..., Path], tmp_path: Path) -> None:
    assert find_reader(write()).name == "servo"
    csv = tmp_path / "x_measured.csv"
    csv.write_text("time,position,velocity,torque\n0,1,2,3\n1,2,3,4\n")
    assert find_reader(csv).name == "pendulum"


def test_a_missing_path() -> None:
    with pytest.raises(InputError, match="no file or folder"):
        check(Path("does/not/exist"))


def test_an_unknown_folder_lists_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(InputError, match=r"servo.*gaploop\.readers"):
        check(tmp_path)


def test_two_formats_in_one_folder_are_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    write()
    (tmp_path / "x_measured.csv").write_text("time,position,velocity,torque\n0,1,2,3\n")
    with pytest.raises(InputError, match="more than one format: pendulum, servo"):
        check(tmp_path)


def test_differing_contracts_are_named(write: Callable[..., Path], tmp_path: Path) -> None:
    write(name="a.json")
    log: dict[str, Any] = json.loads((tmp_path / "a.json").read_text())
    for entry in log["entries"]:
        del entry["load"]
    write(log, name="b.json")
    found = {f.code for f in check(tmp_path).findings}
    assert "contract_differs" in found


def test_real_logs(data: Path) -> None:
    for folder, name in (("bam_xl330", "servo"), ("simple_pendulum", "pendulum")):
        assert check(data / folder).format == name
