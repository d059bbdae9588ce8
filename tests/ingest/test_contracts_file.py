"""The contract file: written, read, damaged, and loaded from whatever states a contract."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gaploop.cli import main
from gaploop.core import (
    Contract,
    ContractError,
    Feature,
    GaploopError,
    GoldenPairs,
    InputError,
    PolicyContract,
    declared,
)
from gaploop.ingest.contracts import (
    check_runner,
    compare,
    load,
    of_log,
    read_contract_file,
    write_contract,
)
from gaploop.policies import write_policy

ROBOT = Contract(
    features=(
        Feature(key="observation.state", columns=("x", "y"), unit=declared("rad")),
        Feature(key="action", columns=("x", "y"), unit=declared("rad")),
    ),
    action_space=declared("joint"),
    action_mode=declared("absolute"),
    control_rate=declared(20.0),
    joint_map=declared({"order": (1, 0), "signs": (1, -1)}),
    lag=declared({"seconds": 0.1, "lo": 0.09, "hi": 0.11}),
)


def policy(**changes: Any) -> PolicyContract:
    whole = PolicyContract(
        contract=ROBOT, inputs=("observation.state",), columns=("x", "y"), history=2, chunk=8,
        execute=4, normaliser="ab" * 32, input_mean=(0.0, 1.0), input_std=(1.0, 2.0),
        action_low=(-1.0, -1.0), action_high=(1.0, 1.0), image_path="",
        versions={"gaploop": "0.1.0"},
        golden=GoldenPairs(
            observations=np.ones((3, 4), "f4"), actions=np.zeros((3, 8, 2), "f4"), tolerance=1e-3
        ),
    )  # fmt: skip
    return replace(whole, **changes)


class Running:
    """A policy that runs here and answers its golden pairs `off` by some amount."""

    def __init__(self, contract: PolicyContract, off: float = 0.0) -> None:
        self.contract, self.off = contract, off

    def chunk(self, observations: np.ndarray) -> np.ndarray:
        return np.full((len(observations), 8, 2), self.off, "f4")

    def reset(self) -> None: ...


def test_a_policy_comes_back_as_it_was(tmp_path: Path) -> None:
    path = write_contract(tmp_path / "contract.json", policy())
    back = read_contract_file(path)
    assert isinstance(back, PolicyContract)
    assert compare(policy(), back) == ()
    assert back.golden is not None
    assert np.array_equal(back.golden.actions, np.zeros((3, 8, 2)))
    assert path.read_bytes() == write_contract(tmp_path / "again.json", back).read_bytes()


def test_a_robot_comes_back_as_it_was(tmp_path: Path) -> None:
    back = load(write_contract(tmp_path / "contract.json", ROBOT))
    assert isinstance(back, Contract)
    assert compare(ROBOT, back) == ()
    assert compare(ROBOT, load(tmp_path)) == ()


def test_what_training_writes_is_a_contract_file(tmp_path: Path) -> None:
    folder = write_policy(tmp_path / "policy", b"a graph", policy())
    alone = write_contract(tmp_path / "contract.json", policy())
    assert compare(load(folder), load(alone)) == ()
    assert compare(load(folder / "policy.json"), policy()) == ()


def test_a_log_states_its_contract(tmp_path: Path) -> None:
    t = np.arange(800) / 100

    def wave(t: np.ndarray) -> np.ndarray:
        return np.sin(3 * t) + 0.5 * np.sin(7.3 * t + 1) + 0.3 * np.sin(12.1 * t + 2)

    noise = 0.02 * np.random.default_rng(0).standard_normal(800)
    entries = [
        {"timestamp": float(a), "goal_position": float(b), "position": float(c)}
        for a, b, c in zip(t, wave(t), wave(t - 0.06) + noise, strict=True)
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"kp": 1, "motor": "m", "entries": entries}))
    found = of_log(path)
    assert found.action_mode == declared("absolute")  # its reader says so
    assert found.joint_map.source == "inferred"
    assert abs(found.lag.value["seconds"] - 0.06) < 0.01
    assert compare(load(path), load(path)) == ()
    with pytest.raises(InputError, match="no log or dataset"):
        load(write(tmp_path / "x.txt", "nothing"))


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"history": 3}, "history"),
        ({"chunk": 9}, "chunk"),
        ({"execute": 2}, "execute"),
        ({"normaliser": "cd" * 32}, "normaliser"),
        ({"columns": ("y", "x")}, "columns.order"),
        ({"columns": ("x", "z")}, "columns"),
        ({"input_mean": (0.0, 1.1)}, "input_mean"),
        ({"action_high": (1.0, 2.0)}, "action_high"),
        ({"versions": {"gaploop": "0.2.0"}}, "versions.gaploop"),
        ({"contract": replace(ROBOT, control_rate=declared(50.0))}, "control_rate"),
        ({"contract": replace(ROBOT, joint_map=declared({"order": (0, 1), "signs": (1, 1)}))},
         "joint_map"),
        ({"golden": GoldenPairs(observations=np.zeros((3, 4), "f4"),
                                actions=np.zeros((3, 8, 2), "f4"))}, "golden"),
    ],
)  # fmt: skip
def test_every_field_that_differs_is_named(changes: dict[str, Any], field: str) -> None:
    found = compare(policy(), policy(**changes))
    assert [d.field for d in found if d.verdict == "differs"] == [field]


def test_a_missing_image_path_is_unstated() -> None:
    found = compare(policy(), policy(image_path="resize 224"))
    assert [(d.field, d.verdict) for d in found] == [("image_path", "unstated")]


def test_a_runner_passes_what_fits_and_stops_at_the_rest() -> None:
    assert check_runner(policy(), ROBOT) == 0.0
    assert check_runner(policy(), ROBOT, Running(policy())) == 0.0
    with pytest.raises(ContractError, match="control_rate"):
        check_runner(policy(), replace(ROBOT, control_rate=declared(10.0)))
    blind = replace(ROBOT, features=ROBOT.features[1:])
    with pytest.raises(ContractError, match=r"observation\.state"):
        check_runner(policy(), blind)
    with pytest.raises(ContractError, match="golden pair"):
        check_runner(policy(), ROBOT, Running(policy(), off=0.1))
    with pytest.raises(ContractError, match="normalised by"):
        check_runner(policy(), ROBOT, Running(policy(normaliser="00")))


def test_the_command_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = str(write_contract(tmp_path / "a.json", policy()))
    two = str(write_contract(tmp_path / "b.json", policy(history=5)))
    assert main(["check", "--contract", one, one]) == 0
    assert "0 fields differ" in capsys.readouterr().out
    assert main(["check", "--contract", one, two, "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["agree"] is False
    assert [(d["field"], d["left"], d["right"]) for d in said["differences"]] == [("history", 2, 5)]
    assert main(["check", one, "--contract", one, two]) == 2
    assert main(["check", "--contract", one, str(tmp_path / "none.json")]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"format": "gaploop.contract/9", "kind": "robot", "contract": {}}',
        '{"format": "gaploop.contract/1", "kind": "cat", "contract": {}}',
        '{"format": "gaploop.contract/1", "kind": "robot", "contract": {}}',
        '{"format": "gaploop.contract/1", "kind": "robot", "contract": {}, "more": 1}',
        '{"format": "gaploop.contract/1", "kind": "robot", "contract": ' + "[" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_contract_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "contract.json"
    path.write_text(text)
    with pytest.raises(InputError):
        read_contract_file(path)


def test_bytes_that_flip_never_escape_as_anything_else(tmp_path: Path) -> None:
    path = write_contract(tmp_path / "contract.json", policy())
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    rng = np.random.default_rng(5)
    for i in range(200):
        data = whole.copy()
        for at in rng.integers(0, len(data), rng.integers(1, 6)):
            data[at] = rng.integers(0, 256)
        path.write_bytes(data.tobytes()[: int(rng.integers(1, len(data))) if i % 2 else None])
        try:
            read_contract_file(path)
        except GaploopError as error:
            named = str(path) in str(error)
            assert named


def test_missing_and_huge_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="no contract file"):
        read_contract_file(tmp_path / "none.json")
    with pytest.raises(InputError, match="no folder"):
        write_contract(tmp_path / "no" / "contract.json", ROBOT)
    path = write_contract(tmp_path / "contract.json", ROBOT)
    monkeypatch.setattr("gaploop.ingest.contracts.file._LARGEST", 10)
    with pytest.raises(InputError, match="at most 10"):
        read_contract_file(path)
