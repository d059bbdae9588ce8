"""LeRobot's processor configuration, read as a contract and written from one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gaploop.core import Contract, Feature, GaploopError, InputError, PolicyContract
from gaploop.ingest.contracts import compare, load, read_processors, write_processors
from gaploop.ingest.contracts.tensors import read_tensors, write_tensors


def policy() -> PolicyContract:
    features = tuple(Feature(key=k, columns=("x", "y")) for k in ("observation.state", "action"))
    return PolicyContract(
        contract=Contract(features=features), inputs=("observation.state",), columns=("x", "y"),
        history=1, chunk=1, execute=1, normaliser="ab", input_mean=(0.0, 1.0),
        input_std=(1.0, 2.0), action_low=(-1.0, -1.0), action_high=(1.0, 1.0),
    )  # fmt: skip


STATE = "policy_preprocessor_step_3_normalizer_processor.safetensors"


def folder(path: Path, *, relative: bool = False, absolute: bool = False, std: float = 2.0) -> Path:
    """A folder as a LeRobot training leaves it."""
    features = {
        "observation.state": {"type": "STATE", "shape": [3]},
        "observation.images.top": {"type": "VISUAL", "shape": [3, 240, 320]},
        "action": {"type": "ACTION", "shape": [2]},
    }
    norm = {
        "eps": 1e-8, "features": features,
        "norm_map": {"VISUAL": "MEAN_STD", "STATE": "MEAN_STD", "ACTION": "MIN_MAX"},
    }  # fmt: skip
    pre: list[dict[str, Any]] = [
        {"registry_name": "rename_observations_processor", "config": {"rename_map": {}}},
        {"registry_name": "relative_actions_processor",
         "config": {"enabled": relative, "exclude_joints": [], "action_names": ["j1", "j2"]}},
        {"registry_name": "to_batch_processor", "config": {}},
        {"registry_name": "normalizer_processor", "config": norm, "state_file": STATE},
    ]  # fmt: skip
    post = [
        {"registry_name": "unnormalizer_processor", "config": norm, "state_file": STATE},
        {"registry_name": "absolute_actions_processor", "config": {"enabled": absolute}},
    ]
    path.mkdir()
    for name, steps in (("preprocessor", pre), ("postprocessor", post)):
        content = {"name": f"policy_{name}", "steps": steps}
        (path / f"policy_{name}.json").write_text(json.dumps(content))
    (path / "config.json").write_text(
        json.dumps({"n_obs_steps": 2, "chunk_size": 50, "n_action_steps": 25})
    )
    write_tensors(
        path / STATE,
        {
            "observation.state.mean": np.array([1.0, 2.0, 3.0]),
            "observation.state.std": np.full(3, std),
            "action.min": np.array([-1.0, -2.0]),
            "action.max": np.array([1.0, 2.0]),
        },
    )
    return path


def test_what_the_steps_say_is_read(tmp_path: Path) -> None:
    found = read_processors(folder(tmp_path / "p"))
    assert (found.history, found.chunk, found.execute) == (2, 50, 25)
    assert found.inputs == ("observation.state",)
    assert found.input_mean == (1.0, 2.0, 3.0)
    assert found.action_high == (1.0, 2.0)
    action = found.contract.feature("action")
    assert action is not None
    assert action.columns == ("j1", "j2")
    assert "observation.images.top" in found.image_path
    assert "MEAN_STD" in found.image_path
    assert found.contract.action_mode.value is None
    assert isinstance(load(tmp_path / "p"), PolicyContract)


def test_relative_actions_are_deltas_unless_they_are_undone(tmp_path: Path) -> None:
    left = read_processors(folder(tmp_path / "a", relative=True)).contract
    undone = read_processors(folder(tmp_path / "b", relative=True, absolute=True)).contract
    assert (left.action_mode.value, left.action_reference.value) == ("delta", "current state")
    assert undone.action_mode.value == "absolute"
    assert "action_mode" in {d.field for d in compare(left, undone)}


def test_other_statistics_are_another_normaliser(tmp_path: Path) -> None:
    one, other = (read_processors(folder(tmp_path / str(s), std=s)) for s in (2.0, 3.0))
    found = {d.field for d in compare(one, other)}
    assert found == {"normaliser", "input_std"}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_processors(tmp_path / "p", policy())
    back = read_processors(tmp_path / "p")
    assert back.inputs == policy().inputs
    assert back.input_mean == policy().input_mean
    assert back.input_std == policy().input_std
    assert back.action_low == policy().action_low
    action = back.contract.feature("action")
    assert action is not None
    assert action.columns == ("x", "y")
    with pytest.raises(InputError, match="exists already"):
        write_processors(tmp_path / "p", policy())


def test_a_missing_state_file_is_named(tmp_path: Path) -> None:
    path = folder(tmp_path / "p")
    (path / STATE).unlink()
    with pytest.raises(InputError, match="not there"):
        read_processors(path)


def test_no_state_file_leaves_the_folder(tmp_path: Path) -> None:
    path = folder(tmp_path / "p")
    text = (path / "policy_preprocessor.json").read_text()
    (path / "policy_preprocessor.json").write_text(text.replace(STATE, "../../secret"))
    with pytest.raises(InputError, match="outside its folder"):
        read_processors(path)


@pytest.mark.parametrize(
    "header",
    [
        {"t": {"dtype": "F32", "shape": [2**60], "data_offsets": [0, 8]}},
        {"t": {"dtype": "F32", "shape": [2], "data_offsets": [0, 2**60]}},
        {"t": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}},
        {"t": {"dtype": "object", "shape": [2], "data_offsets": [0, 8]}},
        {"t": 3},
    ],
)
def test_tensors_that_claim_too_much_are_refused(tmp_path: Path, header: dict[str, Any]) -> None:
    head = json.dumps(header).encode()
    path = tmp_path / "t.safetensors"
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(8))
    with pytest.raises(InputError, match=str(path)):
        read_tensors(path)


def test_cut_and_flipped_tensors_never_escape(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    write_tensors(path, {"a.mean": np.arange(5.0), "a.std": np.ones(5)})
    assert np.array_equal(read_tensors(path)["a.mean"], np.arange(5.0))
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    rng = np.random.default_rng(0)
    for i in range(200):
        data = whole.copy()
        data[rng.integers(0, len(data), 3)] = rng.integers(0, 256, 3)
        path.write_bytes(data.tobytes()[: int(rng.integers(0, len(data))) if i % 2 else None])
        try:
            read_tensors(path)
        except GaploopError as error:
            named = str(path) in str(error)
            assert named


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"steps": [3]}', '{"steps": {}}', "[" * 9999])
def test_what_is_no_configuration_is_refused(tmp_path: Path, content: str) -> None:
    path = folder(tmp_path / "p")
    (path / "policy_preprocessor.json").write_text(content)
    with pytest.raises(InputError, match=str(path)):
        read_processors(path)
