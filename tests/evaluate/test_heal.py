import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gaploop.evaluate import EvaluateConfig
from gaploop.evaluate.heal import gained, healed

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


@given(pairs)
def test_the_paired_test_is_the_exact_binomial_one(flips: list[tuple[bool, bool]]) -> None:
    before, after = (np.array(x) for x in zip(*flips, strict=True))
    n = int(np.sum(before != after))
    gains = int(np.sum(after & ~before))
    expected = binomtest(gains, n, 0.5, alternative="greater").pvalue if n else 1.0
    assert gained(before, after) == pytest.approx(expected)


def ask(own: int, before: int, after: int) -> bool:
    def first(k: int, n: int) -> np.ndarray:
        return np.arange(n) < k

    return healed("e", first(own, 5), first(before, 20), first(after, 20), EvaluateConfig()).healed


def test_each_part_of_the_rule_can_refuse() -> None:
    assert ask(3, 2, 19)
    assert not ask(2, 2, 19)  # its own scenarios still fail
    assert not ask(3, 2, 13)  # 13 of 20 does not show more than one half
    assert not ask(3, 17, 19)  # the old policy did as well


def test_nothing_to_see_is_not_healed() -> None:
    none = np.zeros(0, bool)
    assert not healed("e", none, none, none, EvaluateConfig()).healed
