from collections.abc import Callable
from pathlib import Path

import pytest

from gaploop.core import Episode, InputError, WorkcellError
from gaploop.store import Workcell, codec, seal
from gaploop.store.datasets import write_dataset

Make = Callable[..., list[Episode]]


def everything(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*"))


def test_create_then_open(tmp_path: Path) -> None:
    with Workcell.create(tmp_path / "cell", 'robot = "x"\n'):
        pass
    with Workcell.open(tmp_path / "cell") as cell:
        assert cell.config == 'robot = "x"\n'
    assert everything(tmp_path / "cell") == [
        "episodes", "gaploop.toml", "ledger.sqlite", "objects", "tmp",
    ]  # fmt: skip


def test_a_half_made_workcell_can_be_made_again(tmp_path: Path) -> None:
    with Workcell.create(tmp_path / "cell", ""):
        pass
    (tmp_path / "cell" / "gaploop.toml").unlink()  # as if killed before the last step
    with pytest.raises(WorkcellError, match="no workcell"):
        Workcell.open(tmp_path / "cell")
    with Workcell.create(tmp_path / "cell", "a = 1"):
        pass


def test_what_is_wrong_with_the_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(WorkcellError, match="no workcell"):
        Workcell.open(tmp_path / "missing")
    with Workcell.create(tmp_path / "cell", ""):
        pass
    with pytest.raises(WorkcellError, match="is a workcell already"):
        Workcell.create(tmp_path / "cell", "")
    (tmp_path / "cell" / "ledger.sqlite").unlink()
    with pytest.raises(WorkcellError, match=r"lost its ledger.sqlite"):
        Workcell.open(tmp_path / "cell")
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkcellError, match="is a file"):
        Workcell.create(tmp_path / "file", "")


class Counted:
    """A stage that knows how often it ran."""

    def __init__(self, cell: Workcell) -> None:
        self.cell, self.calls = cell, 0

    def __call__(self) -> dict[str, str]:
        self.calls += 1
        self.cell.ledger.set_ref("last", "0" * 64)
        return {"out": self.cell.objects.put({"call": 1})}


def test_a_call_is_made_once(cell: Workcell) -> None:
    stage = Counted(cell)
    first = cell.cached("store", stage, config={"n": 1}, seed=3, inputs={"a": "1"})
    assert cell.cached("store", stage, config={"n": 1}, seed=3, inputs={"a": "1"}) == first
    assert stage.calls == 1
    for changed in (
        {"config": {"n": 2}}, {"seed": 4}, {"inputs": {"a": "2"}}, {"environment": {"x": "1"}},
    ):  # fmt: skip
        call = {"config": {"n": 1}, "seed": 3, "inputs": {"a": "1"}, **changed}
        assert cell.cached("store", stage, **call) == first
    assert stage.calls == 5
    run = cell.ledger.runs("store")[0]
    assert (run.status, run.outputs, run.seed) == ("done", first, 3)


def test_it_is_made_again_where_its_output_is_gone(cell: Workcell) -> None:
    stage = Counted(cell)
    digest = cell.cached("store", stage, config=None, seed=0, inputs={})["out"]
    cell.objects.path(digest).unlink()
    cell.cached("store", stage, config=None, seed=0, inputs={})
    assert stage.calls == 2
    assert cell.has(digest)


def test_a_stage_that_fails_says_nothing_in_the_ledger(cell: Workcell) -> None:
    def stage() -> dict[str, str]:
        cell.ledger.set_ref("half", "0" * 64)
        raise InputError("bad log")

    with pytest.raises(InputError):
        cell.cached("store", stage, config=None, seed=0, inputs={})
    assert cell.ledger.refs() == {}
    assert cell.ledger.runs() == []


def test_a_dataset_moves_in_and_its_episodes_are_listed(cell: Workcell, make: Make) -> None:
    episodes = make(4)
    with cell.scratch() as folder:
        write_dataset(folder / "data", episodes, fps=20, robot="gantry")
        sealed = seal(folder / "data")
        digest = cell.add_dataset(folder / "data")
        assert not (folder / "data").exists()
    assert digest == sealed
    assert cell.datasets() == [digest]
    assert cell.has(digest)
    assert seal(cell.dataset(digest)) == digest
    rows = cell.ledger.episodes(digest)
    assert [r.id for r in rows] == [e.id for e in episodes]
    assert [r.success for r in rows] == [False, True, False, True]
    back = cell.episode(episodes[2].id)
    assert back.id == episodes[2].id
    assert codec.dumps(back.facts) == codec.dumps(episodes[2].facts)
    assert list(cell.tmp.iterdir()) == []


def test_adding_a_dataset_twice_changes_nothing(cell: Workcell, make: Make, tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        write_dataset(tmp_path / name, make(2), fps=20, robot="gantry")
        digests.append(cell.add_dataset(tmp_path / name))
    assert digests[0] == digests[1]
    assert len(cell.ledger.episodes()) == 2
    assert not (tmp_path / "two").exists()


def test_a_folder_that_is_no_dataset_stays_where_it_is(cell: Workcell, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="no dataset"):
        cell.add_dataset(tmp_path / "folder")
    assert (tmp_path / "folder").exists()
    assert cell.datasets() == []


def test_unknown_digests_are_named(cell: Workcell) -> None:
    with pytest.raises(WorkcellError, match="no dataset abababab"):
        cell.dataset("ab" * 32)
    with pytest.raises(WorkcellError, match="no episode abababab"):
        cell.episode("ab" * 32)
    for name in ("", "..", "../objects"):
        with pytest.raises(WorkcellError):
            cell.dataset(name)
