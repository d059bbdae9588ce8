"""The screen: one planted fault, one finding; nothing on a healthy log."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import Contract, Episode, Label, Signal, declared
from gaploop.ingest import QUARANTINE, ScreenConfig, screen


def _episode(seed: int = 0, frames: int = 200, **changes: Signal) -> Episode:
    rng = np.random.default_rng(seed)
    times = np.arange(frames) / 20.0
    action = np.stack(
        [np.sin(times * (1 + 0.1 * seed)), np.cos(0.7 * times + seed)], axis=1
    ) * [0.4, 0.3]  # fmt: skip
    state = np.roll(action, 2, axis=0) + 1e-3 * rng.standard_normal(action.shape)
    state[:2] = action[0]
    signals = {
        "action": Signal(name="action", unit="rad", columns=("a", "b"), times=times, values=action),
        "observation.state": Signal(
            name="observation.state", unit="rad", columns=("a", "b"), times=times, values=state
        ),
        **changes,
    }
    contract = Contract(action_mode=declared("absolute"), log_rate=declared(20.0))
    outcome = Label(subject="", key="outcome", value={"success": True}, author="test")
    return Episode(
        signals=signals, contract=contract, robot="arm", facts=(outcome,), source=f"log {seed}"
    )


def _with(episode: Episode, key: str, **parts: np.ndarray) -> Episode:
    signals = dict(episode.signals)
    signals[key] = replace(signals[key], **parts)
    return replace(episode, signals=signals)


def _state(episode: Episode) -> np.ndarray:
    return episode.signals["observation.state"].values.copy()


def _codes(found) -> dict[str, str]:
    # errors come first, so the worst severity of a code is kept
    return {f.code: f.severity for f in reversed(found.findings)}


def test_healthy_episodes_are_clean() -> None:
    episodes = [_episode(s) for s in range(4)]
    found = screen(episodes)
    assert found.clean == tuple(e.id for e in episodes)
    assert set(_codes(found)) == {"action_lag"}
    assert all(f.severity == "info" for f in found.findings)


@pytest.mark.parametrize(("value", "code"), [(np.nan, "nan"), (np.inf, "inf")])
def test_not_finite_names_column_and_row(value: float, code: str) -> None:
    state = _state(_episode())
    state[37, 1] = value
    bad = _with(_episode(), "observation.state", values=state)
    found = screen([bad, _episode(1)])
    finding = next(f for f in found.findings if f.code == code)
    assert finding.feature == "observation.state[b]"
    assert "row 37" in finding.message
    assert found.quarantined == (bad.id,)


def test_hole_and_order_of_stamps() -> None:
    times = np.arange(200) / 20.0
    hole, back = times.copy(), times.copy()
    hole[100:] += 0.5
    back[50:] -= 1.0
    for stamps, code in ((hole, "timestamp_gap"), (back, "timestamp_order")):
        bad = _with(_with(_episode(), "observation.state", times=stamps), "action", times=stamps)
        found = screen([bad])
        assert _codes(found)[code] == "error"
        assert found.quarantined == (bad.id,)


def test_one_lost_frame_is_a_warning_only() -> None:
    times = np.arange(200) / 20.0
    times[100:] += 0.05
    bad = _with(_with(_episode(), "observation.state", times=times), "action", times=times)
    found = screen([bad])
    assert _codes(found)["timestamp_gap"] == "warning"
    assert found.quarantined == ()


def test_declared_rate_against_stamps() -> None:
    times = np.arange(200) / 10.0
    bad = _with(_with(_episode(), "observation.state", times=times), "action", times=times)
    assert _codes(screen([bad]))["fps_mismatch"] == "error"


def test_dead_stream_is_kept_out_and_a_stuck_joint_is_not() -> None:
    dead, stuck = _state(_episode()), _state(_episode())
    dead[60:120] = dead[60]
    stuck[60:120, 0] = stuck[60, 0]
    one = _with(_episode(), "observation.state", values=dead)
    other = _with(_episode(), "observation.state", values=stuck)
    assert screen([one]).quarantined == (one.id,)
    found = screen([other])
    assert _codes(found)["frozen_signal"] == "warning"
    assert found.clean == (other.id,)


def test_rest_is_no_frozen_stream() -> None:
    action, state = _episode().signals["action"].values.copy(), _state(_episode())
    action[60:120], state[60:120] = action[60], state[60]
    resting = _with(_with(_episode(), "action", values=action), "observation.state", values=state)
    assert "frozen_signal" not in _codes(screen([resting]))


@pytest.mark.parametrize("factor", [180 / np.pi, np.pi / 180])
def test_degrees_for_radians_within_one_episode(factor: float) -> None:
    bad = _with(_episode(), "observation.state", values=_state(_episode()) * factor)
    found = screen([bad, _episode(1)])
    assert _codes(found)["unit_mismatch"] == "error"
    assert found.quarantined == (bad.id,)


def test_degrees_on_both_sides_of_one_episode_among_others() -> None:
    turned = _episode(3)
    for key in ("action", "observation.state"):
        turned = _with(turned, key, values=turned.signals[key].values * 180 / np.pi)
    found = screen([_episode(0), _episode(1), _episode(2), turned])
    assert turned.id in found.quarantined
    assert len(found.clean) == 3


def test_inverted_sign() -> None:
    state = _state(_episode())
    state[:, 0] *= -1
    bad = _with(_episode(), "observation.state", values=state)
    assert _codes(screen([bad]))["joint_sign"] == "error"


def test_lag_is_measured() -> None:
    found = next(f for f in screen([_episode()]).findings if f.code == "action_lag")
    assert "100 ms" in found.message


def test_a_joint_held_by_an_obstacle_is_not_inverted() -> None:
    state = _state(_episode())
    state[40:] = state[40] - 0.05 * _episode().signals["action"].values[40:]
    found = screen([_with(_episode(), "observation.state", values=state)])
    assert "joint_sign" not in _codes(found)


def test_copies_under_another_clock_are_found_once() -> None:
    shifted = _episode()
    for key in ("action", "observation.state"):
        shifted = _with(shifted, key, times=shifted.signals[key].times + 100.0)
    found = screen([_episode(), shifted])
    assert found.quarantined == (shifted.id,)
    same = screen([_episode(), _episode()])
    assert "duplicate_episode" in _codes(same)
    assert same.clean == (_episode().id,)


def test_constant_command_and_clipped_command() -> None:
    still = _with(_episode(), "action", values=np.ones((200, 2)))
    assert _codes(screen([still]))["constant_dimension"] == "warning"
    clipped = np.clip(_episode().signals["action"].values, -0.2, 0.2)
    assert _codes(screen([_with(_episode(), "action", values=clipped)]))["saturation"] == "warning"


def test_missing_outcome_is_said_and_keeps_nobody_out() -> None:
    open_one = replace(_episode(), facts=())
    found = screen([open_one])
    assert _codes(found)["missing_outcome"] == "warning"
    assert found.clean == (open_one.id,)


def test_too_short() -> None:
    found = screen([_episode(frames=6)])
    assert _codes(found)["episode_length"] == "error"
    assert screen([_episode(frames=6)], ScreenConfig(shortest=5)).quarantined == ()


def test_wrapped_integers() -> None:
    load = np.where(np.arange(200) % 20 < 10, 12.0, 65530.0)
    signal = Signal(name="observation.load", unit="raw", times=np.arange(200) / 20, values=load)
    assert _codes(screen([_episode(**{"observation.load": signal})]))["integer_wrap"] == "warning"


def test_every_quarantine_has_a_reason() -> None:
    assert all(len(reason.split()) > 3 for reason in QUARANTINE.values())


def test_no_episode_no_finding() -> None:
    assert screen([]).findings == ()


def test_real_servo_logs_are_clean(data: Path) -> None:
    from gaploop.ingest.readers.servo import ServoReader

    found = screen(ServoReader().read(data / "bam_xl330"))
    assert found.quarantined == ()
    assert {"integer_wrap", "missing_outcome"} <= set(_codes(found))


def test_planted_faults_in_real_logs(data: Path, write: Callable[..., Path]) -> None:
    from gaploop.ingest.readers.servo import read_servo_log

    log = json.loads(sorted((data / "bam_xl330").glob("*.json"))[0].read_text())
    for entry in log["entries"]:
        entry["position"] *= 180 / np.pi
    assert _codes(screen([read_servo_log(write(log))]))["unit_mismatch"] == "error"
