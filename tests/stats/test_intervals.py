"""Intervals of one rate, and of a recipe with several training seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.core import UsageError, generator
from gaploop.stats import clopper_pearson, two_level, wilson
from gaploop.stats._special import binomial_pmf

counts = st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_published_values() -> None:
    # Newcombe (1998), Statistics in Medicine 17:857-872, table I
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert clopper_pearson(81, 263) == pytest.approx((0.2527, 0.3676), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert clopper_pearson(0, 20) == pytest.approx((0.0, 0.1684), abs=5e-5)


@given(counts)
def test_intervals_hold_the_estimate_and_mirror(count: tuple[int, int]) -> None:
    k, n = count
    for method in (wilson, clopper_pearson):
        lo, hi = method(k, n)
        assert 0 <= lo <= hi <= 1
        if n:
            assert lo <= k / n <= hi
        assert method(n - k, n) == pytest.approx((1 - hi, 1 - lo), abs=1e-9)


def test_no_trials_say_nothing() -> None:
    assert wilson(0, 0) == clopper_pearson(0, 0) == (0.0, 1.0)


def test_clopper_pearson_never_undercovers() -> None:
    n = 23
    ends = np.array([clopper_pearson(k, n) for k in range(n + 1)])
    for rate in np.linspace(0.01, 0.99, 37):
        inside = (ends[:, 0] <= rate) & (rate <= ends[:, 1])
        assert binomial_pmf(np.arange(n + 1), n, rate)[inside].sum() >= 0.95


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(UsageError, match="5 successes of 4 trials"):
        wilson(5, 4)
    with pytest.raises(UsageError, match="2 counts for 1 sample sizes"):
        two_level([1, 2], [3])
    with pytest.raises(UsageError, match="level"):
        wilson(1, 2, level=95)


def test_two_level_is_wider_than_pooling_when_seeds_differ() -> None:
    k, n = [263, 146, 201, 153, 169], [300] * 5
    pooled = wilson(sum(k), sum(n))
    wide = two_level(k, n)
    assert wide.mean == pytest.approx(sum(k) / sum(n))
    assert wide.hi - wide.lo > 4 * (pooled[1] - pooled[0])


def test_two_level_narrows_with_seeds_and_takes_any_number() -> None:
    none = two_level([], [])
    assert (none.lo, none.hi) == (0.0, 1.0)
    assert np.isnan(none.mean)
    widths = [two_level([18] * s, [20] * s) for s in (1, 2, 5, 20)]
    spans = [w.hi - w.lo for w in widths]
    assert spans == sorted(spans, reverse=True)
    assert all(w.lo <= 0.9 <= w.hi for w in widths)


def test_two_level_at_the_ends() -> None:
    perfect, hopeless = two_level([300] * 5, [300] * 5), two_level([0] * 5, [300] * 5)
    assert perfect.hi == 1.0
    assert 0.75 < perfect.lo < 0.95
    assert hopeless.lo == 0.0
    assert hopeless.hi == pytest.approx(1 - perfect.lo, abs=1e-6)


@pytest.mark.parametrize(
    ("seeds", "trials", "mu", "rho"),
    [(2, 100, 0.9, 0.1), (3, 100, 0.5, 0.2), (5, 20, 0.5, 0.1), (5, 100, 0.98, 0.1)],
)
def test_two_level_covers(seeds: int, trials: int, mu: float, rho: float) -> None:
    rng = generator(11, "coverage", seeds, trials)
    c = (1 - rho) / rho
    covered, runs = 0, 120
    for _ in range(runs):
        rates = rng.beta(mu * c, (1 - mu) * c, seeds)
        found = two_level(rng.binomial(trials, rates), np.full(seeds, trials))
        covered += found.lo <= mu <= found.hi
    # 0.95 nominal less three standard errors of this check
    assert covered / runs >= 0.89
