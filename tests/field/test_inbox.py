import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gaploop.core import FieldError
from gaploop.field import Inbox
from gaploop.store.datasets import open_dataset, read_dataset
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
