"""What a log does not say about its own numbers, inferred from them, or left unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaploop.core import UNKNOWN, Contract, Episode, Feature, Signal, Stated
from gaploop.ingest.contracts import action, gripper, rotation, scale, timing
from gaploop.ingest.contracts.layout import Block, Layout, layout, same_layout, sample, tables


def infer(episodes: Sequence[Episode], declared: Contract | None = None) -> Contract:
    """The contract of one robot's episodes: what is declared stays, the rest is inferred.

    Every inferred statement carries the probability that it is right; a field that the log
    cannot answer stays unknown.

    Args:
      episodes: of one robot and one recorder.
      declared: what the source states; the first episode's contract where it is None.
    """
    if not episodes:
        return declared or Contract()
    stated = declared if declared is not None else episodes[0].contract
    chosen = sample(episodes)
    if not chosen:
        return stated
    found = layout(chosen)
    log_rate, control_rate = timing.rates(chosen)
    dt = 1.0 / log_rate.value if log_rate.value else 1.0
    joint, length = _unit(chosen, found.joints, stated), _unit(chosen, found.place, stated)
    meant = action.meaning(chosen, found, dt, joint, length)
    answers: dict[str, Stated] = {
        "action_space": meant.space,
        "action_mode": meant.mode,
        "action_reference": meant.reference,
        "joint_map": meant.joint_map,
        "log_rate": log_rate,
        "control_rate": control_rate,
        "lag": timing.robot_lag(meant.way, dt) if meant.way else UNKNOWN,
    }
    if meant.role.value == "state":  # readings under another name have no lag of their own
        answers["lag"] = answers["control_rate"] = UNKNOWN
    answers["gripper_polarity"], answers["gripper_range"] = _gripper(chosen, found)
    features = _features(chosen, stated, found, meant, joint, length, dt)
    unsaid = {k: v for k, v in answers.items() if getattr(stated, k).source == "unknown"}
    return replace(stated, features=features, **unsaid)


def shifted(episodes: Sequence[Episode], declared: Contract | None = None) -> timing.Shifted:
    """Which of one robot's episodes have their actions stored off by some frames.

    Looks at every episode of at least 12 rows; nothing is named where commands mean nothing,
    or are told relative to the reading of the same row.
    """
    stated = declared or (episodes[0].contract if episodes else Contract())
    long = [i for i, e in enumerate(episodes) if len(e.signals.get("action", _NONE).times) >= 12]
    chosen = [episodes[i] for i in long]
    if len(chosen) < 4:
        return timing.Shifted(odd=(), lags=())
    some = sample(chosen)
    found = layout(some)
    log_rate, _ = timing.rates(some)
    dt = 1.0 / log_rate.value if log_rate.value else 1.0
    joint, length = _unit(some, found.joints, stated), _unit(some, found.place, stated)
    way = action.meaning(some, found, dt, joint, length).way
    if way is None or not same_layout(chosen, found):
        return timing.Shifted(odd=(), lags=())
    way = action.retold(way, chosen, found)
    answer = timing.shifted(way, expected=_frames(stated.lag, dt))
    return replace(answer, odd=tuple(long[i] for i in answer.odd))


def _frames(lag: Stated, dt: float) -> float | None:
    """A stated lag in frames."""
    value = lag.value.get("seconds") if isinstance(lag.value, Mapping) else lag.value
    return float(value) / dt if isinstance(value, (int, float)) else None


_NONE = Signal(name="", times=np.zeros(0), values=np.zeros((0, 1)))


def _unit(episodes: Sequence[Episode], block: Block | None, stated: Contract) -> Stated:
    """Unit of joints or of a place: declared, or by the size of the numbers."""
    if block is None:
        return UNKNOWN
    said = _declared_unit(stated, block)
    if said.source != "unknown":
        return said
    values = np.concatenate(tables(episodes, block))
    lengths = block.columns == () or (values.shape[1] == 3 and block.key != "observation.state")
    name, sure = scale.length_unit(values) if lengths else scale.joint_unit(values)
    return _said(name, sure)


def _declared_unit(stated: Contract, block: Block) -> Stated:
    feature = stated.feature(block.key)
    if feature is None or feature.unit.source == "unknown":
        return UNKNOWN
    value = feature.unit.value
    if isinstance(value, (tuple, list)):
        value = value[block.columns[0]] if block.columns[0] < len(value) else None
    return replace(feature.unit, value=value) if value is not None else UNKNOWN


def _gripper(episodes: Sequence[Episode], found: Layout) -> tuple[Stated, Stated]:
    if found.grip_command is None:
        return UNKNOWN, UNKNOWN
    sent = [t[:, 0] for t in tables(episodes, found.grip_command)]
    seen = None
    if found.grip_reading is not None:
        seen = [t[:, 0] for t in tables(episodes, found.grip_reading)]
    return gripper.polarity(sent, seen)


def _features(
    episodes: Sequence[Episode], stated: Contract, found: Layout, meant: action.Meaning,
    joint: Stated, length: Stated, dt: float,
) -> tuple[Feature, ...]:  # fmt: skip
    known = {f.key: f for f in stated.features}
    for key, signal in episodes[0].signals.items():
        known.setdefault(key, Feature(key=key, columns=signal.columns))
    turn = _rotation(episodes, found, meant, joint, dt)
    turning = found.quaternion or found.angles
    guesses: dict[str, dict[str, Stated]] = {}
    for block, unit, role in (
        (found.joints, joint, "joint_position"),
        (found.place, length, "tool_pose" if turning else "tool_position"),
    ):
        if block is not None:
            guesses.setdefault(block.key, {}).update(unit=unit, role=_said(role, 0.9))
    if found.action is not None and meant.way is not None:
        role = meant.role.value
        what = "joint" if meant.space.value == "joint" else "tool"
        guesses["action"] = {
            "unit": meant.unit,
            "role": replace(meant.role, value=f"{what}_{role}") if role else UNKNOWN,
        }
    if turning is not None:
        guesses.setdefault(turning.key, {})["rotation"] = turn
        absolute = meant.space.value == "end_effector" and meant.mode.value == "absolute"
        width = 3 + len(turning.columns)
        if absolute and found.action is not None and len(found.action.columns) == width:
            guesses["action"]["rotation"] = turn
    return tuple(_filled(f, guesses.get(f.key, {})) for f in known.values())


def _filled(feature: Feature, guesses: dict[str, Stated]) -> Feature:
    unsaid = {k: v for k, v in guesses.items() if getattr(feature, k).source == "unknown"}
    return replace(feature, **unsaid)


def _rotation(
    episodes: Sequence[Episode], found: Layout, meant: action.Meaning, joint: Stated, dt: float
) -> Stated:
    turning = found.quaternion or found.angles
    if turning is None:
        return UNKNOWN
    commands = None
    if (
        meant.way is not None
        and found.action is not None
        and meant.space.value == "end_effector"
        and meant.mode.value in ("delta", "velocity")
        and len(found.action.columns) == 6
    ):
        commands = [t[:, 3:6] for t in tables(episodes, found.action)]
    factor = scale.JOINT_UNITS.get(str(joint.value))
    joints = None
    if found.joints is not None and factor:
        joints = [t / factor for t in tables(episodes, found.joints)]
    shift = max(meant.way.fit.shift, 0) if meant.way else 0
    orders = (meant.joint_map.value["order"],) if meant.joint_map.value else ()
    if found.quaternion is None:
        return rotation.angle_form(
            tables(episodes, turning), joints, commands, shift=shift, orders=orders, dt=dt
        )
    return rotation.quaternion_order(
        tables(episodes, turning), joints, commands, _spin(episodes), shift=shift, orders=orders,
        dt=dt,
    )  # fmt: skip


def _spin(episodes: Sequence[Episode]) -> list[np.ndarray] | None:
    """Angular velocities, where a feature of three columns is named so."""
    for key in sorted(episodes[0].signals):
        if key.startswith("observation.") and ("angular_vel" in key or "gyro" in key):
            values = [e.signals[key].values for e in episodes if key in e.signals]
            if len(values) == len(episodes) and all(
                v.ndim == 2 and v.shape[1] == 3 for v in values
            ):
                return [np.asarray(v, float) for v in values]
    return None


def _said(value: Any, confidence: float) -> Stated:
    if value is None or confidence < 0.5:
        return UNKNOWN
    return Stated(value=value, source="inferred", confidence=round(float(confidence), 4))
