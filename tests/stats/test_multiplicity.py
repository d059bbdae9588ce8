"""Holm's adjustment."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaploop.stats import holm


def test_by_hand() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert holm([]).shape == (0,)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_never_smaller_never_above_bonferroni_and_keeps_order(p: list[float]) -> None:
    adjusted = holm(p)
    assert np.all(adjusted >= np.array(p) - 1e-15)
    assert np.all(adjusted <= np.minimum(1, len(p) * np.array(p)) + 1e-15)
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)
