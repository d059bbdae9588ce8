import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gaploop.core import (
    Check,
    Contract,
    Counterfactual,
    Diagnosis,
    Evidence,
    GoldenPairs,
    HardSet,
    Knob,
    KnobEstimate,
    KnobSpace,
    KnobVerdict,
    PolicyContract,
    Posterior,
    Prior,
    Reproduction,
    Scenario,
    Score,
    Target,
    declared,
)  # fmt: skip
from gaploop.core.curation import Bucket
from gaploop.store import codec

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
        | st.dictionaries(st.integers(), inner, max_size=2)
    ),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Equal in type, value, dtype and bits; NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        bits = one.tobytes() == other.tobytes()
        return one.dtype == other.dtype and one.shape == other.shape and bits
    if dataclasses.is_dataclass(one):
        return all(
            same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one)
        )
    if isinstance(one, float):
        return math.copysign(1, one) == math.copysign(1, other) and (
            one == other or (math.isnan(one) and math.isnan(other))
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(v, other[k]) for k, v in one.items())
    return one == other


@given(ANY)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    assert same(codec.loads(codec.dumps(value), object), _positive_nan(value))


def _positive_nan(value: Any) -> Any:
    """JSON keeps that it is no number, not the sign of it."""
    if isinstance(value, float) and math.isnan(value):
        return float("nan")
    if isinstance(value, (list, tuple)):
        return type(value)(map(_positive_nan, value))
    if isinstance(value, dict):
        return {k: _positive_nan(v) for k, v in value.items()}
    return value


@given(
    hnp.arrays(
        st.sampled_from(["<f4", "<f8", "<i8", "<u8", "|b1", ">f8"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_arrays_come_back_bit_for_bit(array: np.ndarray) -> None:
    assert same(codec.loads(codec.dumps(array), np.ndarray), array)


def core_values() -> list[Any]:
    knob = Knob(
        name="gain", gap="execution", unit="1", prior=Prior(low=0.8, high=1.2), nominal=1.0,
        targets=(Target(path="action:gain"),),
    )  # fmt: skip
    scenario = Scenario(
        task="peg", world="ab", layout=np.arange(3.0), knobs=np.array([np.nan, -0.0]),
        knob_names=("a", "b"), seed=2**64 - 1, horizon=44, controls=np.ones((44, 3), np.float32),
    )  # fmt: skip
    flip = Counterfactual(
        scenario=scenario, knob="gain", unit="1", value=0.9, flip=float("nan"), flip_lo=0.9,
        flip_hi=float("inf"), p_before=0.1, p_after=0.9, n=64, scan=np.linspace(0.9, 1, 9),
        response=np.zeros(9), monotone=True,
    )  # fmt: skip
    return [
        scenario,
        Reproduction(episode="e", reproduced=3, n=9, scenarios=(scenario,), counterfactual=flip),
        Posterior(
            space=KnobSpace(knobs=(knob,)), particles=np.random.default_rng(0).random((900, 1)),
            weights=np.full(900, 1 / 900), shipped=np.ones((5, 1)), noise={"q": np.ones(3)},
            checks=(Check(name="rhat", value=1.01, limit=1.1, ok=True),),
            verdicts=(KnobVerdict(
                name="gain", unit="1", mean=0.9, sd=0.01, lo=0.88, hi=0.92, verdict="identified",
                redraw_acceptance=0.02,
            ),),
        ),
        Diagnosis(
            episode="e", verdict="execution", kind="late", probabilities={"execution": 1.0},
            knobs=(KnobEstimate(name="gain", unit="1", estimate=0.9, lo=0.8, hi=1.0),),
            evidence=(Evidence(test="t", cause="execution", bayes_factor=9.0, statistic=1.0, t0=0.0,
                               t1=1.0, sentence="s"),),
            rescue={"execution": (9, 10)},
        ),
        HardSet(version=1, origins={"e": "exam"}, buckets=(
            Bucket(name="b", ability="action", predicate="p", scenarios=(scenario,), minimum=9),
        )),
        PolicyContract(
            contract=Contract(log_rate=declared(20.0), clock=declared(("a", 1, [2.0, (3,)]))),
            inputs=("q",), columns=("x",), history=4, chunk=16, execute=8, normaliser="n",
            golden=GoldenPairs(observations=np.ones((2, 3), np.float32),
                               actions=np.zeros((2, 16, 1), np.float32)),
        ),
        Score(policy="p", bucket="b", k=1, n=2, lo=0.1, hi=0.9, outcomes=(True, False)),
    ]  # fmt: skip


@pytest.mark.parametrize("value", core_values(), ids=lambda v: type(v).__name__)
def test_core_types_come_back_bit_for_bit(value: Any) -> None:
    assert same(codec.loads(codec.dumps(value), type(value)), value)


def test_equal_content_is_equal_text_whatever_the_order() -> None:
    assert codec.dumps({"a": 1, "b": (2.0,)}) == codec.dumps({"b": (2.0,), "a": 1})


@pytest.mark.parametrize("value", [{1, 2}, b"x", object(), np.array([None])])
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be stored"):
        codec.dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"$array": {"dtype": "O", "shape": [1], "data": ""}}',
        '{"$array": {"dtype": "<f8", "shape": [3], "data": "AAAA"}}',
        '{"$array": "apart"}',
        '{"$tuple": 3}',
        "[" * 100_000,
        "{",
    ],
)
def test_damaged_text_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        codec.loads(text, np.ndarray)
