"""Two policies on the same attempts."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from gaploop.core import UsageError
from gaploop.stats import non_inferiority, paired_change, paired_seeds
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


def test_a_difference_over_seeds_by_hand() -> None:
    before = [(10, 100), (50, 100), (30, 100)]
    after = [(40, 100), (90, 100), (80, 100)]
    found = paired_seeds(before, after)
    # differences 0.3, 0.4, 0.5; t of 2 degrees of freedom is 4.303
    assert found.mean == pytest.approx(0.4)
    half = 4.3027 * 0.1 / np.sqrt(3)
    assert (found.lo, found.hi) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-4)


def test_seeds_without_a_spread_still_have_an_interval() -> None:
    found = paired_seeds([(200, 200)] * 5, [(200, 200)] * 5)
    assert found.mean == 0.0
    assert 0.005 < found.hi < 0.03
    assert found.lo == -found.hi


def test_too_few_seeds_say_nothing() -> None:
    one = paired_seeds([(1, 10)], [(9, 10)])
    assert (one.mean, one.lo, one.hi) == (pytest.approx(0.8), -1.0, 1.0)
    none = paired_seeds([(0, 0)], [(1, 2)])
    assert np.isnan(none.mean)
    assert (none.lo, none.hi) == (-1.0, 1.0)
    with pytest.raises(UsageError, match="no pairs"):
        paired_seeds([(1, 2)], [])


def test_a_difference_over_seeds_covers_the_truth() -> None:
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        # worlds differ far more than the recipes do, and share that
        world = rng.uniform(0.1, 0.6, 5)
        gain = np.clip(rng.normal(0.2, 0.08, 5), 0, 0.39)
        before = [(int(k), 200) for k in rng.binomial(200, world)]
        after = [(int(k), 200) for k in rng.binomial(200, world + gain)]
        found = paired_seeds(before, after)
        held += found.lo <= 0.2 <= found.hi
    assert 0.92 < held / 400 <= 1.0
