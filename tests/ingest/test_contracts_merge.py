"""Two contracts side by side, and two sources made one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaploop.core import Contract, ContractError, Episode, Feature, Label, Signal, Stated, declared
from gaploop.ingest.contracts import compare, converted, merge, require_agreement
from gaploop.ingest.contracts.gripper import CLOSED_HIGH, OPEN_HIGH

NAMES = ("shoulder", "elbow", "gripper")
T = 40


def contract(**fields: Any) -> Contract:
    """A joint robot with a gripper; `fields` by name, `unit` and `columns` of both features."""
    unit = fields.pop("unit", ("rad", "rad", "1"))
    columns = fields.pop("columns", NAMES)
    base = {
        "action_space": "joint", "action_mode": "absolute", "gripper_polarity": OPEN_HIGH,
        "gripper_range": (0.0, 1.0), "log_rate": 10.0, "control_rate": 10.0,
        "joint_map": {"order": (0, 1), "signs": (1, 1)},
    }  # fmt: skip
    stated = {k: v if isinstance(v, Stated) else declared(v) for k, v in {**base, **fields}.items()}
    features = tuple(
        Feature(key=k, columns=columns, unit=declared(unit))
        for k in ("action", "observation.state")
    )
    return Contract(features=features, **stated)


def episode(under: Contract, seed: int = 0) -> Episode:
    rng = np.random.default_rng(seed)
    times = np.arange(T) / 10.0
    signals = {
        key: Signal(name=key, unit="raw", columns=NAMES, times=times,
                    values=rng.uniform(0, 1, (T, 3)))
        for key in ("action", "observation.state")
    }  # fmt: skip
    return Episode(signals=signals, contract=under, robot="r", source=f"file:{seed}")


def values(e: Episode, key: str = "action") -> np.ndarray:
    return e.signals[key].values


def record(e: Episode) -> list[dict[str, Any]]:
    return e.fact("conversion")


def test_equal_contracts_leave_the_episodes_as_they_are() -> None:
    a, b = episode(contract()), episode(contract(), seed=1)
    assert merge([a], [b])[1] is b


def test_units_are_converted_and_it_is_recorded() -> None:
    a, b = episode(contract()), episode(contract(unit=("deg", "deg", "1")), seed=1)
    fresh = merge([a], [b])[1]
    assert np.allclose(values(fresh)[:, :2], np.deg2rad(values(b)[:, :2]))
    assert np.array_equal(values(fresh)[:, 2], values(b)[:, 2])
    assert fresh.parents == (b.id,)
    assert fresh.contract.features == a.contract.features
    assert {c["field"] for c in record(fresh)} == {"action.unit", "observation.state.unit"}
    assert all(c["exact"] for c in record(fresh))


def test_one_unit_for_all_leaves_the_gripper_alone() -> None:
    a, b = episode(contract(unit="rad")), episode(contract(unit="deg"), seed=1)
    fresh = merge([a], [b])[1]
    assert np.allclose(values(fresh)[:, 0], np.deg2rad(values(b)[:, 0]))
    assert np.array_equal(values(fresh)[:, 2], values(b)[:, 2])


def test_columns_are_put_in_order() -> None:
    order = ("gripper", "elbow", "shoulder")
    b = episode(contract(columns=order, unit=("1", "rad", "rad"), joint_map=Stated()), seed=1)
    a = episode(contract(joint_map=Stated()))
    fresh = merge([a], [b])[1]
    assert np.array_equal(values(fresh), values(b)[:, ::-1])
    assert fresh.signals["action"].columns == NAMES


def test_swapped_and_flipped_joints_are_put_right() -> None:
    turned = {"order": (1, 0), "signs": (-1, 1)}
    a, b = episode(contract()), episode(contract(joint_map=turned), seed=1)
    fresh = merge([a], [b])[1]
    state = values(b, "observation.state")
    assert np.array_equal(values(fresh, "observation.state")[:, 0], -state[:, 1])
    assert np.array_equal(values(fresh, "observation.state")[:, 1], state[:, 0])
    assert np.array_equal(values(fresh), values(b))


def test_a_gripper_is_turned_over() -> None:
    a, b = episode(contract()), episode(contract(gripper_polarity=CLOSED_HIGH), seed=1)
    fresh = merge([a], [b])[1]
    assert np.allclose(values(fresh)[:, 2], 1 - values(b)[:, 2])
    assert np.array_equal(values(fresh)[:, :2], values(b)[:, :2])


def test_a_declared_range_is_scaled() -> None:
    a, b = episode(contract()), episode(contract(gripper_range=(-1.0, 1.0)), seed=1)
    fresh = merge([a], [b])[1]
    assert np.allclose(values(fresh)[:, 2], (values(b)[:, 2] + 1) / 2)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), mode=st.sampled_from(["delta", "velocity"]))
def test_steps_become_places_and_steps_again(seed: int, mode: str) -> None:
    absolute, steps = contract(), contract(action_mode=mode, action_reference="last command")
    if mode == "velocity":
        steps = replace(steps, action_reference=Stated())
    b = episode(steps, seed)
    there = converted(b, absolute, given=("action_reference",))
    size = 0.1 if mode == "velocity" else 1.0
    moved = np.diff(values(there)[:, :2], axis=0)
    assert np.allclose(moved, size * values(b)[1:, :2])
    assert not record(there)[0]["exact"]
    back = converted(there, steps, given=("action_reference",))
    assert np.allclose(values(back)[1:], values(b)[1:])


def test_a_delta_to_the_current_state_becomes_absolute_exactly() -> None:
    b = episode(contract(action_mode="delta", action_reference="current state"))
    fresh = converted(b, contract(), given=("action_reference",))
    added = values(b)[:, :2] + values(b, "observation.state")[:, :2]
    assert np.allclose(values(fresh)[:, :2], added)
    assert record(fresh)[0]["exact"]


def quaternion(order: str) -> Episode:
    rng = np.random.default_rng(0)
    q = rng.standard_normal((T, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    times = np.arange(T) / 10.0
    pose = np.hstack([rng.uniform(1, 2, (T, 3)), q])
    columns = tuple("abcdefg")
    under = Contract(
        features=(
            Feature(key="observation.pose", columns=columns, rotation=declared(order)),
            Feature(key="action", columns=("x",), unit=declared("m")),
        ),
        action_space=declared("end_effector"),
        action_mode=declared("absolute"),
    )
    signals = {
        "observation.pose": Signal(
            name="observation.pose", unit="raw", columns=columns, times=times, values=pose
        ),
        "action": Signal(name="action", unit="m", columns=("x",), times=times, values=pose[:, :1]),
    }
    return Episode(signals=signals, contract=under)


def test_quaternions_change_their_order() -> None:
    a, b = quaternion("wxyz"), quaternion("xyzw")
    fresh = merge([a], [b])[1]
    before, after = values(b, "observation.pose"), values(fresh, "observation.pose")
    assert np.allclose(after[:, 3:], before[:, [6, 3, 4, 5]])
    assert np.allclose(after[:, :3], before[:, :3])


def test_facts_go_along() -> None:
    b = episode(contract(unit=("deg", "deg", "1")))
    label = Label(subject=b.id, key="outcome", value={"success": True}, author="anna")
    fresh = converted(replace(b, facts=(label,)), contract())
    assert fresh.success is True
    assert all(f.subject == fresh.id for f in fresh.facts)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"action_space": "end_effector"}, "action_space"),
        ({"log_rate": 50.0}, "log_rate"),
        ({"control_rate": 5.0}, "control_rate"),
        ({"action_mode": "torque"}, "action_mode"),
        ({"action_mode": Stated()}, "action_mode"),
        ({"gripper_polarity": Stated()}, "gripper_polarity"),
        ({"unit": ("rad", "N", "1")}, "unit"),
        ({"columns": ("shoulder", "wrist", "gripper")}, "columns"),
        (
            {"gripper_polarity": Stated(value=CLOSED_HIGH, source="inferred", confidence=0.7)},
            "gripper_polarity",
        ),
        ({"gripper_polarity": CLOSED_HIGH, "gripper_range": Stated()}, "gripper_range"),
    ],
)  # fmt: skip
def test_what_cannot_be_converted_is_refused_by_name(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ContractError, match=named):
        merge([episode(contract())], [episode(contract(**fields), seed=1)])


def test_ticks_and_frames_are_refused() -> None:
    ticks = contract(unit=("ticks", "ticks", "1"))
    with pytest.raises(ContractError, match=r"action\.unit"):
        converted(episode(ticks), contract())
    a, b = contract(), contract()
    framed = replace(a, features=tuple(replace(f, frame=declared("base")) for f in a.features))
    other = replace(b, features=tuple(replace(f, frame=declared("tool")) for f in b.features))
    with pytest.raises(ContractError, match="frame"):
        converted(episode(other), framed)


def test_what_both_leave_out_can_be_given() -> None:
    a = contract(gripper_polarity=Stated())
    with pytest.raises(ContractError, match="gripper_polarity"):
        converted(episode(a), a)
    same = episode(a)
    assert converted(same, a, given=("gripper_polarity",)) is same


def test_compare_names_the_field() -> None:
    a, b = contract(), contract(unit=("deg", "deg", "1"), gripper_polarity=Stated(), log_rate=10.05)
    found = {d.field: d for d in compare(a, b)}
    assert found["action.unit"].verdict == "differs"
    assert found["gripper_polarity"].verdict == "unstated"
    assert "log_rate" not in found  # half a percent
    assert compare(a, a) == ()


def test_what_was_seen_of_a_range_is_the_range() -> None:
    assert compare(contract(), contract(gripper_range=(0.01, 0.98))) == ()
    found = compare(contract(), contract(gripper_range=(-1.0, 1.0)))
    assert [d.field for d in found] == ["gripper_range"]


def test_lags_agree_where_their_intervals_meet() -> None:
    one = contract(lag={"seconds": 0.1, "lo": 0.08, "hi": 0.12})
    near = contract(lag={"seconds": 0.13, "lo": 0.11, "hi": 0.15})
    far = contract(lag={"seconds": 0.3, "lo": 0.28, "hi": 0.32})
    assert compare(one, near) == ()
    assert [d.field for d in compare(one, far)] == ["lag"]


def test_a_runner_stops_at_a_difference() -> None:
    require_agreement(contract(), contract())
    with pytest.raises(ContractError, match=r"action_mode.*absolute.*delta"):
        require_agreement(contract(), contract(action_mode="delta"))
