import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gaploop.core import ConfigError, FieldError
from gaploop.field import Command
from gaploop.store.datasets import open_dataset
from gaploop.testing.fields import check_field

Log = Callable[..., Path]
PYTHON = shlex.quote(sys.executable)


def script(tmp_path: Path, text: str) -> str:
    file = tmp_path / "robot's program.py"
    file.write_text(text)
    return f"{PYTHON} {shlex.quote(str(file))}"


@pytest.fixture
def copying(tmp_path: Path, log: Log) -> str:
    """A command that leaves a copy of a log, and beside it what it was told."""
    source = log(tmp_path / "source")
    text = f"""
import shutil, sys
shutil.copytree({str(source)!r}, sys.argv[4])
open({str(tmp_path / "told")!r}, "w").write(repr(sys.argv[1:]))
"""
    return script(tmp_path, text) + " {policy} {trials} {seed} {out}"


@pytest.mark.parametrize("shell", [False, True])
def test_it_is_told_everything_whatever_is_in_a_path(
    copying: str, tmp_path: Path, shell: bool
) -> None:
    policy = tmp_path / "a policy; touch owned $(touch owned) 'x'"
    out = tmp_path / "my out"
    Command(copying, shell=shell).collect(policy, 3, 7, out)
    assert len(open_dataset(out)) == 2
    told = (tmp_path / "told").read_text()
    part = out.with_name(f".my out.{os.getpid()}.part")
    assert told == repr([str(policy), "3", "7", str(part)])
    assert not list(Path.cwd().glob("owned"))


def test_it_is_a_field(copying: str, tmp_path: Path) -> None:
    check_field(Command(copying, task="peg"), tmp_path / "policy", tmp_path / "work", trials=2)


def refused(line: str, tmp_path: Path, **more: float) -> str:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FieldError) as caught:
        Command(line, **more).collect(tmp_path, 2, 0, tmp_path / "out")  # type: ignore[arg-type]
    assert sorted(tmp_path.iterdir()) == before
    return str(caught.value)


def test_a_failure_comes_with_its_last_words(tmp_path: Path) -> None:
    text = "import sys; print('arm: joint 3 over temperature', file=sys.stderr); sys.exit(4)"
    message = refused(script(tmp_path, text) + " {out}", tmp_path)
    assert "exit code 4" in message
    assert "joint 3 over temperature" in message


def test_nothing_or_nonsense_left(tmp_path: Path) -> None:
    assert "no readable" in refused(script(tmp_path, "pass") + " {out}", tmp_path)
    text = "import sys, os; os.mkdir(sys.argv[1])"
    assert "no readable" in refused(script(tmp_path, text) + " {out}", tmp_path)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    assert "does not start" in refused("no-such-robot {out}", tmp_path)


def test_past_the_timeout_its_children_stop_too(tmp_path: Path) -> None:
    child = f"import time,sys; time.sleep(3); open({str(tmp_path / 'alive')!r}, 'w')"
    text = (
        f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); "
        "time.sleep(60)"
    )
    line = script(tmp_path, text) + " {out}"
    started = time.monotonic()
    assert "ran past 1 s" in refused(line, tmp_path, timeout_s=1.0)
    assert time.monotonic() - started < 20
    time.sleep(3.2)
    assert not (tmp_path / "alive").exists()


def test_a_folder_of_another_task_is_refused(tmp_path: Path, log: Log) -> None:
    import numpy as np

    from gaploop.core import Episode, Signal
    from gaploop.store.datasets import write_dataset

    signal = Signal(name="action", times=np.arange(3) / 20, values=np.zeros((3, 3)))
    write_dataset(tmp_path / "s", [Episode(signals={"action": signal})], fps=20, robot="r")
    line = f"cp -r {shlex.quote(str(tmp_path / 's'))} {{out}}"
    with pytest.raises(FieldError, match=r"without the feature 'observation\.state'"):
        Command(line, task="peg").collect(tmp_path, 1, 0, tmp_path / "out")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("robot {policy}", "no {out}"),
        ("robot {out} {speed}", "{speed}"),
        ("robot {out} 'open", "off"),
        ("robot {out", "off"),
        ("", "no {out}"),
    ],
)
def test_a_line_that_is_off(line: str, word: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Command(line)
    assert word in str(caught.value)


def test_a_killed_run_leaves_nothing_in_the_way(copying: str, tmp_path: Path) -> None:
    for name in (".out.1.part", "..out.1.part.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").touch()
    (tmp_path / ".outing").mkdir()
    Command(copying).collect(tmp_path, 2, 0, tmp_path / "out")
    hidden = [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]
    assert hidden == [".outing"]
    assert os.listdir(tmp_path / "out")


@pytest.mark.parametrize(
    "line", ["x {trials:5d} {out}", "x {seed:zz} {out}", "x {out!r}", "x\0 {out}"]
)
def test_what_cannot_be_filled_in_is_refused_at_once(line: str) -> None:
    with pytest.raises(ConfigError):
        Command(line)


@pytest.mark.parametrize("act", ["os.mkfifo(out)", "open(out, 'w')", "os.symlink('/nowhere', out)"])
def test_whatever_is_left_instead_of_a_folder_goes(tmp_path: Path, act: str) -> None:
    line = script(tmp_path, f"import os, sys\nout = sys.argv[1]\n{act}") + " {out}"
    assert "left no readable" in refused(line, tmp_path)


def test_a_link_to_a_dataset_is_no_dataset(tmp_path: Path, log: Log) -> None:
    source = log(tmp_path / "source")
    line = script(tmp_path, f"import os, sys\nos.symlink({str(source)!r}, sys.argv[1])") + " {out}"
    assert "is a link" in refused(line, tmp_path)
    assert (source / "meta" / "info.json").is_file()
