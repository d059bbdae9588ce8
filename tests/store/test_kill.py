"""SIGKILL at any moment leaves a workcell that opens, with nothing half done in sight."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gaploop.store import Workcell, seal
from gaploop.store.datasets import open_dataset

WORK = """
import sys
import numpy as np
from gaploop.core import Episode, Label, Signal
from gaploop.store import Workcell
from gaploop.store.datasets import write_dataset

def episode(i, j):
    times = np.arange(30) / 20
    values = np.random.default_rng([i, j]).normal(size=(30, 3))
    return Episode(signals={"action": Signal(name="action", times=times, values=values)})

with Workcell.open(sys.argv[1]) as cell, cell.lock():
    for i in range(10_000):
        def stage():
            with cell.scratch() as folder:
                write_dataset(folder / "d", (episode(i, j) for j in range(20)), fps=20, robot="r")
                (folder / "policy").mkdir()
                (folder / "policy" / "policy.onnx").write_bytes(bytes([i % 256]) * 100_000)
                tree = cell.objects.put_tree(folder / "policy")
                data = cell.add_dataset(folder / "d")
            cell.ledger.label(Label(subject=data, key="note", value=i, author="test"))
            cell.ledger.set_ref(f"round-{i}", data)
            return {"data": data, "tree": tree, "object": cell.objects.put(np.full(5000, i))}
        cell.cached("store", stage, config=i, seed=0, inputs={})
        print(i, flush=True)
"""


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    with Workcell.create(tmp_path / "cell", ""):
        pass
    rng = random.Random(3)
    done = 0
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WORK, str(tmp_path / "cell")], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        for _ in range(done + 1):  # the stages of before are only looked up
            process.stdout.readline()
        start = time.monotonic()
        process.stdout.readline()
        time.sleep(rng.random() * (time.monotonic() - start))  # somewhere inside a stage
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        now = check(tmp_path / "cell", done)
        assert now >= done + 2
        done = now


def check(path: Path, before: int) -> int:
    """Everything visible is whole; what was finished before is still there."""
    with Workcell.open(path) as cell, cell.lock():
        assert list(cell.tmp.iterdir()) == []
        runs = cell.ledger.runs()
        assert len(runs) >= before
        # a run, its labels and its names are there together or not at all
        assert [run.config for run in runs] == [str(i) for i in range(len(runs))]
        assert len(cell.ledger.labels()) == len(cell.ledger.refs()) == len(runs)
        assert len({e.dataset for e in cell.ledger.episodes()}) == len(runs)
        for i, run in enumerate(runs[before:], start=before):
            assert cell.ledger.resolve(f"round-{i}") == run.outputs["data"]
            assert (cell.objects.get(run.outputs["object"], np.ndarray) == i).all()
        for digest in cell.datasets():
            assert seal(cell.dataset(digest)) == digest
            assert len(open_dataset(cell.dataset(digest))) == 20
        for entry in cell.objects.root.glob("*/*"):
            name = entry.parent.name + entry.name
            assert seal(entry) == name if entry.is_dir() else cell.objects._get_bytes(name)
        known = {".lock", "episodes", "gaploop.toml", "objects", "tmp"}
        assert {p.name for p in path.iterdir() if not p.name.startswith("ledger")} == known
        return len(runs)
