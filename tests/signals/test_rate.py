"""Regularity of stamps."""

import numpy as np
import pytest

from gaploop.core import generator
from gaploop.signals import rate


def test_regular_stamps() -> None:
    found = rate(np.arange(100) / 20)
    assert found.hz == pytest.approx(20)
    assert found.regular
    assert found.jitter < 1e-12


def test_jitter_is_a_standard_deviation() -> None:
    steps = 0.05 + 0.004 * generator(1, "jitter").normal(size=4000)
    assert rate(np.cumsum(steps)).jitter == pytest.approx(0.004, rel=0.1)


def test_gaps_duplicates_and_order() -> None:
    times = np.array([0.0, 0.1, 0.2, 0.5, 0.6, 0.6, 0.7, 0.65, 0.8, 0.9])
    found = rate(times)
    assert [(s.start, s.t0, s.t1) for s in found.gaps] == [(2, 0.2, 0.5)]
    assert found.missing == 2
    assert found.duplicates == (5,)
    assert found.backwards == (7,)
    assert not found.regular


@pytest.mark.parametrize("times", [[], [1.0], [1.0, 1.0]])
def test_too_few_stamps(times: list[float]) -> None:
    found = rate(np.array(times))
    assert (found.hz, found.frames) == (0.0, len(times))
    assert found.gaps == ()
