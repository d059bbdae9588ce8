"""Serial and process executors: order, errors, no orphans."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import GaploopError, UnknownNameError, UsageError
from gaploop.run import Processes, Serial

HELPERS = """
import os, time
from gaploop.core import UnknownNameError

def square(x):
    return x * x

def where(x):
    time.sleep(0.2 if x == 0 else 0)
    return x, os.getpid()

def fail_or_linger(x):
    if x == 1:
        raise UnknownNameError("task", "pgg", ["peg"])
    if x == 0:
        time.sleep(60)
    return x

class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")

def odd(x):
    raise Odd(x, x)

def die(x):
    os._exit(9)

def linger(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(60)
"""

MAIN = """
import signal, sys
from gaploop.run import Processes
import helpers_of_run
if __name__ == "__main__":
    # a shell starts what it puts in the background with SIGINT ignored, and tests may run there
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        Processes(2).map(helpers_of_run.linger, [sys.argv[1]] * 4)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.fixture
def helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A module the spawned workers can import."""
    (tmp_path / "helpers_of_run.py").write_text(HELPERS)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("helpers_of_run", None)
    import helpers_of_run

    yield helpers_of_run
    sys.modules.pop("helpers_of_run", None)


def test_serial_and_processes_agree_in_order(helpers) -> None:
    items = list(range(7))
    assert Serial().map(helpers.square, items) == [x * x for x in items]
    assert Processes(2).map(helpers.square, iter(items)) == [x * x for x in items]
    arrays = Processes(1).map(np.sort, [np.array([2, 1]), np.array([4, 3])])
    np.testing.assert_array_equal(arrays, [[1, 2], [3, 4]])
    assert Processes(2).map(helpers.square, []) == []


def test_work_happens_elsewhere_and_slow_items_keep_their_place(helpers) -> None:
    found = Processes(2).map(helpers.where, range(4))
    assert [x for x, _ in found] == [0, 1, 2, 3]
    assert os.getpid() not in {pid for _, pid in found}


def test_first_error_stops_the_rest_and_keeps_its_type(helpers) -> None:
    began = time.monotonic()
    with pytest.raises(UnknownNameError, match="Did you mean 'peg'") as caught:
        Processes(2).map(helpers.fail_or_linger, range(50))
    assert "for item 1 of 50" in caught.value.__notes__[0]
    # the 60 s call was stopped, not awaited
    assert time.monotonic() - began < 30
    with pytest.raises(UnknownNameError):
        Serial().map(helpers.fail_or_linger, [1])


def test_errors_that_cannot_travel_still_tell(helpers) -> None:
    with pytest.raises(RuntimeError, match="Odd: 3 and 3"):
        Processes(1).map(helpers.odd, [3])


def test_a_dead_worker_is_named(helpers) -> None:
    with pytest.raises(GaploopError, match="worker process died while running die"):
        Processes(1).map(helpers.die, [0])


def test_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot run in another process"):
        Processes(1).map(lambda x: x, [1])
    with pytest.raises(UsageError, match="0 worker processes"):
        Processes(0)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_parent(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "helpers_of_run.py").write_text(HELPERS)
    (tmp_path / "main_of_run.py").write_text(MAIN)
    marks = tmp_path / "marks"
    marks.mkdir()
    parent = subprocess.Popen(
        [sys.executable, "main_of_run.py", str(marks)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    _until(lambda: len(list(marks.iterdir())) == 2)
    workers = [int(p.name) for p in marks.iterdir()]
    parent.send_signal(how)
    _, errors = parent.communicate(timeout=20)
    assert parent.returncode == (130 if how == signal.SIGINT else -how)
    assert b"Traceback" not in errors
    _until(lambda: not any(_alive(pid) for pid in workers))


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def _until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_errors_keep_their_exit_code(helpers) -> None:
    with pytest.raises(UsageError) as caught:
        Processes(1).map(helpers.fail_or_linger, [1])
    assert caught.value.exit_code == 2
