"""The examples of the how-to pages run as they are printed there."""

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gaploop.field import Command, Inbox
from gaploop.store.datasets import read_dataset
from gaploop.testing.fields import check_field

ROOT = Path(__file__).resolve().parents[2]
PYTHON = shlex.quote(sys.executable)


def test_the_line_of_the_command_page_is_a_field(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/how-to/field-command.md").read_text()
    line = re.search(r'field = "command:(.*)"', page)
    assert line is not None
    assert line[1] in (ROOT / "examples/field_command.py").read_text()
    field = Command(re.sub(r"^python\b", PYTHON, line[1]), task="peg")
    check_field(field, policy, tmp_path / "work", trials=2, seed=3)
    first, second = read_dataset(tmp_path / "work" / "collected")
    assert (first.task, first.world, len(first.signals["action"].times)) == ("peg", "real", 44)
    assert first.id != second.id


def test_the_line_of_the_inbox_page_fills_an_inbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "attempts").mkdir()
    names = ["x", "y", "z", "hole_x", "hole_y", "cmd_x", "cmd_y", "cmd_z"]
    values = np.random.default_rng(0).normal(0, 0.01, (2, 44, 8))
    for i, rows in enumerate(values):
        with (tmp_path / "attempts" / f"{i}{'_ok' * i}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([names, *rows])
    page = (ROOT / "docs/how-to/field-inbox.md").read_text()
    line = re.search(r"^\$ python (examples/field_inbox.py .*)$", page, re.M)
    assert line is not None
    subprocess.run(f"{PYTHON} {shlex.quote(str(ROOT))}/{line[1]}", shell=True, check=True)
    check_field(Inbox("inbox", task="peg"), tmp_path, tmp_path / "work")
    episodes = list(read_dataset(tmp_path / "work" / "collected"))
    assert [e.success for e in episodes] == [False, True]
    assert np.allclose(episodes[1].signals["action"].values, values[1][:, 5:], atol=1e-6)
