"""Values at their limits."""

import numpy as np
import pytest

from gaploop.core import InputError
from gaploop.signals import saturation

TIMES = np.arange(200) / 20
WAVE = np.sin(np.arange(200) / 20)


def test_given_limits() -> None:
    found = saturation(np.clip(WAVE, -0.5, 0.8), TIMES, -0.5, 0.8)
    assert found.known
    assert found.at_high == pytest.approx(np.mean(WAVE >= 0.8), abs=0.02)
    assert found.at_low == pytest.approx(np.mean(WAVE <= -0.5), abs=0.02)
    assert found.longest > 20
    assert found.high_spans[0].t0 == pytest.approx(np.argmax(WAVE >= 0.8) / 20, abs=0.06)


def test_a_plateau_reveals_an_unknown_limit() -> None:
    found = saturation(np.minimum(WAVE, 0.8), TIMES)
    assert not found.known
    assert found.high == 0.8
    assert found.high_spans
    assert found.low_spans == ()


def test_a_free_wave_has_none() -> None:
    found = saturation(WAVE, TIMES)
    assert found.longest == 0
    assert saturation(WAVE, TIMES, -2.0, 2.0).longest == 0


def test_constant_empty_and_wrong() -> None:
    assert saturation(np.ones(9), np.arange(9.0)).longest == 0
    assert np.isnan(saturation(np.zeros(0), np.zeros(0)).low)
    with pytest.raises(InputError, match="enclose nothing"):
        saturation(WAVE, TIMES, 1.0, 1.0)
    with pytest.raises(InputError, match="200 values for 3 stamps"):
        saturation(WAVE, TIMES[:3])
