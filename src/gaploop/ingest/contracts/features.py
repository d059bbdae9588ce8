"""What is known of each feature: role, unit a column, form of its rotation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaploop.core import UNKNOWN, Contract, Episode, Feature, Stated
from gaploop.ingest.contracts import action, rotation, scale
from gaploop.ingest.contracts.layout import Block, Layout, tables

RAW = "raw"
"""Unit of a column that nobody knows the unit of."""


def said(value: Any, confidence: float) -> Stated:
    """An inferred statement; unknown below even odds."""
    if value is None or confidence < 0.5:
        return UNKNOWN
    return Stated(value=value, source="inferred", confidence=round(float(confidence), 4))


def open_to(stated: Stated, found: Stated) -> bool:
    """Whether an inference may stand in place of what is stated."""
    if stated.source == "assumed":
        return found.value != stated.value and found.confidence > stated.confidence
    return stated.source == "unknown"


def filled(
    episodes: Sequence[Episode], stated: Contract, found: Layout, meant: action.Meaning,
    joint: Stated, length: Stated, dt: float,
) -> tuple[Feature, ...]:  # fmt: skip
    """The features as stated, with what could be inferred where nothing is.

    joint, length: units of joint readings and of places; dt: s between rows.
    """
    known = {f.key: f for f in stated.features}
    for key, signal in episodes[0].signals.items():
        known.setdefault(key, Feature(key=key, columns=signal.columns))
    widths = {k: s.values.size // max(len(s.values), 1) for k, s in episodes[0].signals.items()}
    turn = _rotation(episodes, found, meant, joint, dt, _spin(episodes, known))
    turning = found.quaternion or found.angles
    guesses: dict[str, dict[str, Stated]] = {}
    for key in {b.key for b in (found.joints, found.place, turning) if b}:
        parts = [(b, u) for b, u in _parts(found, joint, length) if b.key == key]
        place = found.place is not None and found.place.key == key
        role = ("tool_pose" if turning else "tool_position") if place else "joint_position"
        guesses[key] = {"unit": _unit(parts, widths[key]), "role": said(role, 0.9)}
    if turning is not None:
        guesses[turning.key]["rotation"] = turn
    if found.action is not None and meant.way is not None:
        guesses["action"] = _action(found, meant, turning, turn, widths["action"])
    return tuple(_filled(f, guesses.get(f.key, {})) for f in known.values())


def _parts(found: Layout, joint: Stated, length: Stated) -> list[tuple[Block, Stated]]:
    """Blocks of readings and their units."""
    angles, share = said("rad", 0.95), said("1", 0.99)
    parts = ((found.joints, joint), (found.place, length), (found.angles, angles),
             (found.quaternion, share))  # fmt: skip
    return [(block, unit) for block, unit in parts if block is not None]


def _unit(parts: Sequence[tuple[Block, Stated]], width: int) -> Stated:
    """One unit where a feature has one kind of number, else one a column; as sure as the least."""
    if any(unit.source == "unknown" for _, unit in parts):
        return UNKNOWN
    if len(parts) == 1:
        return parts[0][1]
    columns = [RAW] * width
    for block, unit in parts:
        for c in block.columns:
            columns[c] = str(unit.value)
    return said(tuple(columns), min(unit.confidence for _, unit in parts))


def _action(
    found: Layout, meant: action.Meaning, turning: Block | None, turn: Stated, width: int
) -> dict[str, Stated]:
    role, block = meant.role.value, found.action
    assert block is not None
    joint = meant.space.value == "joint"
    what = "joint" if joint else "tool"
    guesses = {"role": replace(meant.role, value=f"{what}_{role}") if role else UNKNOWN}
    if joint or meant.unit.source == "unknown":
        return {**guesses, "unit": meant.unit}
    absolute = meant.mode.value == "absolute"
    if absolute and turning is not None and len(block.columns) == 3 + len(turning.columns):
        guesses["rotation"] = turn
    rest = "1" if len(block.columns) == 7 else "rad" if absolute else meant.turns
    columns = [RAW] * width
    for i, c in enumerate(block.columns):
        columns[c] = str(meant.unit.value) if i < 3 else rest
    return {**guesses, "unit": said(tuple(columns), meant.unit.confidence)}


def _filled(feature: Feature, guesses: dict[str, Stated]) -> Feature:
    unsaid = {k: v for k, v in guesses.items() if open_to(getattr(feature, k), v)}
    return replace(feature, **unsaid)


def _rotation(
    episodes: Sequence[Episode], found: Layout, meant: action.Meaning, joint: Stated, dt: float,
    rates: list[np.ndarray] | None,
) -> Stated:  # fmt: skip
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
    shift = max(meant.way.fit.shift, 0) * meant.way.stride if meant.way else 0
    orders = (meant.joint_map.value["order"],) if meant.joint_map.value else ()
    if found.quaternion is None:
        return rotation.angle_form(
            tables(episodes, turning), joints, commands, shift=shift, orders=orders, dt=dt
        )
    return rotation.quaternion_order(
        tables(episodes, turning), joints, commands, rates, shift=shift, orders=orders,
        dt=dt,
    )  # fmt: skip


def _spin(episodes: Sequence[Episode], known: Mapping[str, Feature]) -> list[np.ndarray] | None:
    """Angular velocities: three columns that are stated, or named, to be that."""
    for key in sorted(episodes[0].signals):
        role = str(known[key].role.value) if key in known else ""
        named = key.startswith("observation.") and ("angular_vel" in key or "gyro" in key)
        if not named and "angular_velocity" not in role:
            continue
        values = [e.signals[key].values for e in episodes if key in e.signals]
        if len(values) == len(episodes) and all(v.ndim == 2 and v.shape[1] == 3 for v in values):
            return [np.asarray(v, float) for v in values]
    return None
