"""The benchmark harness: cells run once, resume after a kill, and one failure is not hidden."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gaploop.core import UnknownNameError, UsageError

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import harness

    return harness


class Doubling:
    """A bench of three cells that counts what it ran."""

    def __init__(self, harness: ModuleType) -> None:
        self.harness = harness
        self.ran: list[str] = []
        self.broken = ""

    def cells(self, quick: bool) -> list:
        sizes = [1, 2] if quick else [1, 2, 3]
        return [self.harness.Cell(name=f"x={x}", parameters={"x": x}) for x in sizes]

    def run(self, cell) -> dict:
        self.ran.append(cell.name)
        if cell.name == self.broken:
            raise ValueError("planted")
        return {"twice": np.float64(2 * cell.parameters["x"]), "list": np.arange(2)}

    def table(self, results) -> str:
        rows = [[r.cell.name, r.values["twice"]] for r in results]
        return self.harness.markdown(["cell", "twice"], rows)


@pytest.fixture
def doubling(harness: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Doubling:
    module = Doubling(harness)
    monkeypatch.setattr(harness, "load", lambda name: module)
    monkeypatch.setattr(harness, "source_digest", lambda name: "source")
    return module


def run(harness: ModuleType, folder: Path, *, quick: bool = False, **options) -> int:
    return harness.bench(harness.Options(name="doubling", **options), quick=quick, folder=folder)


def test_runs_missing_cells_once_and_writes_the_table(
    harness: ModuleType, doubling: Doubling, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(harness, tmp_path, quick=True) == 0
    page = (tmp_path / "results" / "doubling.quick.md").read_text()
    assert page.splitlines()[2] == "`QUICK=1 make bench NAME=doubling`"
    assert "| x=2  |   4.0 |" in page
    assert "| total |" in page
    assert not (tmp_path / "results" / "doubling.md").exists()
    assert run(harness, tmp_path) == 0
    assert doubling.ran == ["x=1", "x=2", "x=3"]
    assert "`make bench NAME=doubling`" in (tmp_path / "results" / "doubling.md").read_text()
    printed = capsys.readouterr()
    assert "| x=3  |   6.0 |" in printed.out
    assert "[2/3] x=2: known" in printed.err


def test_fresh_measures_again(harness: ModuleType, doubling: Doubling, tmp_path: Path) -> None:
    run(harness, tmp_path)
    run(harness, tmp_path, fresh=True)
    assert doubling.ran == ["x=1", "x=2", "x=3"] * 2


def test_a_changed_source_or_parameter_is_a_new_cell(
    harness: ModuleType, doubling: Doubling, tmp_path: Path
) -> None:
    cell = harness.Cell(name="a", parameters={"x": 1})
    other = harness.Cell(name="a", parameters={"x": 2})
    for source, one in (("s", cell), ("s", cell), ("t", cell), ("s", other)):
        harness.measure(doubling, [one], tmp_path, source)
    assert len(doubling.ran) == 3


def test_only_filters_and_leaves_the_results_alone(
    harness: ModuleType, doubling: Doubling, tmp_path: Path
) -> None:
    assert run(harness, tmp_path, only="=3") == 0
    assert doubling.ran == ["x=3"]
    assert not (tmp_path / "results").exists()
    with pytest.raises(UsageError, match="Cells: x=1, x=2, x=3"):
        run(harness, tmp_path, only="nothing")


@pytest.mark.parametrize("quick", [False, True])
def test_a_picture_stands_beside_the_table(
    harness: ModuleType, doubling: Doubling, tmp_path: Path, quick: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def picture(results: list) -> str:
        return f"<svg>{''.join(r.cell.name for r in results)}</svg>"

    monkeypatch.setattr(doubling, "picture", picture, raising=False)
    run(harness, tmp_path, quick=quick, only="=1")
    assert not (tmp_path / "results").exists()
    assert run(harness, tmp_path, quick=quick) == 0
    name = "doubling.quick" if quick else "doubling"
    pages = sorted(p.name for p in (tmp_path / "results").iterdir())
    assert pages == [f"{name}.md", f"{name}.svg"]
    names = "x=1x=2" if quick else "x=1x=2x=3"
    assert (tmp_path / "results" / f"{name}.svg").read_text() == f"<svg>{names}</svg>"


def test_a_failing_cell_costs_the_table_not_the_others(
    harness: ModuleType, doubling: Doubling, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doubling.broken = "x=2"
    assert run(harness, tmp_path) == 1
    assert "planted" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
    doubling.broken, doubling.ran = "", []
    assert run(harness, tmp_path) == 0
    assert doubling.ran == ["x=2"]


def test_a_damaged_cell_is_measured_again(
    harness: ModuleType, doubling: Doubling, tmp_path: Path
) -> None:
    run(harness, tmp_path)
    victim = sorted((tmp_path / ".cache" / "doubling").glob("*.json"))[0]
    victim.write_text(victim.read_text()[:20])
    run(harness, tmp_path)
    assert len(doubling.ran) == 4
    assert json.loads(victim.read_text())["wall"] >= 0


SLOW = """
import os, sys, time
from benchmarks.harness import Cell

def cells(quick):
    return [Cell(name=str(i), parameters={"i": i}) for i in range(3)]

def run(cell):
    print("ran", cell.name, file=sys.stderr, flush=True)
    if cell.name == "1" and "LINGER" in os.environ:
        time.sleep(60)
    return {"i": cell.parameters["i"]}

def table(results):
    return " ".join(str(r.values["i"]) for r in results)
"""


def test_resumes_after_a_kill(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    for name in ("__init__", "__main__", "harness"):
        text = (ROOT / "benchmarks" / f"{name}.py").read_text()
        (tmp_path / "benchmarks" / f"{name}.py").write_text(text)
    (tmp_path / "benchmarks" / "slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "benchmarks", "slow"]
    log = tmp_path / "log"
    with log.open("w") as errors:
        first = subprocess.Popen(
            command, cwd=tmp_path, stderr=errors, env={**os.environ, "LINGER": "1"}
        )
        end = time.monotonic() + 30
        while "ran 1" not in log.read_text() and time.monotonic() < end:
            time.sleep(0.05)
        first.send_signal(signal.SIGKILL)
        first.wait()
    second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "ran 0" not in second.stderr
    assert "ran 1" in second.stderr
    assert "0 1 2" in second.stdout
    assert not list(tmp_path.rglob("*.tmp"))


TOGETHER = """
import time
from pathlib import Path
from benchmarks.harness import Cell

WORKERS = 2

def cells(quick):
    return [Cell(name=n, parameters={"n": n}, cost=30.0) for n in ("a", "b", "broken")]

def run(cell):
    if cell.name == "broken" and not Path("mended").exists():
        raise ValueError("planted")
    if cell.name == "broken":
        return {"n": "broken"}
    # each waits for the other: one at a time, neither ends
    Path(cell.name).touch()
    other = Path("b" if cell.name == "a" else "a")
    end = time.monotonic() + 60
    while not other.exists():
        if time.monotonic() > end:
            raise TimeoutError("alone")
        time.sleep(0.02)
    return {"n": cell.name}

def table(results):
    return " ".join(r.values["n"] for r in results)
"""


def test_two_cells_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    for name in ("__init__", "__main__", "harness"):
        text = (ROOT / "benchmarks" / f"{name}.py").read_text()
        (tmp_path / "benchmarks" / f"{name}.py").write_text(text)
    (tmp_path / "benchmarks" / "together.py").write_text(TOGETHER)
    command = [sys.executable, "-m", "benchmarks", "together"]
    first = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert first.returncode == 1
    assert "by estimate 90 CPU-s: 1 min with 2 at a time" in first.stderr
    assert "planted" in first.stderr
    assert "1 of 3 cells failed" in first.stderr
    (tmp_path / "mended").touch()
    second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "a b broken" in second.stdout
    assert "[1/3] a: known" in second.stderr


def test_source_digest_follows_every_file(harness: ModuleType, tmp_path: Path) -> None:
    source, here = tmp_path / "gaploop", tmp_path / "benchmarks"
    (source / "tasks").mkdir(parents=True)
    here.mkdir()
    files = [source / "a.py", source / "tasks" / "scene.xml", here / "b.py", here / "_shared.py"]
    for file in files:
        file.write_text("1")
    seen = {harness.source_digest("b", source, here)}
    for file in files:
        file.write_text("2")
        seen.add(harness.source_digest("b", source, here))
    assert len(seen) == 5
    (here / "other.py").write_text("3")
    (source / "__pycache__").mkdir()
    (source / "__pycache__" / "a.pyc").write_text("4")
    assert harness.source_digest("b", source, here) in seen


def test_names_that_do_not_exist(
    harness: ModuleType, doubling: Doubling, capsys: pytest.CaptureFixture[str]
) -> None:
    assert harness.main(["doubling", "--only", "zzz"]) == 2
    assert "No cell contains 'zzz'" in capsys.readouterr().err
    with pytest.raises(UsageError, match="two cells named 'a'"):
        harness._checked([harness.Cell(name="a"), harness.Cell(name="a")], "b")


def test_an_unknown_bench_lists_what_there_is(harness: ModuleType) -> None:
    with pytest.raises(UnknownNameError, match="no benchmark named 'nothing-like-it'"):
        harness.load("nothing-like-it")


def test_markdown_aligns(harness: ModuleType) -> None:
    assert harness.markdown(["who", "rate"], [["us", 0.5], ["somebody", "100%"]]) == (
        "| who      | rate |\n| -------- | ---: |\n| us       |  0.5 |\n| somebody | 100% |"
    )
    with pytest.raises(ValueError, match="2 columns"):
        harness.markdown(["a", "b"], [["c"]])
