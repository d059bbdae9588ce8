"""A random arm with a gripper and what it does: the physics behind `testing.contracts`.

A serial chain of hinges follows a reference through a delay and a second-order servo with
Coulomb friction and droop; a gripper closes on objects of random width, or on nothing.
Written apart from anything that infers contracts: a mistake they shared would not show.
"""

from dataclasses import dataclass

import numpy as np

SUBSTEPS = 8
"""Integration steps a frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One robot. Angles rad, lengths m, times in frames of the log."""

    axes: np.ndarray
    """(n, 3) hinge axes in the link before them."""
    links: np.ndarray
    """(n, 3) m, from a hinge to the next."""
    home: np.ndarray
    """(n,) rad, middle of what it does."""
    tool: np.ndarray
    """(4,) w x y z, mounting of the tool."""
    delay: float
    """Frames from command to actuator."""
    servo: float
    """Frames: group delay of the servo at low frequency, 2 zeta / omega."""
    zeta: float
    friction: np.ndarray
    """(n,) rad the servo may stand off without moving."""
    droop: np.ndarray
    """(n,) rad of sag under gravity."""


def arm(rng: np.random.Generator, lag: float) -> Arm:
    """A random arm whose joints trail their commands by `lag` frames."""
    n = int(rng.integers(5, 8))
    plan = "zyyxyx" if n < 7 else "zyzyzyz"
    unit = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
    axes = np.array([unit[a] for a in plan[:n]], float) + rng.normal(0, 0.01, (n, 3))
    servo = min(lag, float(rng.uniform(0.2, 2.5)))
    tools = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0.7071, 0, 0.7071, 0], [0, 0.7071, 0.7071, 0]])
    return Arm(
        axes=axes / np.linalg.norm(axes, axis=1, keepdims=True),
        links=np.array([0.0, 0.0, 1.0]) * rng.uniform(0.08, 0.35, (n, 1)),
        home=rng.uniform(-0.8, 0.8, n),
        tool=tools[rng.integers(len(tools))],
        delay=lag - servo,
        servo=servo,
        zeta=float(rng.uniform(0.7, 1.1)),
        friction=rng.uniform(0.0, 0.01, n),
        droop=rng.uniform(-0.02, 0.02, n),
    )


def reference(
    rng: np.random.Generator, home: np.ndarray, frames: int, rate: float
) -> tuple[np.ndarray, list[int]]:
    """((frames + 1) * SUBSTEPS, n) rad of moves between waypoints, and the frames of rests."""
    t = np.arange((frames + 1) * SUBSTEPS) / SUBSTEPS
    reach = rng.uniform(0.25, 0.9)
    at = home + rng.uniform(-reach, reach, len(home))
    out, rests, now = np.empty((len(t), len(home))), [], 0.0
    while now < t[-1] + 1:
        move = rng.uniform(0.6, 1.8) * rate
        rest = rng.uniform(0.0, 0.5) * rate if rng.random() < 0.6 else 0.0
        goal = home + rng.uniform(-reach, reach, len(home))
        goal = np.where(rng.random(len(home)) < 0.85, goal, at)  # some joints stay
        inside = (t >= now) & (t < now + move)
        s = (t[inside] - now) / move
        blend = 10 * s**3 - 15 * s**4 + 6 * s**5
        out[inside] = at + blend[:, None] * (goal - at)
        out[t >= now + move] = goal
        rests.append(int(now + move))
        now, at = now + move + rest, goal
    wobble = rng.uniform(0.0, 0.05)
    for j in range(len(home)):  # a hand is never quite still
        f, p = rng.uniform(0.3, 1.2, 3), rng.uniform(0, 6.28, 3)
        out[:, j] += wobble * np.sin(6.28 * f * t[:, None] / rate + p).sum(axis=1) / 3
    return out, [r for r in rests if r < frames - 5]


def follow(robot: Arm, fine: np.ndarray) -> np.ndarray:
    """(S, n) rad joint angles on the grid of the commands `fine` (S, n), S substeps."""
    steps = np.arange(len(fine), dtype=float)
    late = steps - robot.delay * SUBSTEPS
    sent = np.stack([np.interp(late, steps, c) for c in fine.T], axis=1)
    if robot.servo < 0.02:
        return sent
    omega = 2 * robot.zeta / (robot.servo * SUBSTEPS)
    step, push = _exact(omega, robot.zeta)
    q, v = sent[0].copy(), np.zeros(fine.shape[1])
    out = np.empty_like(sent)
    for i, goal in enumerate(sent):
        out[i] = q
        goal = goal - robot.friction * np.tanh(v / 2e-4) - robot.droop * np.cos(q)
        q, v = (
            step[0, 0] * q + step[0, 1] * v + push[0] * goal,
            (step[1, 0] * q + step[1, 1] * v + push[1] * goal),
        )
    return out


def _exact(omega: float, zeta: float) -> tuple[np.ndarray, np.ndarray]:
    """One substep of q'' = omega^2 (goal - q) - 2 zeta omega q', the goal held."""
    a = np.array([[0.0, 1.0], [-(omega**2), -2 * zeta * omega]])
    step, term = np.eye(2), np.eye(2)
    small = a / 256
    for k in range(1, 12):
        term = term @ small / k
        step = step + term
    for _ in range(8):
        step = step @ step
    return step, np.array([1.0 - step[0, 0], -step[1, 0]])


def tool_pose(robot: Arm, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """((T, 3) m, (T, 4) w x y z) of the tool in the base frame for joint angles (T, n)."""
    spin = np.tile([1.0, 0.0, 0.0, 0.0], (len(q), 1))
    place = np.zeros((len(q), 3))
    for j in range(q.shape[1]):
        half = 0.5 * q[:, j : j + 1]
        turn = np.hstack([np.cos(half), np.sin(half) * robot.axes[j]])
        spin = hamilton(spin, turn)
        place = place + swung(spin, robot.links[j])
    return place, hamilton(spin, np.tile(robot.tool / np.linalg.norm(robot.tool), (len(q), 1)))


def hamilton(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(T, 4) product a b of quaternions w x y z."""
    w = a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)
    v = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.hstack([w[:, None], v])


def swung(q: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """(T, 3) `vector` turned by quaternions (T, 4)."""
    v = np.broadcast_to(vector, (len(q), 3))
    twice = 2 * np.cross(q[:, 1:], v)
    return v + q[:, :1] * twice + np.cross(q[:, 1:], twice)


def turned(q: np.ndarray) -> np.ndarray:
    """(T, 3) rotation vectors in the base frame from each quaternion to the next, first zero."""
    back = q[:-1] * np.array([1, -1, -1, -1])
    d = hamilton(q[1:], back)
    d *= np.where(d[:, :1] < 0, -1.0, 1.0)
    norm = np.linalg.norm(d[:, 1:], axis=1, keepdims=True)
    angle = 2 * np.arctan2(norm, d[:, :1])
    return np.vstack([np.zeros(3), np.where(norm > 1e-12, angle * d[:, 1:] / (norm + 1e-300), 0)])


def rotation_vector(q: np.ndarray) -> np.ndarray:
    """(T, 3) rad, of length at most pi."""
    q = q * np.where(q[:, :1] < 0, -1.0, 1.0)
    size = np.linalg.norm(q[:, 1:], axis=1, keepdims=True)
    return q[:, 1:] / np.maximum(size, 1e-12) * 2 * np.arctan2(size, q[:, :1])


def roll_pitch_yaw(q: np.ndarray) -> np.ndarray:
    """(T, 3) rad about the fixed axes x, then y, then z."""
    w, x, y, z = q.T
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1, 1))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.stack([roll, pitch, yaw], axis=1)


def grip(
    rng: np.random.Generator, frames: int, rests: list[int], width: float, *, closed: bool,
    caught: bool, speed: float, lag: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(command, opening) of a gripper over frames, 1 open and 0 closed.

    width: opening at which an object stops the fingers; lag: frames.
    """
    times = sorted(rng.choice(rests, min(len(rests), int(rng.integers(1, 4))), replace=False))
    command, now = np.empty(frames), 0.0 if closed else 1.0
    events = [int(t) for t in times] or [frames // 2]
    for start, stop in zip([0, *events], [*events, frames], strict=True):
        command[start:stop] = now
        now = 1.0 - now
    opening, at, held = np.empty(frames), command[0], False
    for t in range(frames):
        goal = command[int(max(t - round(lag), 0))]
        held = caught and goal < 0.5 and at >= width - 1e-9
        step = np.clip(goal - at, -speed, speed)
        at = max(at + step, width) if held else at + step
        opening[t] = at
    return command, opening
