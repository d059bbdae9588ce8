"""Lag between a command and its answer."""

import numpy as np
import pytest

from gaploop.core import InputError, generator
from gaploop.signals import lag

DT = 0.05


def pair(
    frames: float, length: int, seed: int, noise: float = 0.002
) -> tuple[np.ndarray, np.ndarray]:
    """A smooth random command and its answer `frames` later."""
    rng = generator(seed, "lag", length)
    path = 0.01 * np.cumsum(np.convolve(rng.normal(size=length + 44), np.ones(5) / 5, "valid"))
    rows = np.arange(20, 20 + length)
    answer = np.interp(rows - frames, np.arange(len(path)), path)
    return path[rows], 0.3 + 0.9 * answer + noise * rng.normal(size=length)


@pytest.mark.parametrize("frames", [0, 0.3, 1, 2.5, 5, 8, 12])
def test_finds_zero_to_twelve_frames_between_samples(frames: float) -> None:
    found = lag(*pair(frames, 200, seed=1), DT)
    assert found.ok
    assert found.seconds == pytest.approx(frames * DT, abs=0.15 * DT)
    assert found.lo <= found.seconds <= found.hi
    assert found.hi - found.lo < 0.4 * DT
    assert found.gain == pytest.approx(0.9, abs=0.05)
    assert found.log_bayes_factor > 10


@pytest.mark.parametrize("length", [44, 150])
def test_interval_covers(length: int) -> None:
    found = [lag(*pair(3.7, length, seed=s), DT) for s in range(60)]
    assert all(f.ok for f in found)
    covered = np.mean([f.lo <= 3.7 * DT <= f.hi for f in found])
    assert covered >= 0.87


def test_drift_does_not_pull_it() -> None:
    command, answer = pair(2.0, 200, seed=3)
    found = lag(command, answer + np.linspace(0, 0.3, 200), DT)
    assert found.seconds == pytest.approx(2 * DT, abs=0.3 * DT)


def test_exact_copy_has_an_exact_lag() -> None:
    command, answer = pair(4.0, 80, seed=5, noise=0.0)
    found = lag(command, answer, DT)
    assert found.seconds == pytest.approx(4 * DT, abs=0.02 * DT)


def test_refuses_without_motion() -> None:
    still = np.full(60, 0.4)
    noise = 1e-3 * generator(0, "noise").normal(size=60)
    assert "no motion" in lag(still, still + noise, DT).reason
    assert "no motion" in lag(np.arange(60.0), still, DT).reason
    jitter = lag(still + noise, still, DT, motion=0.1)
    assert not jitter.ok
    assert np.isnan(jitter.seconds)


def test_refuses_what_does_not_follow() -> None:
    rng = generator(4, "walks")
    walks = rng.normal(size=(80, 2, 100)).cumsum(axis=2)
    assert np.mean([lag(a, b, DT).ok for a, b in walks]) < 0.1
    command, answer = pair(1.0, 100, seed=2)
    assert "inverted" in lag(command, -answer, DT).reason


def test_short_and_broken_series() -> None:
    assert "too short" in lag(np.arange(5.0), np.arange(5.0), DT).reason
    assert lag(np.full(30, np.nan), np.zeros(30), DT).reason == "not finite"
    assert lag(*pair(1.0, 14, seed=8, noise=0.0), DT).seconds == pytest.approx(DT, abs=0.3 * DT)
    with pytest.raises(InputError, match="4 commands for 3 readings"):
        lag(np.zeros(4), np.zeros(3), DT)
    with pytest.raises(InputError, match="frame period"):
        lag(np.zeros(4), np.zeros(4), 0.0)
