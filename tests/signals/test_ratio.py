"""Unit errors show as known factors."""

import numpy as np
import pytest

from gaploop.core import InputError, generator
from gaploop.signals import ratio

TRAIN = np.array([0.4, 0.2, 0.7, 0.05])


def healthy(seed: int) -> np.ndarray:
    return TRAIN * np.exp(0.25 * generator(seed, "ratio").normal(size=4))


@pytest.mark.parametrize(
    ("factor", "name"),
    [
        (180 / np.pi, "deg instead of rad"),
        (np.pi / 180, "rad instead of deg"),
        (1000, "mm instead of m"),
        (0.001, "m instead of mm"),
        (10, "10 times"),
        (0.1, "a tenth"),
    ],
)
def test_names_the_factor(factor: float, name: str) -> None:
    names = [ratio(factor * healthy(s), TRAIN).shared for s in range(40)]
    assert np.mean([n.name == name for n in names]) > 0.9
    assert names[0].factor == pytest.approx(factor)
    assert names[0].log_bayes_factor > 5


def test_healthy_logs_are_the_same_unit() -> None:
    found = [ratio(healthy(s), TRAIN) for s in range(40)]
    assert all(f.shared.name == "same unit" for f in found)
    assert all(f.odd == () for f in found)


def test_one_column_alone() -> None:
    live = TRAIN.copy()
    live[2] *= 1000
    found = ratio(live, TRAIN)
    assert found.odd == (2,)
    assert found.columns[2].name == "mm instead of m"
    assert found.shared.name == "no known factor"


def test_confidence_is_calibrated_between_neighbours() -> None:
    # 57.3 and 100 are half a spread apart: a ratio between them is not sure
    found = ratio(np.array([76.0]), np.array([1.0])).columns[0]
    assert found.confidence < 0.8


def test_unknown_factor_and_still_columns() -> None:
    # 4 times in every column is no unit
    assert ratio(TRAIN * 40000, TRAIN).shared.name == "no known factor"
    still = ratio(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert [c.name for c in still.columns] == ["", ""]
    assert still.shared.name == ""
    assert still.odd == ()
    assert ratio(np.array([]), np.array([])).columns == ()
    with pytest.raises(InputError, match="2 live columns for 1"):
        ratio(np.ones(2), np.ones(1))
