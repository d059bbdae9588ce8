import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import Episode, Label, Signal, WorkcellError
from gaploop.store import Workcell
from gaploop.store.datasets import write_dataset
from gaploop.store.questions import answer, connect

Make = Callable[..., list[Episode]]


@pytest.fixture
def filled(cell: Workcell, make: Make, tmp_path: Path) -> Workcell:
    """Two datasets that agree in little."""
    write_dataset(tmp_path / "a", make(4), fps=20, robot="gantry")
    times = np.arange(5) / 10
    signals = {"action": np.arange(5.0), "flag": np.arange(5) > 2}
    other = Episode(signals={k: Signal(name=k, times=times, values=v) for k, v in signals.items()})
    write_dataset(tmp_path / "b", [other], fps=10, robot="x")
    for name in ("a", "b"):
        cell.ledger.set_ref(name, cell.add_dataset(tmp_path / name))
    cell.ledger.label(Label(subject="s", key="note", value={"depth": 0.25}, author="me"))
    cell.cached("store", lambda: {"out": cell.objects.put(1)}, config=None, seed=1, inputs={})
    return cell


def test_frames_are_those_of_the_datasets(filled: Workcell, make: Make) -> None:
    rows = answer(
        filled,
        "SELECT e.id, count(*) AS n, sum(f.action[1]) AS total FROM frames f JOIN episodes e"
        " ON f.dataset = e.dataset AND f.episode_index = e.position"
        " WHERE e.robot = 'gantry' GROUP BY ALL",
    )
    assert {r["id"]: r["n"] for r in rows} == {e.id: 12 for e in make(4)}
    for episode in make(4):
        total = next(r["total"] for r in rows if r["id"] == episode.id)
        expected = episode.signals["action"].values[:, 0].astype(np.float32).sum()
        assert total == pytest.approx(expected, rel=1e-5)


def test_datasets_that_disagree_share_the_view(filled: Workcell) -> None:
    [row] = answer(
        filled, "SELECT sum(action[1]) AS a, sum(flag::INT) AS f FROM frames WHERE flag IS NOT NULL"
    )
    assert row == {"a": 10.0, "f": 2}
    assert answer(filled, "SELECT count(*) AS n FROM frames") == [{"n": 4 * 12 + 5}]


def test_success_by_dataset(filled: Workcell) -> None:
    rows = answer(
        filled,
        "SELECT r.name, count(*) AS n, sum(success::INT) AS k FROM episodes"
        " JOIN refs r ON r.digest = dataset GROUP BY ALL ORDER BY 1",
    )
    assert rows == [{"name": "a", "n": 4, "k": 2}, {"name": "b", "n": 1, "k": None}]


def test_runs_and_labels_hold_json(filled: Workcell) -> None:
    [row] = answer(
        filled,
        "SELECT runs.stage, runs.seed, (labels.value->>'$.depth')::DOUBLE AS depth,"
        " runs.outputs->>'$.out' AS out FROM runs, labels",
    )
    out = filled.ledger.runs()[0].outputs["out"]
    assert row == {"stage": "store", "seed": "1", "depth": 0.25, "out": out}


def test_an_empty_workcell_answers(cell: Workcell) -> None:
    for view in ("frames", "episodes", "runs", "labels", "refs"):
        assert answer(cell, f"SELECT count(*) AS n FROM {view}") == [{"n": 0}]


def test_a_path_with_a_quote(tmp_path: Path, make: Make) -> None:
    write_dataset(tmp_path / "d", make(1), fps=20, robot="gantry")
    with Workcell.create(tmp_path / "it's a cell", "") as cell:
        cell.add_dataset(tmp_path / "d")
        assert answer(cell, "SELECT count(*) AS n FROM frames") == [{"n": 12}]


def test_a_broken_dataset_is_named(filled: Workcell) -> None:
    path = next(filled.path.glob("episodes/*/data/*/*.parquet"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(WorkcellError, match=r"parquet cannot be read"):
        connect(filled)


def test_the_store_alone_loads_no_table_engine() -> None:
    code = (
        "import sys, gaploop.store;"
        "print([m for m in ('duckdb', 'pyarrow', 'torch', 'pandas') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
