import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gaploop.core import WorkcellError
from gaploop.store import Workcell

HOLD = """
import os, sys, time
from gaploop.store import Workcell
with Workcell.open(sys.argv[1]) as cell, cell.lock():
    if len(sys.argv) > 2 and os.fork() == 0:
        time.sleep(60)
    (cell.tmp / "draft").mkdir()
    print("held", flush=True)
    time.sleep(60)
"""


def hold(path: Path, *more: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), *more],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_the_second_loop_is_told_who_has_it(cell: Workcell) -> None:
    process = hold(cell.path)
    try:
        with pytest.raises(WorkcellError, match=f"in use by process {process.pid}"), cell.lock():
            raise AssertionError("the lock was given twice")
    finally:
        end(process)
    with cell.lock():
        assert (cell.path / ".lock").read_text() == f"{os.getpid()}\n"
        assert list(cell.tmp.iterdir()) == []  # what the killed one left is gone
    assert (cell.path / ".lock").read_text() == ""


def test_the_same_process_cannot_take_it_twice(cell: Workcell) -> None:
    with cell.lock():
        with pytest.raises(WorkcellError, match=f"process {os.getpid()}"), cell.lock():
            raise AssertionError("the lock was given twice")
        with pytest.raises(WorkcellError), cell.lock():  # the failed try did not free it
            raise AssertionError("the lock was given twice")


def test_a_worker_that_outlives_a_killed_loop_holds_nothing(cell: Workcell) -> None:
    process = hold(cell.path, "fork")
    try:
        process.kill()
        process.wait()
        time.sleep(0.05)
        with cell.lock():
            assert (cell.path / ".lock").read_text().strip() == str(os.getpid())
    finally:
        end(process)


def test_an_error_inside_frees_it(cell: Workcell) -> None:
    with pytest.raises(ZeroDivisionError), cell.lock():
        raise ZeroDivisionError
    with cell.lock():
        pass
