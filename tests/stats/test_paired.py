"""Two policies on the same attempts."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from gaploop.core import UsageError
from gaploop.stats import non_inferiority, paired_change
from gaploop.stats.paired import _score, mcnemar, tango


def outcomes(both: int, better: int, worse: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    before = np.repeat([True, False, True, False], [both, better, worse, neither])
    after = np.repeat([True, True, False, False], [both, better, worse, neither])
    return before, after


def test_exact_p_value_by_hand() -> None:
    found = paired_change(*outcomes(8, 7, 0, 5))
    assert found.p_value == pytest.approx(2 * 0.5**7)
    assert found.change == pytest.approx(0.35)
    assert (found.better, found.worse, found.n) == (7, 0, 20)
    assert mcnemar(5, 2) == pytest.approx(2 * (1 + 7 + 21) / 128)
    assert mcnemar(3, 3) == 1.0


def test_published_interval() -> None:
    # Tango (1998), crossover trial of soft contact lenses: 43, 0, 1 and 0 of 44
    lo, hi = tango(0, 1, 44)
    assert (lo, hi) == pytest.approx((-0.118, 0.059), abs=1e-3)


def test_score_statistic_uses_the_constrained_maximum() -> None:
    better, worse, n, change = 9, 4, 30, 0.05

    def cost(q: float) -> float:
        p, rest = q + change, 1 - 2 * q - change
        return -(better * np.log(p) + worse * np.log(q) + (n - better - worse) * np.log(rest))

    q = minimize_scalar(cost, bounds=(1e-9, (1 - change) / 2 - 1e-9), method="bounded").x
    expected = (better - worse - n * change) / np.sqrt(n * (2 * q + change * (1 - change)))
    assert _score(better, worse, n, change) == pytest.approx(expected, abs=1e-4)


def test_interval_covers_by_enumeration() -> None:
    n, p_better, p_worse = 16, 0.3, 0.1
    covered = 0.0
    for better in range(n + 1):
        for worse in range(n + 1 - better):
            lo, hi = tango(better, worse, n)
            if lo <= p_better - p_worse <= hi:
                covered += _trinomial(n, better, worse, p_better, p_worse)
    assert covered >= 0.94


def _trinomial(n: int, b: int, c: int, p: float, q: float) -> float:
    from math import comb

    return comb(n, b) * comb(n - b, c) * p**b * q**c * (1 - p - q) ** (n - b - c)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_small_samples_answer(n: int) -> None:
    same = np.ones(n, dtype=bool)
    still = paired_change(same, same)
    assert still.p_value == 1.0
    assert still.change == 0.0
    assert -1 <= still.lo <= 0 <= still.hi <= 1
    flipped = paired_change(~same, same)
    assert flipped.lo <= flipped.change <= flipped.hi
    assert non_inferiority(same, same, 0.05).passed is None


def test_interval_mirrors() -> None:
    lo, hi = tango(9, 4, 30)
    assert tango(4, 9, 30) == pytest.approx((-hi, -lo))


def test_non_inferiority_has_three_answers() -> None:
    assert non_inferiority(*outcomes(280, 5, 5, 10), margin=0.05).passed is True
    assert non_inferiority(*outcomes(200, 0, 60, 40), margin=0.05).passed is False
    assert non_inferiority(*outcomes(10, 1, 1, 3), margin=0.05).passed is None


def test_unpaired_input_is_refused() -> None:
    with pytest.raises(UsageError, match="no pairs"):
        paired_change(np.ones(3, bool), np.ones(4, bool))
    with pytest.raises(UsageError, match="margin of 5 "):
        non_inferiority(np.ones(3, bool), np.ones(3, bool), margin=5)
