"""Offset and drift between two clocks, in integer ticks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaploop.core import InputError
from gaploop.signals import clock

NOW = 1_764_590_000_000_000_000  # a nanosecond clock of today: 61 bits


def stamps(
    rng: np.random.Generator, n: int = 600, offset: int = 0, drift: float = 0.0, noise: float = 2e4
) -> tuple[np.ndarray, np.ndarray]:
    one = NOW + np.cumsum(rng.integers(9_000_000, 11_000_000, n))
    away = one - one[0]
    extra = np.rint(drift * away.astype(float) + noise * rng.standard_normal(n)).astype(np.int64)
    return one, one + offset + extra


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    offset=st.integers(-(10**12), 10**12),
    ppm=st.floats(-500, 500),
)
def test_offset_and_drift_are_found(seed: int, offset: int, ppm: float) -> None:
    one, other = stamps(np.random.default_rng(seed), offset=offset, drift=ppm * 1e-6)
    found = clock(one, other)
    assert found.ok
    assert found.drift == pytest.approx(ppm * 1e-6, abs=3e-6)
    at = float(found.origin - one[0])
    assert found.offset == pytest.approx(offset + ppm * 1e-6 * at, abs=1e4)
    assert 1e4 < found.jitter < 4e4


def test_a_fifth_of_late_stamps_moves_nothing() -> None:
    rng = np.random.default_rng(3)
    one, other = stamps(rng, offset=5_000_000, drift=20e-6)
    late = rng.random(len(one)) < 0.2
    other = other + np.where(late, rng.integers(2_000_000, 200_000_000, len(one)), 0)
    found = clock(one, other)
    assert found.drift == pytest.approx(20e-6, abs=3e-6)
    assert abs(found.outliers - late.sum()) < 12
    straight = np.polyfit((one - found.origin).astype(float), (other - one).astype(float), 1)[1]
    assert abs(straight - found.offset) > 20 * abs(
        found.offset - 5_000_000 - 20e-6 * (found.origin - one[0])
    )


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    inside = 0
    for seed in range(200):
        one, other = stamps(np.random.default_rng(seed), n=300, drift=50e-6)
        found = clock(one, other)
        inside += found.drift_lo <= 50e-6 <= found.drift_hi
    assert 180 <= inside <= 200


def test_ticks_are_mapped_without_losing_a_digit() -> None:
    one = NOW + 10_000_000 * np.arange(100, dtype=np.int64)
    other = one + 123_456_789
    found = clock(one, other)
    assert found.offset == 123_456_789
    assert found.drift == 0.0
    assert np.array_equal(found.to_other(one), other)


def test_what_cannot_be_told_says_so() -> None:
    few = NOW + np.arange(4, dtype=np.int64)
    assert "too short" in clock(few, few).reason
    still = np.full(20, NOW, dtype=np.int64)
    assert "stands still" in clock(still, still).reason


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (np.arange(9), np.arange(8), "9"),
        (np.arange(9.0), np.arange(9), "integer ticks"),
    ],
)
def test_bad_input_is_refused(one: np.ndarray, other: np.ndarray, words: str) -> None:
    with pytest.raises(InputError, match=words):
        clock(one, other)
