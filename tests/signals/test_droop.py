"""Sagging under load."""

import numpy as np
import pytest

from gaploop.core import InputError, generator
from gaploop.signals import droop


def sagging(slope: float, seed: int, persistence: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    rng = generator(seed, "droop")
    load = np.sin(np.arange(200) / 9)
    noise = np.zeros(200)
    for i in range(1, 200):
        noise[i] = persistence * noise[i - 1] + 0.004 * rng.normal()
    return 0.01 + slope * load + noise, load


def test_slope_and_offset() -> None:
    found = droop(*sagging(0.05, seed=0))
    assert found.slope == pytest.approx(0.05, abs=0.004)
    assert found.offset == pytest.approx(0.01, abs=0.01)
    assert found.log_bayes_factor > 10
    assert found.explained > 0.8


def test_interval_covers_with_smooth_noise() -> None:
    found = [droop(*sagging(0.02, seed=s)) for s in range(100)]
    assert np.mean([f.lo <= 0.02 <= f.hi for f in found]) >= 0.85
    assert np.mean([f.samples for f in found]) < 100


def test_no_sag_is_evidence_against() -> None:
    found = [droop(*sagging(0.0, seed=s)).log_bayes_factor for s in range(40)]
    assert np.median(found) < 0


def test_only_still_frames_count() -> None:
    error, load = sagging(0.05, seed=1)
    still = np.arange(200) >= 50
    error[:50] = 3.0
    assert droop(error, load, still).slope == pytest.approx(0.05, abs=0.005)


def test_a_constant_load_says_nothing() -> None:
    found = droop(np.arange(9.0), np.ones(9))
    assert np.isnan(found.slope)
    assert found.log_bayes_factor == 0.0
    assert droop(np.zeros(0), np.zeros(0)).samples == 0
    assert droop(np.zeros(9), np.arange(9.0)).slope == 0.0
    with pytest.raises(InputError, match="3 errors, 2 loads"):
        droop(np.zeros(3), np.zeros(2))
