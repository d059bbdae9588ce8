"""Random robots whose logs follow a contract that is known: what inference is measured on.

`pair(seed)` draws a robot, some episodes of it, and a contract: units, action space and mode,
which command drives which reading and with what sign, quaternion order, gripper polarity,
lag, control rate. The log states feature keys and column names and nothing else. Nothing here
is shared with `gaploop.ingest.contracts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaploop.core import Contract, Episode, Feature, Signal, generator
from gaploop.testing.contracts_robot import (
    SUBSTEPS,
    Arm,
    arm,
    follow,
    grip,
    reference,
    roll_pitch_yaw,
    rotation_vector,
    tool_pose,
    turned,
)

UNITS = {"rad": 1.0, "deg": 57.29577951308232, "ticks": 4096 / 6.283185307179586}
"""Joint unit to numbers a radian; ticks count from 2048 and are whole."""
_TURNS = ("q0", "q1", "q2", "q3")
LENGTHS = {"m": 1.0, "mm": 1000.0}
OPEN_HIGH, CLOSED_HIGH = "1 = open", "1 = closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """All that is drawn about one pair, before any episode."""

    mode: str
    space: str
    reference: str
    state_unit: str
    action_unit: str
    length: str
    order: tuple[int, ...]
    """Reading column that command i drives."""
    signs: tuple[int, ...]
    rotation: str
    positive: bool
    """Quaternions are flipped so that w is never negative."""
    polarity: str
    state_polarity: str
    command_scale: tuple[float, float]
    """Numbers sent for closed and open, before polarity."""
    state_scale: tuple[float, float]
    relabelled: bool
    """Actions are the next readings, not commands."""
    hold: int
    """Log frames a command is held."""
    rate: float
    """Hz of the log."""
    lag: float
    """Frames."""
    snr: float
    """Spread of a joint over the standard deviation of its noise."""
    closed_first: bool
    object_width: float
    misses: float
    """Share of grasps that close on nothing."""
    named: bool
    """Columns have names; else numbers, and which one is the gripper is not said."""
    joints: bool
    """Joint angles are logged; without them the state is the gripper alone."""
    still: int
    """A joint that nobody moves; -1 where all move."""
    per_unit: float
    """Metres a delta of 1 means, radians ten times that; 0 where deltas are in the pose's unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A robot's logs and the contract they follow."""

    seed: int
    draw: Draw
    episodes: tuple[Episode, ...]
    declared: Contract
    """What the source states: keys and columns."""
    truth: Mapping[str, Any]
    """state_unit, action_unit, pose_unit, joint_map, action_space, action_mode,
    action_reference, rotation, gripper_polarity, role, control_rate (Hz), lag (frames);
    without a key where the question does not arise."""


def pair(seed: int, *, snr: float = 10.0, lag: float | None = None, **fixed: Any) -> Pair:
    """Pair `seed`; `fixed` sets fields of its Draw, the others stay as they were drawn."""
    rng = generator(seed, "testing", "contracts")
    wanted = float(rng.uniform(0.0, 12.0))
    robot = arm(rng, wanted if lag is None else lag)
    drawn = replace(_draw(rng, robot, wanted if lag is None else lag, snr), **fixed)
    if drawn.mode != "absolute":  # what a step that is repeated would mean differs by robot
        drawn = replace(drawn, hold=1)
    count = int(rng.integers(4, 13))
    frames = [int(rng.integers(5, 13) * drawn.rate) for _ in range(count)]
    made = [
        _episode(generator(seed, "testing", "contracts", i), robot, drawn, t, i)
        for i, t in enumerate(frames)
    ]
    episodes = [e for e, _ in made]
    declared = Contract(
        features=tuple(Feature(key=k, columns=s.columns) for k, s in episodes[0].signals.items())
    )
    return Pair(
        seed=seed,
        draw=drawn,
        episodes=tuple(replace(e, contract=declared) for e in episodes),
        declared=declared,
        truth=_truth(drawn, float(np.median([trailing for _, trailing in made]))),
    )


def shifted(pair: Pair, frames: int, odd: np.ndarray) -> tuple[Episode, ...]:
    """The episodes with the action rows of those marked in `odd` (E,) stored `frames` late."""
    return tuple(
        _late(e, frames) if mark else e for e, mark in zip(pair.episodes, odd, strict=True)
    )


def _late(episode: Episode, frames: int) -> Episode:
    signals = {}
    for key, s in episode.signals.items():
        rows = len(s.values) - abs(frames)
        ahead = key == "action"
        start = (0 if ahead else frames) if frames >= 0 else (-frames if ahead else 0)
        signals[key] = replace(s, times=s.times[:rows], values=s.values[start : start + rows])
    return replace(episode, signals=signals)


def _draw(rng: np.random.Generator, robot: Arm, lag: float, snr: float) -> Draw:
    n = len(robot.axes)
    space = "joint" if rng.random() < 0.6 else "end_effector"
    joints = space == "joint" or rng.random() < 0.7
    mode = str(rng.choice(["absolute", "delta", "velocity"], p=[0.55, 0.3, 0.15]))
    if space == "end_effector" and mode == "velocity":
        mode = "delta"
    state = str(rng.choice(["rad", "deg", "ticks"], p=[0.45, 0.4, 0.15]))
    other = "deg" if state == "rad" else "rad"
    action = other if mode == "absolute" and rng.random() < 0.15 else state
    order, signs = np.arange(n), np.ones(n, int)
    if space == "joint":
        if rng.random() < 0.35:
            i, j = rng.choice(n, 2, replace=False)
            order[[i, j]] = order[[j, i]]
        if rng.random() < 0.35:
            signs[rng.choice(n, int(rng.integers(1, 3)), replace=False)] = -1
    polarity = str(rng.choice([OPEN_HIGH, CLOSED_HIGH]))
    scales = [(0.0, 1.0), (-1.0, 1.0), (0.0, 255.0), (0.0, 100.0)]
    same = rng.random() < 0.85
    turned_over = CLOSED_HIGH if polarity == OPEN_HIGH else OPEN_HIGH
    return Draw(
        mode=mode,
        space=space,
        reference="current state" if mode == "delta" and rng.random() < 0.25 else "last command",
        state_unit=state,
        action_unit=action,
        length=str(rng.choice(["m", "mm"], p=[0.75, 0.25])),
        order=tuple(int(k) for k in order),
        signs=tuple(int(k) for k in signs),
        rotation=str(rng.choice(["wxyz", "xyzw", "rpy", "axis_angle"], p=[0.4, 0.4, 0.1, 0.1])),
        positive=bool(rng.random() < 0.5),
        polarity=polarity,
        state_polarity=polarity if same else turned_over,
        command_scale=scales[int(rng.integers(4))],
        state_scale=[*scales, (0.0, 0.08)][int(rng.integers(5))],
        relabelled=bool(mode == "absolute" and action == state and rng.random() < 0.12),
        hold=int(rng.choice([1, 2, 3, 5], p=[0.7, 0.1, 0.1, 0.1])),
        rate=float(rng.choice([10, 15, 20, 30, 50], p=[0.1, 0.2, 0.2, 0.3, 0.2])),
        lag=lag,
        snr=snr,
        closed_first=bool(rng.random() < 0.1),
        object_width=float(rng.uniform(0.2, 0.7)),
        misses=float(rng.choice([0.0, 0.15, 0.4])),
        named=bool(rng.random() < 0.75),
        joints=joints,
        still=int(rng.integers(n)) if rng.random() < 0.08 else -1,
        per_unit=0.05 if space == "end_effector" and rng.random() < 0.25 else 0.0,
    )


def _episode(
    rng: np.random.Generator, robot: Arm, d: Draw, frames: int, index: int
) -> tuple[Episode, float]:
    """An episode, and the frames by which its joints trail their commands."""
    fine, rests = reference(rng, robot.home, frames, d.rate)
    if d.still >= 0:
        fine[:, d.still] = robot.home[d.still]
    if d.hold > 1:  # the robot gets what the slower controller sends, in steps
        block = SUBSTEPS * d.hold
        fine = fine[(np.arange(len(fine)) // block) * block]
    path = follow(robot, fine)
    joints = path[::SUBSTEPS][:frames]
    wanted = fine[::SUBSTEPS][:frames]
    n = joints.shape[1]
    noise = rng.standard_normal((frames, n)) * joints.std(axis=0) / d.snr
    seen = joints + noise
    place, spin = tool_pose(robot, joints)
    place = place + rng.standard_normal(place.shape) * place.std(axis=0) / d.snr
    spin = _noisy(rng, spin, 0.5 * np.ptp(joints, axis=0).mean() / 10 / d.snr)
    command, opening = grip(
        rng, frames, rests, float(np.clip(d.object_width * rng.normal(1, 0.05), 0.1, 0.8)),
        closed=d.closed_first, caught=bool(rng.random() >= d.misses),
        speed=float(rng.uniform(2.0, 5.0)) / d.rate, lag=d.lag,
    )  # fmt: skip
    state = np.empty((frames, n + 1))
    state[:, list(d.order)] = _joint(seen * np.array(d.signs), d.state_unit)
    state[:, n] = _scaled(opening + 0.003 * rng.standard_normal(frames), d.state_scale,
                          d.state_polarity)  # fmt: skip
    sent = _scaled(command, d.command_scale, d.polarity)
    names = (*(f"joint_{j}" for j in range(n)), "gripper")
    if not d.joints:
        state, names = state[:, n:], names[n:]
    stored = _quaternion(spin, d)
    pose = np.hstack([place * LENGTHS[d.length], stored])
    if d.space == "joint":
        labels, action = names, np.empty((frames, n + 1))
        action[:, :n] = _joint_action(wanted, seen, d)
        if d.relabelled:
            action[:, :n] = _next(_joint(seen, d.action_unit))
    else:
        labels, body = _tool_action(robot, wanted, place, spin, pose, d)
        labels, action = (*labels, "gripper"), np.empty((frames, body.shape[1] + 1))
        action[:, :-1] = body
    action[:, -1] = sent
    times = np.arange(frames) / d.rate
    table = {
        "action": (labels, action),
        "observation.pose": (("x", "y", "z", *_TURNS[: stored.shape[1]]), pose),
        "observation.state": (names, state),
    }
    if not d.named:
        table = {
            k: (tuple(f"{k}_{i}" for i in range(len(c))), v) if k != "observation.pose" else (c, v)
            for k, (c, v) in table.items()
        }
    episode = Episode(
        signals={
            key: Signal(
                name=key, unit="raw", columns=columns, times=times, values=values.astype("f4")
            )
            for key, (columns, values) in table.items()
        },
        robot="generated",
        source=f"generated:{index}",
    )
    return episode, _trailing(wanted, path[: frames * SUBSTEPS])


def _trailing(rows: np.ndarray, path: np.ndarray) -> float:
    """Frames by which a path (T * SUBSTEPS, n) without noise trails its logged commands (T, n).

    The shift at which the two differ least, over all joints together. Friction counts: a
    joint that sticks trails by more than its delay and its servo say.
    """
    grid = np.arange(len(path)) / SUBSTEPS
    sent = np.stack([np.interp(grid, np.arange(len(rows)), c) for c in rows.T], axis=1)
    far = 16 * SUBSTEPS
    if len(path) < 2 * far:
        return float("nan")
    cost = []
    for k in range(far):
        away = path[far:] - sent[far - k : len(sent) - k]
        cost.append(float(np.var(away, axis=0).sum()))
    best = int(np.argmin(cost))
    if not 0 < best < far - 1:
        return best / SUBSTEPS
    left, middle, right = cost[best - 1 : best + 2]
    return (best + 0.5 * (left - right) / (left - 2 * middle + right)) / SUBSTEPS


def _joint(q: np.ndarray, unit: str) -> np.ndarray:
    return np.rint(q * UNITS[unit] + 2048) if unit == "ticks" else q * UNITS[unit]


def _joint_action(wanted: np.ndarray, seen: np.ndarray, d: Draw) -> np.ndarray:
    """(T, n) commands, column i for joint i."""
    if d.mode == "absolute":
        return _joint(wanted, d.action_unit)
    factor = UNITS[d.action_unit]
    if d.mode == "delta" and d.reference == "current state":
        return (wanted - seen) * factor
    steps = np.diff(wanted, axis=0, prepend=wanted[:1])
    return steps * factor * (d.rate if d.mode == "velocity" else 1.0)


def _tool_action(
    robot: Arm, wanted: np.ndarray, place: np.ndarray, spin: np.ndarray, pose: np.ndarray, d: Draw
) -> tuple[tuple[str, ...], np.ndarray]:
    """Column names and (T, 7) absolute poses or (T, 6) deltas in the base frame."""
    goal, turn = tool_pose(robot, wanted)
    if d.mode == "absolute":
        labels = ("x", "y", "z", *_TURNS[: pose.shape[1] - 3])
        if d.relabelled:
            return labels, _next(pose)
        return labels, np.hstack([goal * LENGTHS[d.length], _quaternion(turn, d)])
    labels = ("dx", "dy", "dz", "rx", "ry", "rz")
    if d.reference == "current state":
        both = np.stack([spin, turn], axis=1)
        away = np.stack([turned(b)[1] for b in both])
        return labels, _deltas(goal - place, away, d)
    return labels, _deltas(np.diff(goal, axis=0, prepend=goal[:1]), turned(turn), d)


def _deltas(move: np.ndarray, turn: np.ndarray, d: Draw) -> np.ndarray:
    if d.per_unit:
        return np.hstack([move / d.per_unit, turn / (10 * d.per_unit)])
    return np.hstack([move * LENGTHS[d.length], turn])


def _quaternion(q: np.ndarray, d: Draw) -> np.ndarray:
    """(T, 4) as the log stores it, sign and order, or (T, 3) angles."""
    if d.rotation in ("rpy", "axis_angle"):
        return (roll_pitch_yaw if d.rotation == "rpy" else rotation_vector)(q)
    if d.positive:
        q = q * np.where(q[:, :1] < 0, -1.0, 1.0)
    else:
        q = (
            q
            * np.cumprod(np.where((q * np.roll(q, 1, axis=0)).sum(axis=1) < 0, -1.0, 1.0))[:, None]
        )
    return q if d.rotation == "wxyz" else q[:, [1, 2, 3, 0]]


def _noisy(rng: np.random.Generator, q: np.ndarray, sd: float) -> np.ndarray:
    q = q + 0.5 * sd * rng.standard_normal(q.shape)
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def _next(rows: np.ndarray) -> np.ndarray:
    return np.vstack([rows[1:], rows[-1:]])


def _scaled(opening: np.ndarray, scale: tuple[float, float], polarity: str) -> np.ndarray:
    share = opening if polarity == OPEN_HIGH or scale[1] < 0.1 else 1.0 - opening
    return scale[0] + share * (scale[1] - scale[0])


def _truth(d: Draw, trailing: float) -> dict[str, Any]:
    truth: dict[str, Any] = {
        "pose_unit": d.length,
        "action_space": d.space,
        "action_mode": d.mode,
        "rotation": d.rotation,
        "gripper_polarity": d.polarity,
        "role": "state" if d.relabelled else "command",
    }
    if d.joints:
        truth["state_unit"] = d.state_unit
    if d.mode == "delta":
        truth["action_reference"] = d.reference
    if d.space == "joint":
        truth["action_unit"] = d.action_unit
        truth["joint_map"] = {"order": d.order, "signs": d.signs}
    elif d.mode == "absolute" or not d.per_unit:
        truth["action_unit"] = d.length
    if not d.relabelled and d.reference == "last command":
        truth["lag"] = trailing
        truth["control_rate"] = d.rate / d.hold
    return truth
