"""Columns out of order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaploop.core import InputError, generator
from gaploop.signals import permutation, permutation_by_statistics


def joints(seed: int = 0, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    rng = generator(seed, "joints")
    command = rng.normal(size=(300, 5)).cumsum(axis=0)
    return command, command + noise * rng.normal(size=command.shape)


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(5)))
def test_recovers_any_order(order: list[int]) -> None:
    command, live = joints()
    found = permutation(command, live[:, order])
    assert [order[j] for j in found.order] == [0, 1, 2, 3, 4]
    assert found.identity == (order == [0, 1, 2, 3, 4])
    assert (found.log_bayes_factor > 10) == (not found.identity)


def test_recovers_a_sign() -> None:
    command, live = joints()
    live[:, 3] *= -1
    found = permutation(command, live)
    assert found.order == (0, 1, 2, 3, 4)
    assert found.signs == (1, 1, 1, -1, 1)
    assert not found.identity
    assert found.log_bayes_factor > 10


def test_a_lagging_answer_needs_its_shift() -> None:
    command, live = joints()
    live = np.vstack([np.repeat(live[:1], 6, axis=0), live[:-6]])[:, [1, 0, 2, 3, 4]]
    assert permutation(command, live, shift=6).order == (1, 0, 2, 3, 4)


def test_still_columns_keep_their_place() -> None:
    command, live = joints()
    command[:, [1, 3]] = 0.0
    live[:, [1, 3]] = 0.0
    assert permutation(command, live).identity


def test_independent_columns_give_weak_evidence() -> None:
    rng = generator(9, "walks")
    walks = rng.normal(size=(2, 300, 4)).cumsum(axis=1)
    assert permutation(walks[0], walks[1]).log_bayes_factor < 10


def test_by_statistics() -> None:
    mean, std = np.array([0.0, 1.0, 2.5, -1.0]), np.array([0.1, 0.2, 0.1, 0.4])
    same = permutation_by_statistics(mean, std, mean + 0.3 * std, 1.2 * std)
    assert same.identity
    assert same.log_bayes_factor == 0.0
    order = [2, 0, 1, 3]
    found = permutation_by_statistics(mean, std, mean[order], std[order])
    assert found.order == (1, 2, 0, 3)
    assert found.log_bayes_factor > 10


def test_short_and_mismatched() -> None:
    assert permutation(np.zeros((2, 3)), np.zeros((2, 3))).identity
    with pytest.raises(InputError, match="no pair"):
        permutation(np.zeros((9, 3)), np.zeros((9, 2)))
    with pytest.raises(InputError, match="leaves none"):
        permutation(np.zeros((4, 3)), np.zeros((4, 3)), shift=4)
    with pytest.raises(InputError, match="no set"):
        permutation_by_statistics(np.zeros(2), np.ones(2), np.zeros(3), np.ones(3))
