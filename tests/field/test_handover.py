"""No robot moves by a policy that is not what was trained, or does not fit it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from gaploop import wiring
from gaploop.config import LoopConfig
from gaploop.core import ContractError, WorkcellError
from gaploop.store import Workcell
from gaploop.turn import Turn

REFUSED = "A robot moved."


def handed_over(folder: Path, cell: Workcell) -> None:
    """Round 1's field stage with the policy in `folder`, on a command that must not run."""
    line = f"sh -c 'echo {REFUSED} >&2; exit 1' {{out}}"
    digest = cell.objects.put_tree(folder)
    config = LoopConfig(field=f"command:{line}", trials=1)
    wiring.field(Turn(cell=cell, config=config, number=1, refs={"policy@r0": digest}, seed=0))


@pytest.fixture
def cell(tmp_path: Path) -> Workcell:
    return Workcell.create(tmp_path / "cell", "")


@pytest.fixture
def mine(policy: Path, tmp_path: Path) -> Path:
    return shutil.copytree(policy, tmp_path / "mine")


def card(folder: Path, change) -> None:
    file = folder / "policy.json"
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def test_a_sound_policy_reaches_the_robot(mine: Path, cell: Workcell) -> None:
    with pytest.raises(Exception, match=REFUSED):
        handed_over(mine, cell)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["contract"]["columns"].reverse(), "another order"),
        (lambda d: d.update(golden=None), "no golden pairs"),
        (lambda d: d["golden"].update(tolerance=-1.0), "does not run as it was trained"),
        (
            lambda d: d["contract"]["contract"].update(control_rate={"value": "x"}),
            "control rate is 'x'",
        ),
    ],
)
def test_a_policy_that_does_not_fit_stays_here(mine: Path, cell: Workcell, change, words) -> None:
    card(mine, change)
    with pytest.raises(ContractError, match=words):
        handed_over(mine, cell)


def test_golden_pairs_that_are_no_numbers(mine: Path, cell: Workcell) -> None:
    from hashlib import sha256

    file = mine / "golden.npz"
    np.savez(file, observations=np.array(["a"]), actions=np.array(["b"]))
    card(mine, lambda d: d["golden"].update(sha256=sha256(file.read_bytes()).hexdigest()))
    with pytest.raises(Exception, match="floats were expected"):
        handed_over(mine, cell)


def test_a_stored_policy_that_changed_is_damage(mine: Path, cell: Workcell) -> None:
    digest = cell.objects.put_tree(mine)
    (cell.objects.path(digest) / "policy.onnx").write_bytes(b"")
    with pytest.raises(WorkcellError, match="is damaged"):
        handed_over(mine, cell)
