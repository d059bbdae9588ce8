"""Healthy sets of episodes of three robots, with motions and habits drawn from a seed.

Commands are smooth reaches with holds, tremor and a gripper that closes and opens;
readings follow them as a second-order loop with a delay, noise and encoder steps. What
these sets hold is known, so whatever a check says about them as a fault is wrong. A set is
plain arrays until `episodes` is called: `testing.defects` damages the arrays.
"""

from dataclasses import dataclass, field

import numpy as np

from gaploop.core import HELD, Contract, Episode, Label, Signal, declared
from gaploop.testing.reaches import follow, reach, rotations
from gaploop.testing.shapes import SHAPES, Shape


@dataclass(slots=True, kw_only=True)
class Take:
    """One episode as arrays that may be changed."""

    times: np.ndarray
    """(T,) s."""
    action: np.ndarray
    """(T, d)"""
    state: np.ndarray
    """(T, d)"""
    text: str
    verdicts: list[tuple[str, bool]]
    """(who judged, success)."""
    split: str = ""
    held: np.ndarray | None = None
    """(T,) bool: a person has the robot."""
    load: np.ndarray | None = None
    """(T,) motor load in counts, signed."""
    unit: str = "raw"
    control_rate: float | None = None


@dataclass(slots=True, kw_only=True)
class CleanSet:
    """Takes of one robot, and what is said of them."""

    shape: Shape
    takes: list[Take]
    origin: str
    mode: str = ""
    """Declared action mode, empty where nobody says."""
    notes: list[str] = field(default_factory=list[str])
    """Habits drawn, for a reader of a result."""

    def episodes(self) -> list[Episode]:
        """The set as a reader would give it; single precision, as datasets store it."""
        return [self._episode(i, take) for i, take in enumerate(self.takes)]

    def _episode(self, number: int, take: Take) -> Episode:
        shape, times = self.shape, take.times

        def signal(key: str, values: np.ndarray, unit: str, columns: tuple[str, ...]) -> Signal:
            return Signal(name=key, unit=unit, columns=columns, times=times, values=values)

        signals = {
            "action": signal("action", take.action.astype(np.float32), take.unit, shape.columns),
            "observation.state": signal(
                "observation.state", take.state.astype(np.float32), take.unit, shape.columns
            ),
        }
        if take.held is not None:
            signals[HELD] = signal(HELD, take.held, "1", ())
        if take.load is not None:
            signals["observation.load"] = signal("observation.load", take.load, "raw", ())
        facts = [
            Label(subject="", key="outcome", value={"success": good}, author=who)
            for who, good in take.verdicts
        ]
        if take.split:
            facts.append(Label(subject="", key="split", value=take.split, author="set"))
        contract = Contract(log_rate=declared(shape.fps))
        if self.mode or take.control_rate:
            contract = Contract(
                log_rate=declared(shape.fps),
                action_mode=declared(self.mode or None),
                control_rate=declared(take.control_rate),
            )
        return Episode(
            signals=signals, contract=contract, robot=shape.name, instruction=take.text,
            origin=self.origin, facts=tuple(facts), source=f"set row {number}",  # type: ignore
        )  # fmt: skip


def clean_set(shape: str, seed: int, episodes: int | None = None) -> CleanSet:
    """A healthy set: `seed` draws tasks, habits, lengths, motions and noise."""
    robot = SHAPES[shape]
    rng = np.random.default_rng([seed, sorted(SHAPES).index(shape)])
    n = episodes or int(rng.integers(20, 36))
    texts = rng.permutation(_TEXTS)[: int(rng.integers(1, 4))]
    one_pose = rng.random() < 0.75  # else each task holds the hand its own way
    poses = rng.integers(len(_POSES), size=len(texts))
    tasks = [
        _Task(robot, str(text), _POSES[poses[0 if one_pose else k]], rng)
        for k, text in enumerate(texts)
    ]
    loop = _Loop(robot, rng)
    origin = "rollout" if rng.random() < 0.5 else "demonstration"
    stamped = rng.random() < 0.4  # a recorder's own stamps, else frame / fps
    united = rng.random() < 0.5
    helped = origin == "rollout" and rng.random() < 0.5
    judged = origin == "rollout" or rng.random() < 0.5
    splits = rng.random() < 0.3
    pace = rng.uniform(0.8, 1.3)
    takes = []
    for k in range(n):
        task = tasks[int(rng.integers(len(tasks)))]
        latent = task.motion(robot, rng, pace)
        sent = loop.quantise(task.columns(robot, latent))
        seen = loop.quantise(task.columns(robot, loop.follow(latent, rng)), noise=rng)
        good = bool(rng.random() < 0.75)
        take = Take(
            times=_stamps(len(sent), robot.fps, rng, jitter=0.03 if stamped else 0.0),
            action=sent, state=seen, text=task.text,
            verdicts=[("operator", good)] if judged else [],
            split=("train" if k % 5 else "test") if splits else "",
            unit=robot.unit if united else "raw",
        )  # fmt: skip
        if helped:
            take.held = np.zeros(len(sent), bool)
            if rng.random() < 0.4:
                start = int(len(sent) * rng.uniform(0.3, 0.6))
                take.held[start : start + int(len(sent) * 0.25)] = True
        if shape == "arm":
            speed = np.gradient(seen[:, 1]) / robot.quantum
            take.load = np.rint(20 * speed + 30 * rng.standard_normal(len(seen))).astype(np.int64)
        takes.append(take)
    notes = [origin, f"{len(tasks)} tasks", "stamps of its own" if stamped else "counted stamps"]
    return CleanSet(shape=robot, takes=takes, origin=origin, notes=notes)


# -- inside -------------------------------------------------------------------

_TEXTS = ("put the cube in the bowl", "open the drawer", "hand over the pen", "stack the cups")
_POSES = np.array([[1.0, 0, 0, 0], [0, 0, 0, 1.0], [0.0, 0.7071, 0, 0.7071]])
"""x, y, z, w of a hand that hangs down, points ahead, or is pitched."""


class _Task:
    """Where the hands go in one task."""

    def __init__(self, shape: Shape, text: str, base: np.ndarray, rng: np.random.Generator) -> None:
        self.text, self.base = text, base
        self.wide = rng.uniform(0.35, 1.0, _latents(shape)) * shape.travel
        if shape.quaternion is not None:
            self.wide[3:] = rng.uniform(0.15, 0.7, 3)
        self.home = rng.uniform(-0.5, 0.5, _latents(shape)) * shape.travel
        self.width = rng.uniform(0.15, 0.5)  # of the object, as a share of the opening
        self.stops = int(rng.integers(4, 8))
        self.places = rng.uniform(-1, 1, (self.stops, _latents(shape)))
        self.closes = rng.integers(1, self.stops - 1)

    def motion(self, shape: Shape, rng: np.random.Generator, pace: float) -> "_Latent":
        near = self.places + 0.12 * rng.standard_normal(self.places.shape)
        stops = self.home + near * self.wide / 2
        start = self.home + 0.05 * rng.standard_normal(self.wide.shape) * self.wide
        arm, arrived = reach(np.vstack([start, stops]), shape.fps, rng, pace)
        n = len(arm)
        hands = []
        for _ in shape.grippers:
            close = arrived[int(self.closes)] + int(rng.integers(0, int(shape.fps) // 3))
            later = arrived[-1] - int(rng.integers(0, int(shape.fps) // 3))
            hands.append(_hand(n, close, max(later, close + 10), shape.fps, rng))
        return _Latent(arm=arm, hands=np.array(hands), width=self.width)

    def columns(self, shape: Shape, latent: "_Latent") -> np.ndarray:
        """(T, d)"""
        closed, opened = shape.opened
        out = np.zeros((len(latent.arm), len(shape.columns)))
        if shape.quaternion is not None:
            out[:, :3] = latent.arm[:, :3]
            out[:, 3:7] = rotations(latent.arm[:, 3:], self.base)
        else:
            out[:, list(shape.angles)] = latent.arm
        out[:, list(shape.grippers)] = closed + (opened - closed) * latent.hands.T
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Latent:
    """Motion before it becomes columns: (T, p) arm, (g, T) opening of each hand."""

    arm: np.ndarray
    hands: np.ndarray
    width: float


class _Loop:
    """How one robot answers its commands."""

    def __init__(self, shape: Shape, rng: np.random.Generator) -> None:
        self.shape = shape
        total = rng.uniform(*shape.lags)
        self.delay = 1.0
        self.lag = (total - self.delay) * rng.uniform(0.9, 1.1, _latents(shape))
        self.damping = rng.uniform(0.7, 1.0)
        self.droop = 0.01 * rng.standard_normal(_latents(shape)) * shape.travel
        self.noise = rng.uniform(0.2, 1.5) * shape.quantum

    def follow(self, latent: _Latent, rng: np.random.Generator) -> _Latent:
        arm = follow(latent.arm, self.delay, self.lag, self.damping)
        arm = arm + self.droop * (1 + 0.05 * rng.standard_normal(len(self.droop)))
        hands = follow(latent.hands.T, self.delay, np.full(len(latent.hands), 2.0), 1.0).T
        # fingers stop at the object
        hands = np.maximum(hands, latent.width * rng.uniform(0.97, 1.03))
        return _Latent(arm=arm, hands=hands, width=latent.width)

    def quantise(self, x: np.ndarray, noise: np.random.Generator | None = None) -> np.ndarray:
        step = self.shape.quantum
        if noise is not None:
            size = np.full(x.shape[1], self.noise)
            size[list(self.shape.grippers)] = 0.002 * abs(np.subtract(*self.shape.opened))
            x = x + size * noise.standard_normal(x.shape)
        at = self.shape.quaternion
        whole = np.rint(x / step) * step
        if at is not None:
            q = x[:, at : at + 4]
            whole[:, at : at + 4] = q / np.linalg.norm(q, axis=1, keepdims=True)
        return whole


def _latents(shape: Shape) -> int:
    return 6 if shape.quaternion is not None else len(shape.angles)


def _hand(n: int, close: int, later: int, fps: float, rng: np.random.Generator) -> np.ndarray:
    """(T,) opening from 1 to 0 and back: ramps a person makes."""
    ramp = max(2, int(fps * rng.uniform(0.2, 0.5)))
    knots = [0, close, close + ramp, later, later + ramp, max(n, later + ramp + 1)]
    levels = [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    level = rng.uniform(0.9, 1.0)
    return level * np.interp(np.arange(n), np.maximum.accumulate(knots), levels)


def _stamps(n: int, fps: float, rng: np.random.Generator, jitter: float) -> np.ndarray:
    times = np.arange(n) / fps
    if jitter:
        times = times + jitter / fps * np.clip(rng.standard_normal(n), -3, 3)
        times -= times[0]
    return times
