"""A loop killed at any moment resumes and ends as if nothing had happened."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gaploop.store import Workcell, seal

SMALL = Path(__file__).parent / "data" / "small.toml"
KILLS = 20


def make(path: Path, log: Path) -> Path:
    """A workcell whose field writes a line to `log` for every collection it finished."""
    text = f'field = "counting_field:{log}"\n'
    Workcell.create(path, text + SMALL.read_text()).close()
    return path


def start(cell: Path) -> subprocess.Popen:
    path = os.pathsep.join([str(SMALL.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "gaploop.cli", "loop", "--workcell", str(cell), "--json"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(cell: Path) -> None:
    process = start(cell)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said


def content(cell: Path) -> dict[str, object]:
    """Names, and every file but the ledger's own, by digest."""
    with Workcell.open(cell) as opened:
        refs = {k: v for k, v in opened.ledger.refs().items() if "@" in k}
        runs = [(r.stage, r.outputs) for r in opened.ledger.runs()]
    folders = {name: seal(cell / name) for name in ("episodes", "objects")}
    return {"refs": refs, "runs": runs, **folders}


def files(cell: Path) -> list[str]:
    return sorted(
        str(p.relative_to(cell)) for p in cell.rglob("*")
        if p.is_file() and not p.name.startswith("ledger.sqlite")
    )  # fmt: skip


@pytest.mark.slow
def test_a_killed_loop_resumes_to_the_same_digests(tmp_path):
    whole = make(tmp_path / "whole", tmp_path / "whole.log")
    began = time.monotonic()
    finish(whole)
    lasted = time.monotonic() - began
    expected, listing = content(whole), files(whole)

    rng = random.Random(0)
    kills, turn = 0, 0
    while kills < KILLS:
        log = tmp_path / f"{turn}.log"
        cell = make(tmp_path / f"cell-{turn}", log)
        while kills < KILLS:
            process = start(cell)
            try:
                process.wait(timeout=rng.uniform(0.3, 0.7 * lasted))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.communicate()
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL
        finish(cell)
        assert content(cell) == expected
        assert files(cell) == listing
        assert log.read_text().count("collected") <= 1 if log.exists() else True
        shutil.rmtree(cell)
        turn += 1
