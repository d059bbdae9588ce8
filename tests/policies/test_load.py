import shutil
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import ContractError, InputError, UnknownNameError, UsageError
from gaploop.core.protocols import Policy
from gaploop.policies import load_policy


class Still:
    """A policy in Python: always zero."""

    def __init__(self):
        from gaploop.core import Contract, PolicyContract

        self.contract = PolicyContract(
            contract=Contract(), inputs=(), columns=("q",), history=1, chunk=1, execute=1,
            normaliser="",
        )  # fmt: skip

    def chunk(self, observation: np.ndarray) -> np.ndarray:
        return np.zeros((len(observation), 1, 1), np.float32)


def make_still() -> Still:
    return Still()


class Wordless:
    def chunk(self, observation):
        return observation


class Mislabelled(Still):
    def __init__(self):
        self.contract = {"history": 1}


class Needy(Still):
    def __init__(self, what):
        super().__init__()


@pytest.fixture
def module(monkeypatch) -> str:
    """This file under an importable name."""
    import sys

    monkeypatch.setitem(sys.modules, "policies_of_a_user", sys.modules[__name__])
    return "policies_of_a_user"


def test_a_folder_a_string_and_a_bare_file_are_the_same_policy(folder: Path):
    x = np.ones((3, 6), np.float32)
    answers = [load_policy(r).chunk(x) for r in (folder, str(folder), folder / "policy.onnx")]
    assert isinstance(load_policy(folder), Policy)
    assert all(np.array_equal(a, answers[0]) for a in answers)


def test_a_bare_file_with_a_name_of_its_own(folder: Path):
    shutil.move(folder / "policy.onnx", folder / "best.onnx")
    assert load_policy(folder / "best.onnx").contract.chunk == 4


def test_a_class_and_a_factory(module: str):
    for name in ("Still", "make_still"):
        policy = load_policy(f"{module}:{name}")
        assert policy.chunk(np.zeros((2, 1))).shape == (2, 1, 1)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("Nobody", UsageError, "cannot be imported"),
        ("Wordless", UsageError, "needs a `contract`"),
        ("Mislabelled", ContractError, "no gaploop.core.PolicyContract"),
        ("Needy", UsageError, "cannot be made.*without arguments"),
    ],
)
def test_what_is_no_policy(module: str, name: str, kind: type, message: str):
    with pytest.raises(kind, match=message):
        load_policy(f"{module}:{name}")


def test_a_name_nobody_registered():
    with pytest.raises(UnknownNameError, match="no policy named 'v7'"):
        load_policy("v7")


@pytest.mark.parametrize("ref", ["runs/v7", "v7.onnx", Path("v7")])
def test_a_path_that_is_not_there(ref):
    with pytest.raises(InputError, match="There is no policy at"):
        load_policy(ref)
