"""A small real policy: a linear map of two frames of three columns to a chunk of four commands."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from gaploop.core import Contract, Feature, GoldenPairs, PolicyContract, declared
from gaploop.policies import write_policy

HISTORY, FRAME, CHUNK, ACTIONS = 2, 3, 4, 2


def weights() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=(HISTORY * FRAME, CHUNK * ACTIONS)).astype(np.float32)


def graph(matrix: np.ndarray | None = None, batch: str | int = "n") -> bytes:
    """observation (n, 6) -> actions (n, 4, 2)."""
    matrix = weights() if matrix is None else matrix
    nodes = [
        helper.make_node("MatMul", ["observation", "w"], ["flat"]),
        helper.make_node("Reshape", ["flat", "shape"], ["actions"]),
    ]
    made = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, [batch, len(matrix)])],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, [batch, CHUNK, ACTIONS])],
        [
            numpy_helper.from_array(matrix, "w"),
            numpy_helper.from_array(np.array([-1, CHUNK, ACTIONS]), "shape"),
        ],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model.SerializeToString()


def golden(n: int = 5) -> GoldenPairs:
    x = np.random.default_rng(4).normal(size=(n, HISTORY * FRAME)).astype(np.float32)
    y = (x.astype(np.float64) @ weights().astype(np.float64)).reshape(n, CHUNK, ACTIONS)
    return GoldenPairs(observations=x, actions=y.astype(np.float32), tolerance=1e-4)


def card() -> PolicyContract:
    return PolicyContract(
        contract=Contract(
            features=(
                Feature(
                    key="observation.state",
                    columns=("x", "y"),
                    role=declared("joint_position"),
                    unit=declared(("m", "m")),
                ),
                Feature(key="action", columns=("x", "y"), unit=declared("m")),
            ),
            action_mode=declared("absolute"),
            control_rate=declared(20.0),
        ),
        inputs=("observation.state",),
        columns=("x", "y", "z"),
        history=HISTORY,
        chunk=CHUNK,
        execute=3,
        normaliser="0" * 64,
        input_mean=(0.0, 0.1, 0.2),
        input_std=(1.0, 1.0, 0.5),
        action_low=(-1.0, -1.0),
        action_high=(1.0, 1.0),
        provenance={"real episodes": "0"},
        golden=golden(),
    )


@pytest.fixture
def contract() -> PolicyContract:
    return card()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_policy(tmp_path / "policy", graph(), card())


@pytest.fixture
def make_graph():
    return graph
