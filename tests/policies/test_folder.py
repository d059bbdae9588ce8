import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.core import ContractError, GoldenPairs, InputError, PolicyContract, digest
from gaploop.policies import policy_digest, read_contract, write_policy
from gaploop.policies.decode import contract_from, contract_to


def edit(folder: Path, change) -> None:
    card = json.loads((folder / "policy.json").read_text())
    change(card)
    (folder / "policy.json").write_text(json.dumps(card))


def test_the_contract_comes_back_as_it_was_written(folder: Path, contract: PolicyContract):
    read = read_contract(folder)
    assert dataclasses.replace(read, golden=None) == dataclasses.replace(contract, golden=None)
    assert np.array_equal(read.golden.observations, contract.golden.observations)
    assert np.array_equal(read.golden.actions, contract.golden.actions)
    assert digest(read) == digest(contract)


def test_equal_policies_are_equal_bytes(folder, tmp_path, contract, make_graph):
    other = write_policy(tmp_path / "other", make_graph(), contract)
    for name in ("policy.onnx", "policy.json", "golden.npz"):
        assert (folder / name).read_bytes() == (other / name).read_bytes()
    assert policy_digest(folder) == policy_digest(other)


def test_a_reader_sees_names_not_blobs(folder: Path):
    text = (folder / "policy.json").read_text()
    assert '"action_mode": {' in text
    assert '"joint_position"' in text
    assert "null" not in text.split('"contract"')[1].split('"inputs"')[0]


def test_the_digest_follows_graph_contract_and_golden(folder, tmp_path, contract, make_graph):
    seen = {policy_digest(folder)}
    halves = np.full((6, 8), 0.5, np.float32)
    seen.add(policy_digest(write_policy(tmp_path / "a", make_graph(halves), contract)))
    longer = dataclasses.replace(contract, execute=4)
    seen.add(policy_digest(write_policy(tmp_path / "b", make_graph(), longer)))
    moved = GoldenPairs(
        observations=contract.golden.observations, actions=contract.golden.actions + 1
    )
    pairs = dataclasses.replace(contract, golden=moved)
    seen.add(policy_digest(write_policy(tmp_path / "c", make_graph(), pairs)))
    assert len(seen) == 4


def test_a_graph_that_was_swapped_is_noticed(folder, make_graph):
    (folder / "policy.onnx").write_bytes(make_graph(np.zeros((6, 8), np.float32)))
    with pytest.raises(ContractError, match="SHA-256 differs"):
        read_contract(folder)


def test_golden_pairs_that_were_swapped_are_noticed(folder: Path):
    with open(folder / "golden.npz", "ab") as file:
        file.write(b"0")
    with pytest.raises(ContractError, match=r"golden\.npz does not hold the golden pairs"):
        read_contract(folder)


def test_pickled_golden_pairs_are_refused(folder: Path, tmp_path: Path):
    import hashlib

    np.savez(tmp_path / "evil.npz", observations=np.array([{}], object), actions=np.zeros(1))
    shutil.copy(tmp_path / "evil.npz", folder / "golden.npz")
    sha = hashlib.sha256((folder / "golden.npz").read_bytes()).hexdigest()
    edit(folder, lambda c: c["golden"].update(sha256=sha))
    with pytest.raises(InputError, match="cannot be read as golden pairs"):
        read_contract(folder)


def test_inline_golden_pairs_are_read(folder: Path, contract: PolicyContract):
    def inline(card):
        card["golden"] = None
        card["contract"]["golden"] = {
            "observations": contract.golden.observations.tolist(),
            "actions": contract.golden.actions.tolist(),
        }

    edit(folder, inline)
    assert np.array_equal(read_contract(folder).golden.actions, contract.golden.actions)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["contract"].update(histroy=2), "unknown key 'histroy'.*mean 'history'"),
        (lambda c: c["contract"]["contract"].update(rate=1), "unknown key 'rate'"),
        (lambda c: c["contract"]["contract"]["features"][0].update(units=1), "mean 'unit'"),
        (
            lambda c: c["contract"]["contract"]["features"][1]["unit"].update(sure=1),
            r"features\[1\].unit has an unknown key 'sure'",
        ),
        (lambda c: c["contract"].pop("chunk"), "missing required field `chunk`"),
        (lambda c: c["contract"].update(chunk="16"), "Expected `int`, got `str`"),
        (lambda c: c["contract"].update(chunk=0), "at least 1"),
        (lambda c: c["contract"].update(input_std=[1.0]), "one number for each of the 3 columns"),
        (lambda c: c["contract"].update(action_low=[1.0]), "differ in length"),
        (lambda c: c.update(extra=1), "unknown field `extra`"),
        (lambda c: c.pop("sha256"), "missing required field `sha256`"),
        (lambda c: c.update(format="gaploop.policy/9"), "this version reads 'gaploop.policy/1'"),
        (lambda c: c["golden"].update(file="../golden.npz"), "not beside"),
    ],
)
def test_a_card_that_is_off_gets_one_sentence(folder: Path, change, message):
    edit(folder, change)
    with pytest.raises(InputError, match=message) as caught:
        read_contract(folder)
    assert "policy.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text_that_is_no_json(folder: Path):
    (folder / "policy.json").write_text("{")
    with pytest.raises(InputError, match="is no policy card"):
        read_contract(folder)


@pytest.mark.parametrize("name", ["policy.onnx", "policy.json", "golden.npz"])
def test_a_missing_file_is_named(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        read_contract(folder)


def test_a_missing_folder_says_what_was_expected(tmp_path: Path):
    with pytest.raises(InputError, match=r"There is no policy at .*Expected a folder"):
        read_contract(tmp_path / "nowhere")


def test_nothing_is_overwritten_and_nothing_half_written(folder, tmp_path, contract, make_graph):
    with pytest.raises(InputError, match="exists already"):
        write_policy(folder, make_graph(), contract)
    assert [p.name for p in tmp_path.iterdir()] == ["policy"]


plain = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)


@given(value=st.recursive(plain, lambda inner: st.lists(inner, max_size=3).map(tuple)))
def test_any_statement_survives(value):
    from gaploop.core import Contract, declared

    contract = PolicyContract(
        contract=Contract(gripper_closed=declared(value)),
        inputs=("a",), columns=("a",), history=1, chunk=1, execute=1, normaliser="",
    )  # fmt: skip
    assert contract_from(json.loads(json.dumps(contract_to(contract))), "here") == contract
