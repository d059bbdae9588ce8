"""What n attempts could have shown."""

import numpy as np
import pytest

from gaploop.core import UsageError, generator
from gaploop.stats import detectable, paired_change, paired_power


def test_power_agrees_with_simulation() -> None:
    n, before, after, runs = 30, 0.4, 0.75, 1500
    rng = generator(5, "power")
    old, new = rng.random((runs, n)) < before, rng.random((runs, n)) < after
    seen = np.mean([paired_change(a, b).p_value <= 0.05 for a, b in zip(old, new, strict=True)])
    assert paired_power(n, before, after) == pytest.approx(seen, abs=0.035)


def test_no_change_stays_below_alpha() -> None:
    for n in (5, 20, 300):
        assert paired_power(n, 0.6, 0.6) <= 0.05


def test_detectable_reaches_the_power_and_not_earlier() -> None:
    size = detectable(40, 0.5, direction="rise")
    assert paired_power(40, 0.5, 0.5 + size) >= 0.8
    assert paired_power(40, 0.5, 0.5 + size - 0.01) < 0.8


def test_detectable_shrinks_with_n_and_says_when_nothing_is() -> None:
    sizes = [detectable(n, 0.5) for n in (0, 3, 20, 100, 1000)]
    assert sizes[:2] == [1.0, 1.0]
    assert sizes == sorted(sizes, reverse=True)
    assert detectable(1000, 1.0, direction="rise") == 1.0
    assert detectable(1000, 1.0) == detectable(1000, 1.0, direction="fall") < 0.02
    with pytest.raises(UsageError, match="rate of 90"):
        detectable(10, 90)
