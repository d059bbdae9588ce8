import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaploop.core import Contract, KnobSpace, LayoutVariable, Scenario, TaskSpec, generator
from gaploop.core.siblings import jittered, siblings

SPEC = TaskSpec(
    name="t", robot="r", instruction="", control_dt=0.1, horizon=2, channels=(), command=(),
    command_unit="m", command_low=(), command_high=(),
    layout=(
        LayoutVariable(name="x", unit="m", low=-1.0, high=1.0, targets=()),
        LayoutVariable(name="y", unit="m", low=0.0, high=0.01, targets=()),
    ),
    knobs=KnobSpace(knobs=()), stages=(), contract=Contract(),
)  # fmt: skip


@given(st.floats(-1, 1), st.floats(0, 0.01), st.floats(0, 1), st.integers(0, 100))
def test_a_jittered_start_stays_near_and_inside(x: float, y: float, share: float, s: int) -> None:
    start = np.tile([x, y], (50, 1))
    moved = jittered(start, SPEC, share, generator(s, "t"))
    assert np.all((moved >= [-1, 0]) & (moved <= [1, 0.01]))
    assert np.all(np.abs(moved - start) <= share * np.array([2, 0.01]) + 1e-12)


def test_siblings_are_new_attempts_of_the_same_case() -> None:
    scenario = Scenario(
        task="t", world="w", layout=np.array([0.0, 0.005]), knobs=np.array([0.3]),
        knob_names=("k",), seed=4, horizon=2, origin="e", controls=np.zeros((2, 0)),
    )  # fmt: skip
    fresh = siblings(scenario, 20, SPEC, 0.1, 9)
    assert len({s.seed for s in fresh} | {4}) == 21
    assert all(s.controls is None and s.knobs is scenario.knobs for s in fresh)
    assert len({s.layout.tobytes() for s in fresh}) == 20
    again = siblings(scenario, 5, SPEC, 0.1, 9)
    assert [s.seed for s in again] == [s.seed for s in fresh[:5]]
