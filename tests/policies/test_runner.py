import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.core import Contract, ContractError, PolicyContract, UsageError
from gaploop.core.protocols import Controller
from gaploop.policies import ChunkRunner, load_policy

H = 4


class Counter:
    """Action j of the chunk asked for with observation o is (o, j)."""

    def __init__(self, execute: int = 2):
        self.calls = 0
        self.contract = PolicyContract(
            contract=Contract(), inputs=("q",), columns=("q",), history=1, chunk=H,
            execute=execute, normaliser="",
        )  # fmt: skip

    def chunk(self, observation: np.ndarray) -> np.ndarray:
        self.calls += 1
        o = np.broadcast_to(observation[:, :1], (len(observation), H))
        return np.stack([o, np.broadcast_to(np.arange(H), o.shape)], 2).astype(np.float32)


def drive(runner: ChunkRunner, steps: int, n: int = 3) -> np.ndarray:
    """(T, n, 2): the observation of attempt i at step t is 100 i + t."""
    runner.reset(n)
    return np.stack([runner.act(t, 100.0 * np.arange(n)[:, None] + t, {}) for t in range(steps)])


@given(execute=st.integers(1, 9), steps=st.integers(1, 30))
def test_which_action_is_executed_when(execute: int, steps: int):
    policy = Counter()
    y = drive(ChunkRunner(policy, execute), steps)
    t = np.arange(steps)
    asked = t - t % execute
    assert np.array_equal(y[:, 1, 0], 100 + asked)
    assert np.array_equal(y[:, 2, 1], np.minimum(t % execute, H - 1))
    assert policy.calls == -(-steps // execute)


def test_the_contract_decides_unless_told_otherwise():
    assert ChunkRunner(Counter(execute=3)).execute == 3
    assert ChunkRunner(Counter(execute=3), 1).execute == 1
    assert isinstance(ChunkRunner(Counter()), Controller)


def test_reset_forgets_the_chunk():
    runner = ChunkRunner(Counter(), 4)
    first = drive(runner, 3)
    assert np.array_equal(drive(runner, 3), first)
    assert drive(runner, 2, n=7).shape == (2, 7, 2)


@pytest.mark.parametrize("execute", [0, -1])
def test_executing_nothing_is_refused(execute: int):
    with pytest.raises(UsageError, match="at least 1 action"):
        ChunkRunner(Counter(), execute)


def test_a_healthy_attempt_never_gets_nan(folder: Path):
    policy = load_policy(folder)
    runner = ChunkRunner(policy)
    sick = np.zeros((3, 6))
    sick[1] = np.nan
    runner.reset(3)
    y = runner.act(0, sick, {})
    assert np.isfinite(y[[0, 2]]).all()

    class Sick:
        contract = policy.contract

        def chunk(self, observation):
            out = policy.chunk(observation)
            out[2, 1, 0] = np.inf
            return out

    runner = ChunkRunner(Sick())
    runner.reset(3)
    with pytest.raises(ContractError, match="answers attempt 2 at step 0"):
        runner.act(0, sick, {})


def test_a_policy_that_breaks_its_own_contract(folder: Path):
    policy = Counter()
    policy.contract = dataclasses.replace(policy.contract, chunk=9)
    runner = ChunkRunner(policy)
    runner.reset(2)
    with pytest.raises(ContractError, match=r"shape \(2, 4, 2\); its contract says \(2, 9, a\)"):
        runner.act(0, np.zeros((2, 1)), {})
