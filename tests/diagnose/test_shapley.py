import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.diagnose.shapley import coalitions, shapley

PLAYERS = ("sensor", "dynamics", "execution")


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_the_shares_add_up_to_what_all_together_change(values: list[float]) -> None:
    value = dict(zip(coalitions(PLAYERS), values, strict=True))
    shares = shapley(PLAYERS, value)
    assert sum(shares.values()) == pytest.approx(
        value[frozenset(PLAYERS)] - value[frozenset()], abs=1e-12
    )


def test_a_bystander_gets_nothing_and_partners_share() -> None:
    value = {c: float({"sensor", "execution"} <= c) for c in coalitions(PLAYERS)}
    assert shapley(PLAYERS, value) == pytest.approx(
        {"sensor": 0.5, "dynamics": 0.0, "execution": 0.5}
    )


@given(st.permutations(PLAYERS), st.integers(0, 2**32))
def test_names_do_not_matter(order: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    value = {c: float(rng.random()) for c in coalitions(PLAYERS)}
    one, two = shapley(PLAYERS, value), shapley(tuple(order), value)
    assert one == pytest.approx(two)
