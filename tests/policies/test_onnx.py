import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaploop.core import ContractError, InputError
from gaploop.policies import load_policy, write_policy


def test_it_computes_what_the_graph_says(folder: Path, contract):
    policy = load_policy(folder)
    y = policy.chunk(contract.golden.observations)
    assert y.dtype == np.float32
    assert y.shape == (5, 4, 2)
    np.testing.assert_allclose(y, contract.golden.actions, atol=1e-5)


def test_the_batch_may_be_empty_and_of_any_float(folder: Path):
    policy = load_policy(folder)
    assert policy.chunk(np.zeros((0, 6))).shape == (0, 4, 2)
    x = np.random.default_rng(0).normal(size=(4, 6))
    assert np.array_equal(policy.chunk(x), policy.chunk(x.astype(np.float32)))
    assert np.array_equal(policy.chunk(x[::2]), policy.chunk(x)[::2])


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 40), at=st.integers(0, 39))
def test_an_answer_does_not_depend_on_its_neighbours(tmp_path_factory, n, at):
    """Bit for bit: else an attempt replayed alone would differ from the one in a batch."""
    from gaploop.train.export import mlp_graph  # a real size, with the kernels it brings

    policy = _mlp_policy(tmp_path_factory, mlp_graph)
    x = np.random.default_rng(n).normal(size=(40, 32)).astype(np.float32)
    whole = policy.chunk(x)
    part = x[at : at + n]
    assert np.array_equal(policy.chunk(part), whole[at : at + n])


_CACHE = {}


def _mlp_policy(tmp_path_factory, mlp_graph):
    if not _CACHE:
        from gaploop.core import Contract, PolicyContract

        rng = np.random.default_rng(0)
        sizes = [(32, 192), (192, 192), (192, 192), (192, 48)]
        layers = [
            (rng.normal(size=s, scale=s[0] ** -0.5).astype("f4"), np.zeros(s[1], "f4"))
            for s in sizes
        ]
        graph = mlp_graph(
            shift=np.zeros(32, "f4"), mix=np.eye(32, dtype="f4"), clip=10.0, layers=layers,
            out_scale=np.ones(3, "f4"), out_shift=np.zeros(3, "f4"),
            low=np.full(3, -9, "f4"), high=np.full(3, 9, "f4"), chunk=16,
        )  # fmt: skip
        card = PolicyContract(
            contract=Contract(), inputs=("a",), columns=tuple("abcdefgh"), history=4, chunk=16,
            execute=8, normaliser="",
        )  # fmt: skip
        path = tmp_path_factory.mktemp("mlp") / "policy"
        _CACHE["policy"] = load_policy(write_policy(path, graph, card))
    return _CACHE["policy"]


def test_observations_of_another_width(folder: Path):
    with pytest.raises(ContractError, match=r"shape \(2, 5\); expected \(n, 6\): 2 frames of 3"):
        load_policy(folder).chunk(np.zeros((2, 5)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"history": 3}, r"reads \['n', 6\]; its contract says \(n, 9\)"),
        ({"chunk": 8}, r"its contract says \(n, 8, a\)"),
        ({"action_low": (0.0,) * 3, "action_high": (1.0,) * 3}, "says 3 actions a step"),
    ],
)
def test_a_graph_of_another_shape(tmp_path, contract, make_graph, change, message):
    card = dataclasses.replace(contract, golden=None, **change)
    path = write_policy(tmp_path / "p", make_graph(), card)
    with pytest.raises(ContractError, match=message):
        load_policy(path)


def test_a_graph_with_a_fixed_batch(tmp_path, contract, make_graph):
    path = write_policy(tmp_path / "p", make_graph(batch=1), contract)
    with pytest.raises(ContractError, match="takes exactly 1 observations"):
        load_policy(path)


def test_a_file_that_is_no_onnx(folder: Path):
    (folder / "policy.onnx").write_bytes(b"not a model")
    card = json.loads((folder / "policy.json").read_text())
    card["sha256"] = hashlib.sha256(b"not a model").hexdigest()
    (folder / "policy.json").write_text(json.dumps(card))
    with pytest.raises(InputError, match="is no ONNX model that can run here") as caught:
        load_policy(folder)
    assert "\n" not in str(caught.value)
