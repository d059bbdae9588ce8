"""What a log does not say about its numbers, inferred from robots whose truth is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaploop.core import Contract, Episode, Feature, Signal, Stated, declared
from gaploop.ingest.contracts import infer, shifted
from gaploop.ingest.contracts.gripper import CLOSED_HIGH, OPEN_HIGH, polarity
from gaploop.ingest.contracts.rotation import angle_form, quaternion_order
from gaploop.ingest.contracts.scale import joint_unit, length_unit
from gaploop.ingest.contracts.turns import from_angles, ordered, stored, vectors
from gaploop.testing.contracts import Pair, pair
from gaploop.testing.contracts import shifted as store_shifted


def said(p: Pair) -> Contract:
    return infer(p.episodes, p.declared)


def test_a_plain_robot_is_understood() -> None:
    p = pair(4, mode="absolute", space="joint", joints=True, relabelled=False, hold=1)
    found = said(p)
    assert found.action_space.value == "joint"
    assert found.action_mode.value == "absolute"
    assert found.joint_map.value == p.truth["joint_map"]
    state, action = found.feature("observation.state"), found.feature("action")
    assert state is not None
    assert action is not None
    assert state.unit.value == p.truth["state_unit"]
    assert action.unit.value == p.truth["action_unit"]
    assert action.role.value == "joint_command"
    lag = found.lag.value
    assert abs(lag["seconds"] * p.draw.rate - p.truth["lag"]) < 0.5
    assert lag["lo"] < lag["seconds"] < lag["hi"]


def test_swapped_and_flipped_joints_are_told_apart() -> None:
    n = 6
    order, signs = (0, 3, 2, 1, 4, 5), (1, 1, -1, 1, 1, 1)
    p = pair(9, mode="absolute", space="joint", joints=True, still=-1, relabelled=False)
    if len(p.draw.order) != n:
        order, signs = (0, 3, 2, 1, 4), (1, 1, -1, 1, 1)
    if len(p.draw.order) == 7:
        order, signs = (0, 3, 2, 1, 4, 5, 6), (1, 1, -1, 1, 1, 1, 1)
    p = pair(
        9, mode="absolute", space="joint", joints=True, still=-1, relabelled=False,
        order=order, signs=signs,
    )  # fmt: skip
    assert said(p).joint_map.value == {"order": order, "signs": signs}


@pytest.mark.parametrize("mode", ["delta", "velocity"])
def test_steps_and_speeds_are_told_apart(mode: str) -> None:
    p = pair(12, mode=mode, space="joint", joints=True, reference="last command", hold=1)
    assert said(p).action_mode.value == mode


def test_a_delta_to_the_current_state_is_not_one_to_the_last_command() -> None:
    p = pair(12, mode="delta", space="joint", joints=True, reference="current state", hold=1)
    found = said(p)
    assert found.action_mode.value == "delta"
    assert found.action_reference.value == "current state"
    assert found.lag.value is None


def test_relabelled_readings_are_no_commands() -> None:
    p = pair(5, mode="absolute", space="joint", joints=True, relabelled=True, hold=1,
             action_unit="rad", state_unit="rad")  # fmt: skip
    found = said(p)
    action = found.feature("action")
    assert action is not None
    assert action.role.value == "joint_state"
    assert found.lag.value is None


def test_what_is_declared_stays() -> None:
    p = pair(4, mode="absolute", space="joint", joints=True)
    stated = replace(
        p.declared,
        action_mode=declared("torque"),
        features=tuple(
            replace(f, unit=declared("furlong")) if f.key == "observation.state" else f
            for f in p.declared.features
        ),
    )
    found = infer(p.episodes, stated)
    assert found.action_mode == declared("torque")
    state = found.feature("observation.state")
    assert state is not None
    assert state.unit.value == "furlong"


def test_what_is_assumed_gives_way_to_surer_inference() -> None:
    p = pair(4, mode="absolute", space="joint", joints=True)
    weak = Stated(value="velocity", source="assumed", confidence=0.6)
    strong = Stated(value="velocity", source="assumed", confidence=0.999)
    assert infer(p.episodes, replace(p.declared, action_mode=weak)).action_mode.value == "absolute"
    assert infer(p.episodes, replace(p.declared, action_mode=strong)).action_mode == strong


def test_nothing_follows_a_torque_as_it_follows_a_place() -> None:
    p = pair(4, mode="absolute", space="joint", joints=True)
    found = infer(p.episodes, replace(p.declared, action_mode=declared("torque")))
    assert found.lag.value is None
    assert found.joint_map.value is None
    tool = infer(p.episodes, replace(p.declared, action_space=declared("end_effector")))
    assert tool.joint_map.value is None


def test_measured_turns_tell_the_order_of_a_quaternion() -> None:
    attitudes, _ = chain("xyzw")
    rates = [
        np.vstack([np.zeros(3), 20.0 * vectors(ordered(q, "xyzw"), 1, body=True)])
        for q in attitudes
    ]
    found = quaternion_order(attitudes, rates=rates)
    assert found.value == "xyzw"
    assert found.confidence > 0.9


def test_silence_is_answered_with_silence() -> None:
    times = np.arange(50) / 10.0
    still = {
        "action": Signal(name="action", columns=("a", "b"), times=times, values=np.zeros((50, 2))),
        "observation.state": Signal(
            name="observation.state", columns=("a", "b"), times=times, values=np.ones((50, 2))
        ),
    }
    found = infer([Episode(signals=still)], Contract())
    assert found.action_mode.value is None
    assert found.joint_map.value is None
    assert found.lag.value is None
    assert all(f.unit.value is None for f in found.features)
    assert infer([], None) == Contract()


def test_noise_that_follows_nothing_stays_unknown() -> None:
    rng = np.random.default_rng(0)
    times = np.arange(200) / 20.0
    episodes = [
        Episode(
            signals={
                key: Signal(name=key, columns=("a", "b", "c"), times=times,
                            values=rng.standard_normal((200, 3)))
                for key in ("action", "observation.state")
            }
        )
        for _ in range(4)
    ]  # fmt: skip
    found = infer(episodes, Contract())
    assert found.action_mode.value is None
    assert found.joint_map.value is None


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_log_is_too_odd_to_be_asked(seed: int) -> None:
    rng = np.random.default_rng(seed)
    width = int(rng.choice([1, 3, 4, 6, 7, 8]))

    def odd(key: str) -> Signal:
        rows = int(rng.choice([0, 1, 5, 12, 30]))
        values = rng.standard_normal((rows, width if rng.random() < 0.8 else width + 1))
        kind = rng.integers(7)
        if kind == 0:
            values[rng.random(values.shape) < 0.1] = np.nan
        elif kind == 1:
            values = np.round(values)
        elif kind == 2:
            values = values * 1e30
        elif kind == 3:
            values[:] = 1.0
        elif kind == 4 and values.shape[1] >= 4:
            values[:, :4] /= np.linalg.norm(values[:, :4], axis=1, keepdims=True) + 1e-300
        elif kind == 5:
            values = values[:, :1].reshape(-1)
        times = np.cumsum(rng.exponential(0.1, rows))
        if rng.random() < 0.2:
            times = times[::-1].copy()
        names = (*(f"c{i}" for i in range(width - 1)), "gripper")
        return Signal(name=key, columns=names if rng.random() < 0.7 else (), times=times,
                      values=values)  # fmt: skip

    keys = ["action", "observation.state", "observation.pose", "observation.gyro"]
    episodes = [
        Episode(signals={k: odd(k) for k in keys if rng.random() < 0.8})
        for _ in range(int(rng.integers(1, 5)))
    ]
    found = infer(episodes, Contract())
    assert all(0 <= getattr(found, f).confidence <= 1 for f in ("action_mode", "lag", "joint_map"))
    shifted(episodes, Contract())


@pytest.mark.slow
def test_over_some_robots_nothing_is_wrong_and_sure() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
        from benchmarks._logs_contracts import inference

    table = inference(range(70, 76))["all"]
    assert table["sure"] == 0
    assert table["right"] > 0.9 * (table["right"] + table["wrong"] + table["unknown"])


@pytest.mark.parametrize("frames", [4, -6])
def test_shifted_episodes_are_named(frames: int) -> None:
    p = pair(13, mode="absolute", space="joint", joints=True, relabelled=False, hold=1)
    odd = np.arange(len(p.episodes)) % 2 == 1
    # two equal halves: only who knows the robot's lag can say which is off
    stated = replace(p.declared, lag=declared(p.truth["lag"] / p.draw.rate))
    found = shifted(store_shifted(p, frames, odd), stated)
    assert set(found.odd) == set(np.flatnonzero(odd).tolist())
    assert ("later" if frames > 0 else "earlier") in found.message
    assert shifted(p.episodes, stated).odd == ()


def test_equal_halves_without_a_known_lag_are_told_with_doubt() -> None:
    p = pair(13, mode="absolute", space="joint", joints=True, relabelled=False, hold=1, lag=7.0)
    odd = np.arange(len(p.episodes)) % 2 == 1
    found = shifted(store_shifted(p, 3, odd), p.declared)
    assert found.sure < 0.7
    assert "cannot say" in found.message


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        (np.array([[0.1, -1.2], [1.0, 0.3]]), "rad"),
        (np.array([[10.0, -90.0], [70.0, 30.0]]), "deg"),
        (np.array([[2048.0, 1024.0], [3000.0, 1500.0]]), "ticks"),
        (np.array([[0.0, -100.0], [70.0, 100.0]]) + 1e-9, None),
        (np.zeros((5, 2)), None),
    ],
)
def test_joint_units_by_size(values: np.ndarray, unit: str | None) -> None:
    assert joint_unit(values)[0] == unit


def test_a_swing_up_in_rad_is_not_sure_to_be_degrees() -> None:
    name, sure = joint_unit(np.linspace(-15.7, 1.9, 100)[:, None])
    assert name != "deg" or sure < 0.9


def test_place_units_by_size() -> None:
    path = np.array([[0.3, 0.1, 0.2], [0.5, -0.2, 0.4]])
    assert length_unit(path)[0] == "m"
    assert length_unit(1000 * path)[0] == "mm"
    assert length_unit(np.ones((4, 3)))[0] is None


def chain(kind: str, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Attitudes of a three-hinge chain z y x, and its angles."""
    rng = np.random.default_rng(seed)
    attitudes, joints = [], []
    for _ in range(4):
        t = np.arange(300) / 20.0
        theta = np.stack(
            [np.sin(t * rng.uniform(0.3, 1) + rng.uniform(0, 6)) for _ in range(3)], axis=1
        )  # fmt: skip
        q = from_angles(theta, "ypr")
        attitudes.append(stored(q, kind) if kind in ("wxyz", "xyzw") else _angles(theta, kind))
        joints.append(theta)
    return attitudes, joints


def _angles(theta: np.ndarray, kind: str) -> np.ndarray:
    return theta[:, ::-1] if kind == "rpy" else theta


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_a_chain_tells_the_order_of_a_quaternion(order: str) -> None:
    attitudes, joints = chain(order)
    found = quaternion_order(attitudes, joints)
    assert found.value == order
    assert found.confidence > 0.9


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_commanded_turns_tell_the_order_too(order: str) -> None:
    attitudes, _ = chain(order)
    told = [np.vstack([np.zeros(3), vectors(ordered(q, order), 1)]) for q in attitudes]
    assert quaternion_order(attitudes, commands=told).value == order


def test_a_quaternion_alone_is_no_proof() -> None:
    attitudes, _ = chain("wxyz")
    found = quaternion_order(attitudes)
    assert found.confidence < 0.9


@pytest.mark.parametrize("kind", ["rpy", "ypr"])
def test_a_chain_tells_the_form_of_three_angles(kind: str) -> None:
    attitudes, joints = chain(kind)
    assert angle_form(attitudes, joints).value == kind


def hand(low_is_closed: bool, misses: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Commands that begin with a closed hand, and readings stopped by objects."""
    rng = np.random.default_rng(1)
    commands, readings = [], []
    for i in range(8):
        c = np.repeat([0.0, 1.0, 0.0, 1.0], 30)
        y = np.concatenate([[c[0]] * 3, c[:-3]]).astype(float)
        if not (misses and i % 3 == 0):
            y = np.where(np.arange(120) > 60, np.maximum(y, 0.3 + 0.1 * rng.random()), y)
        commands.append(c if low_is_closed else 1 - c)
        readings.append((y if low_is_closed else 1 - y) + 0.002 * rng.standard_normal(120))
    return commands, readings


@pytest.mark.parametrize("low_is_closed", [True, False])
def test_fingers_that_stop_short_tell_the_closed_end(low_is_closed: bool) -> None:
    found, span = polarity(*hand(low_is_closed, misses=True))
    assert found.value == (OPEN_HIGH if low_is_closed else CLOSED_HIGH)
    assert span.value == (0.0, 1.0)


def test_a_hand_that_never_moves_says_nothing() -> None:
    found, span = polarity([np.ones(40)], [np.ones(40)])
    assert found.value is None
    assert span.value is None


def test_features_nobody_declared_are_listed() -> None:
    p = pair(4)
    assert {f.key for f in infer(p.episodes, Contract()).features} == set(p.episodes[0].signals)
    assert Feature(key="x", columns=()) not in infer(p.episodes, Contract()).features
