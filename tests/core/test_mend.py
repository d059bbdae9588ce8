import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.core import ContractError, Mend

figures = st.floats(-10, 10).filter(lambda x: abs(x) > 0.1)


@st.composite
def mends(draw: st.DrawFn) -> Mend:
    return Mend(
        feature="observation.state", cause="contract", order=tuple(draw(st.permutations(range(3)))),
        scale=tuple(draw(st.lists(figures, min_size=3, max_size=3))),
        offset=tuple(draw(st.lists(figures, min_size=3, max_size=3))),
    )  # fmt: skip


VALUES = np.random.default_rng(0).normal(size=(5, 3))


@given(mends(), mends())
def test_mends_compose_and_undo(a: Mend, b: Mend) -> None:
    assert np.allclose(a.send(a.read(VALUES)), VALUES, atol=1e-9)
    assert np.allclose(a.inverse().read(VALUES), a.send(VALUES), atol=1e-9)
    assert np.allclose(a.then(b).read(VALUES), b.read(a.read(VALUES)), atol=1e-9)


def test_what_cannot_be_undone_is_refused() -> None:
    with pytest.raises(ContractError, match="permutation"):
        Mend(feature="f", cause="contract", order=(0, 0), scale=(1.0, 1.0), offset=(0.0, 0.0))
    with pytest.raises(ContractError, match="scale of 0"):
        Mend(feature="f", cause="contract", order=(0,), scale=(0.0,), offset=(0.0,))
