import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import ConfigError, FieldError, Signal
from gaploop.field import Inbox
from gaploop.store.datasets import open_dataset, read_dataset, write_dataset
from gaploop.testing.fields import check_field

Log = Callable[..., Path]


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "arrivals"
    folder.mkdir()
    return folder


def collect(inbox: Path, out: Path, **more: object) -> int:
    Inbox(str(inbox), **more).collect(Path("policy"), 2, 0, out)  # type: ignore[arg-type]
    return len(open_dataset(out))


def complete(folder: Path) -> None:
    (folder / "COMPLETE").touch()


def test_a_log_is_copied_once_and_stays(inbox: Path, tmp_path: Path, log: Log) -> None:
    complete(log(inbox / "monday"))
    assert collect(inbox, tmp_path / "cell" / "a") == 2
    assert (inbox / "monday" / "meta" / "info.json").is_file()
    with pytest.raises(FieldError, match=r"No new log in .*: 1 taken before"):
        collect(inbox, tmp_path / "cell" / "b")
    assert not (tmp_path / "cell" / "b").exists()
    # the same log under another name is the same log
    shutil.copytree(inbox / "monday", inbox / "tuesday")
    with pytest.raises(FieldError, match="No new log"):
        collect(inbox, tmp_path / "cell" / "b")


def test_a_sealed_dataset_counts_as_taken(inbox: Path, tmp_path: Path, log: Log) -> None:
    complete(log(inbox / "monday"))
    collect(inbox, tmp_path / "cell" / "incoming" / "a")
    (tmp_path / "cell" / "episodes").mkdir()
    (tmp_path / "cell" / "incoming" / "a").rename(tmp_path / "cell" / "episodes" / "ab12")
    with pytest.raises(FieldError, match="1 taken before"):
        collect(inbox, tmp_path / "cell" / "incoming" / "b")


def test_several_logs_become_one_dataset(inbox: Path, tmp_path: Path, log: Log) -> None:
    complete(log(inbox / "a", n=2))
    complete(log(inbox / "b", first=2, n=3))
    assert collect(inbox, tmp_path / "out") == 5
    ids = {e.id for p in ("a", "b") for e in read_dataset(inbox / p)}
    assert {e.id for e in read_dataset(tmp_path / "out")} == ids


def test_robots_are_not_mixed(inbox: Path, tmp_path: Path, log: Log) -> None:
    complete(log(inbox / "a"))
    complete(log(inbox / "b", first=5, robot="arm"))
    with pytest.raises(FieldError, match="an inbox of its own"):
        collect(inbox, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [inbox]


def test_what_still_changes_is_left_alone(inbox: Path, tmp_path: Path, log: Log) -> None:
    folder = log(inbox / "now")
    with pytest.raises(FieldError, match="1 not complete"):
        collect(inbox, tmp_path / "out", settle_s=60.0)
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (time.time() - 100,) * 2)
    assert collect(inbox, tmp_path / "out", settle_s=60.0) == 2


def test_it_waits_for_a_log(inbox: Path, tmp_path: Path, log: Log) -> None:
    def arrive() -> None:
        staging = log(tmp_path / "staging")
        complete(staging)
        staging.rename(inbox / "late")

    thread = threading.Timer(0.2, arrive)
    thread.start()
    assert collect(inbox, tmp_path / "out", wait_s=20.0, poll_s=0.05) == 2
    thread.join()


def test_a_finished_run_is_never_repeated(inbox: Path, tmp_path: Path, log: Log) -> None:
    complete(log(inbox / "a"))
    collect(inbox, tmp_path / "out")
    complete(log(inbox / "b", first=9))
    assert collect(inbox, tmp_path / "out") == 2  # still the first one


def test_something_else_in_the_way_is_refused(inbox: Path, tmp_path: Path, log: Log) -> None:
    complete(log(inbox / "a"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    with pytest.raises(FieldError, match="in the way"):
        collect(inbox, tmp_path / "out")
    assert (tmp_path / "out" / "thesis.tex").read_text() == "years of work"


def test_a_cut_log_is_named(inbox: Path, tmp_path: Path, log: Log) -> None:
    folder = log(inbox / "cut")
    complete(folder)
    data = next((folder / "data").rglob("*.parquet"))
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(FieldError, match="cut"):
        collect(inbox, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_inbox_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FieldError, match="is not there"):
        collect(tmp_path / "none", tmp_path / "out")


def test_it_is_a_field(inbox: Path, tmp_path: Path, log: Log) -> None:
    complete(log(inbox / "a"))
    check_field(Inbox(str(inbox), task="peg"), Path("policy"), tmp_path / "work", trials=2)


def test_an_inbox_without_a_name_is_not_the_current_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="inbox:FOLDER"):
        Inbox("").collect(Path("policy"), 2, 0, tmp_path / "out")


@pytest.mark.parametrize("kind", ["out", "loop", "nowhere", "pipe"])
def test_a_log_brings_in_nothing_but_its_own_files(
    inbox: Path, tmp_path: Path, log: Log, kind: str
) -> None:
    extra = log(inbox / "monday") / "extra"
    if kind == "pipe":
        os.mkfifo(extra)
    else:
        extra.symlink_to({"out": "/etc/hostname", "loop": "..", "nowhere": "/nowhere"}[kind])
    complete(inbox / "monday")
    with pytest.raises(FieldError, match=r"extra is no plain file or folder of the log monday"):
        collect(inbox, tmp_path / "cell" / "a")
    assert not list((tmp_path / "cell").iterdir())


def test_a_note_that_is_none_of_ours_is_passed_over(inbox: Path, tmp_path: Path, log: Log) -> None:
    note = log(tmp_path / "cell" / "elsewhere") / "meta" / "gaploop" / "inbox.json"
    complete(log(inbox / "monday", first=2))
    for text in ("[1]", '{"a": [1]}', "{"):
        note.write_text(text)
        shutil.rmtree(tmp_path / "cell" / "a", ignore_errors=True)
        assert collect(inbox, tmp_path / "cell" / "a") == 2


def test_a_log_of_another_robot_is_refused_at_the_door(
    inbox: Path, tmp_path: Path, log: Log
) -> None:
    values = np.zeros((5, 2))
    narrow = Signal(name="action", unit="m", times=np.arange(5) / 20.0, values=values)
    (old,) = read_dataset(log(tmp_path / "old", n=1))
    write_dataset(
        inbox / "monday", [replace(old, signals={**old.signals, "action": narrow})], fps=20,
        robot="other",
    )  # fmt: skip
    complete(inbox / "monday")
    with pytest.raises(FieldError, match=r"'action' has 2 numbers a frame.*needs 3: x, y, z"):
        collect(inbox, tmp_path / "cell" / "a", task="peg")
