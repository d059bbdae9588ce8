import dataclasses
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import ContractError, GoldenPairs
from gaploop.policies import check_golden, load_policy


class Wrapped:
    """A policy with something of it changed."""

    def __init__(self, policy, chunk=None, golden=None):
        self._chunk = chunk or policy.chunk
        self.contract = dataclasses.replace(
            policy.contract, golden=golden or policy.contract.golden
        )

    def chunk(self, observation):
        return self._chunk(observation)


def test_the_figure_is_the_largest_difference(folder: Path, contract):
    policy = load_policy(folder)
    assert check_golden(policy) < 1e-5
    moved = contract.golden.actions.copy()
    moved[3, 2, 1] += 5e-5
    pairs = GoldenPairs(observations=contract.golden.observations, actions=moved)
    assert check_golden(Wrapped(policy, golden=pairs)) == pytest.approx(5e-5, abs=3e-6)


def test_beyond_the_tolerance_it_says_where_and_how_much(folder: Path, contract):
    moved = contract.golden.actions.copy()
    moved[3, 2, 1] += 0.01
    pairs = GoldenPairs(observations=contract.golden.observations, actions=moved)
    with pytest.raises(ContractError, match=r"pair 3, step 2, action 1 .*tolerance is 0\.0001"):
        check_golden(Wrapped(load_policy(folder), golden=pairs))


def test_an_answer_that_depends_on_the_batch_fails(folder: Path):
    policy = load_policy(folder)
    with pytest.raises(ContractError, match="does not run as it was trained"):
        check_golden(Wrapped(policy, chunk=lambda x: policy.chunk(x) + (len(x) == 1)))


def test_nan_fails(folder: Path):
    policy = load_policy(folder)
    with pytest.raises(ContractError, match="answers nan"):
        check_golden(Wrapped(policy, chunk=lambda x: policy.chunk(x) * np.float32("nan")))


def test_another_shape_fails(folder: Path):
    policy = load_policy(folder)
    with pytest.raises(ContractError, match=r"shape \(5, 2, 2\)"):
        check_golden(Wrapped(policy, chunk=lambda x: policy.chunk(x)[:, :2]))


def test_no_pairs_is_no_proof(folder: Path):
    policy = load_policy(folder)
    policy.contract = dataclasses.replace(policy.contract, golden=None)
    with pytest.raises(ContractError, match="no golden pairs"):
        check_golden(policy)
