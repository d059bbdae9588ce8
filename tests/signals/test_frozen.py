"""Readings that stand still."""

import numpy as np
import pytest

from gaploop.core import InputError, generator
from gaploop.signals import frozen

TIMES = np.arange(400) / 20


def noisy(seed: int = 0) -> np.ndarray:
    return generator(seed, "frozen").normal(size=(400, 3))


def test_finds_dimension_and_span() -> None:
    values = noisy()
    values[100:130, 1] = values[100, 1]
    (found,) = frozen(values, TIMES)
    assert (found.dimension, found.span.start, found.span.stop) == (1, 100, 130)
    assert (found.span.t0, found.span.t1) == (5.0, 129 / 20)
    assert found.p_value < 1e-6
    assert not found.whole


def test_healthy_noise_has_none() -> None:
    assert frozen(noisy(), TIMES) == ()


def test_a_coarse_reading_at_slow_motion_is_no_finding() -> None:
    # each level lasts 13 or 14 frames
    steps = np.round(np.linspace(0, 30, 400))
    assert frozen(steps, TIMES) == ()
    steps[100:300] = steps[100]
    assert [f.span.start for f in frozen(steps, TIMES)] == [np.argmax(steps == steps[100])]


def test_rest_is_no_finding_where_motion_is_known() -> None:
    values = noisy()[:, 0]
    values[300:] = values[300]
    moving = np.arange(400) < 295
    assert len(frozen(values, TIMES)) == 1
    assert frozen(values, TIMES, moving=moving) == ()


def test_a_dead_dimension_is_named_as_such() -> None:
    values = noisy()
    values[:, 2] = 7.0
    (found,) = frozen(values, TIMES)
    assert (found.dimension, found.whole, found.value) == (2, True, 7.0)


def test_short_series_and_lengths() -> None:
    assert frozen(np.zeros((1, 2)), np.zeros(1)) == ()
    assert frozen(np.zeros(0), np.zeros(0)) == ()
    with pytest.raises(InputError, match="3 readings, 2 stamps"):
        frozen(np.zeros(3), np.zeros(2))
