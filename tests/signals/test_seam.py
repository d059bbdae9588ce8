"""Jumps at chunk boundaries."""

import numpy as np
import pytest

from gaploop.core import InputError, generator
from gaploop.signals import find_seam, seam


def chunked(execute: int, jump: float, seed: int = 0) -> np.ndarray:
    rng = generator(seed, "seam")
    t = np.arange(160)
    smooth = np.stack([np.sin(t / 15), np.cos(t / 11)], axis=1)
    steps = rng.normal(size=(160 // execute + 1, 2))[t // execute]
    return smooth + jump * steps + 1e-4 * rng.normal(size=smooth.shape)


def test_finds_jumps_at_boundaries() -> None:
    found = seam(chunked(8, 0.05), 8)
    assert found.p_value < 1e-4
    assert found.ratio > 5
    assert found.worst % 8 == 0
    assert found.boundaries == 19


def test_seamless_commands_show_none() -> None:
    p = [seam(chunked(8, 0.0, seed=s), 8).p_value for s in range(40)]
    assert np.mean(np.array(p) < 0.05) < 0.2


def test_finds_period_and_phase() -> None:
    found = find_seam(chunked(8, 0.05)[3:])
    assert (found.execute, found.offset) == (8, 5)
    assert found.p_value < 0.01
    assert find_seam(chunked(8, 0.0)).p_value > 0.05


def test_nothing_to_see() -> None:
    for still in (np.zeros((40, 2)), np.zeros((1, 2)), np.linspace(0, 1, 4)):
        assert seam(still, 8).p_value == 1.0
        assert find_seam(still).p_value == 1.0
    with pytest.raises(InputError, match="impossible"):
        seam(np.zeros(9), 0)
