"""A full disk: one sentence, nothing half written, and all goes on once there is room."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import Episode, Label, WorkcellError
from gaploop.store import Workcell, files, seal
from gaploop.store.datasets import write_dataset

Make = Callable[..., list[Episode]]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 512 KiB."""
    path = tmp_path / "small"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(path)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if done.returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(folder: Path) -> Path:
    path = folder / "ballast"
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017
    return path


def listing(cell: Workcell) -> list[str]:
    roots = (cell.path / "objects", cell.path / "episodes", cell.tmp)
    return sorted(str(p) for r in roots for p in r.rglob("*") if p.is_file())


def test_objects(small: Path) -> None:
    with Workcell.create(small / "cell", "") as cell:
        kept = cell.objects.put({"a": 1})
        before = listing(cell)
        with pytest.raises(WorkcellError, match="is full"):
            cell.objects.put(np.zeros(200_000))
        with pytest.raises(WorkcellError, match="is full"):
            cell.objects.put(np.zeros(200_000))  # and again, with no ballast of the first
        assert listing(cell) == before
        assert cell.objects.get(kept, dict) == {"a": 1}


def test_folders(small: Path, tmp_path: Path) -> None:
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "policy.onnx").write_bytes(os.urandom(600_000))
    with Workcell.create(small / "cell", "") as cell:
        with pytest.raises(WorkcellError, match="is full"):
            cell.objects.put_tree(tmp_path / "policy")
        assert listing(cell) == []


def test_datasets(small: Path, make: Make) -> None:
    with pytest.raises(WorkcellError, match="is full"):
        write_dataset(small / "d", (make(1, steps=20_000)[0] for _ in range(3)), fps=20, robot="r")
    assert list(small.iterdir()) == []


def test_the_ledger(small: Path) -> None:
    with Workcell.create(small / "cell", "") as cell:
        cell.ledger.set_ref("kept", "1" * 64)
        ballast = fill(small)
        label = Label(subject="s", key="k", value="x" * 200_000, author="a")
        with pytest.raises(WorkcellError, match="is full"):
            cell.ledger.label(label)
        assert cell.ledger.refs() == {"kept": "1" * 64}
        assert cell.ledger.labels() == []
        ballast.unlink()
        cell.ledger.label(label)
        assert cell.ledger.labels() == [label]


def test_a_stage_that_runs_out_of_disk_can_be_run_again(small: Path) -> None:
    def stage() -> dict[str, str]:
        return {"out": cell.objects.put(np.zeros(10_000))}

    with Workcell.create(small / "cell", "") as cell:
        ballast = fill(small)
        with pytest.raises(WorkcellError, match="is full"):
            cell.cached("store", stage, config=None, seed=0, inputs={})
        ballast.unlink()
        outputs = cell.cached("store", stage, config=None, seed=0, inputs={})
        assert cell.has(outputs["out"])
        assert len(cell.ledger.runs()) == 1


@pytest.mark.parametrize(
    ("code", "match"), [(errno.ENOSPC, "is full"), (errno.EROFS, "cannot be written")]
)
def test_a_refusing_system(
    cell: Workcell, monkeypatch: pytest.MonkeyPatch, code: int, match: str
) -> None:
    def refuse(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files.os, "fsync", refuse)
    with pytest.raises(WorkcellError, match=match):
        cell.objects.put({"a": 1})
    assert listing(cell) == []


def test_a_dataset_from_another_disk(small: Path, tmp_path: Path, make: Make) -> None:
    write_dataset(small / "d", make(2), fps=20, robot="r")
    sealed = seal(small / "d")
    with Workcell.create(tmp_path / "cell", "") as cell:
        assert cell.add_dataset(small / "d") == sealed
        assert seal(cell.dataset(sealed)) == sealed
    assert list(small.iterdir()) == []


def test_a_dataset_that_does_not_fit_stays_where_it_is(
    small: Path, tmp_path: Path, make: Make
) -> None:
    write_dataset(tmp_path / "d", make(1, steps=20_000), fps=20, robot="r")
    with Workcell.create(small / "cell", "") as cell:
        with pytest.raises(WorkcellError, match="is full"):
            cell.add_dataset(tmp_path / "d")
        assert listing(cell) == []
        assert cell.datasets() == []
    assert (tmp_path / "d" / "meta" / "info.json").exists()
