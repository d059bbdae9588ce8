"""A scripted expert for `slide`: one swing along the line from the puck to the goal.

All strikes share one timing; a plan is two numbers, the swing's speed and how far to
the side it aims. In the plain simulator they are a formula. Given a world, the expert
shoots: it runs its plans there without noise, sees where the pucks stop, and corrects
both numbers, which no closed formula of servo, blow and friction would get right.

What it sends is linear in puck position, direction and speed at every step, without
any kink, because what a learner averages over is worth as little as its roughest part.
"""

from dataclasses import dataclass

import numpy as np

from gaploop.core import Attempts, TaskSpec
from gaploop.core.protocols import World

PEAK, SWING = 29.0, 20.0
"""Control step of the swing's top speed, and the swing's length in steps."""
AIM = 20.0
"""Steps in which the tip goes to where the swing begins."""
BACK = (46.0, 94.0)
"""Steps between which the tip returns home."""
PUSH = 1.418
"""Swing speed over the square root of the distance, in the plain simulator, m^0.5/s."""
ROUNDS = 4
"""Most runs of the plan in a given world."""
CLOSE = 1e-3
"""Distance from the goal with which a plan is done, m."""
TURN = 18.0
"""Direction the puck turns to the right for each metre the tip aims to the left, rad."""
SLOWEST, FASTEST = 0.2, 2.4
"""Speeds that are tried, m/s."""
ASIDE = 0.02
"""Largest aim to the side, m."""


@dataclass(frozen=True, slots=True)
class Strike:
    """N plans: where the tip meets the puck, in which direction, how fast."""

    meet: np.ndarray
    """(N, 2) centre of the tip at contact, m."""
    along: np.ndarray
    """(N, 2) unit vector."""
    speed: np.ndarray
    """(N,) of the command at its peak, m/s."""

    def command(self, step: int | np.ndarray, dt: float) -> np.ndarray:
        """(N, 2) or (T, N, 2) commands of control steps; dt is their period in s."""
        t = np.asarray(step, dtype=float)[..., None, None]
        out = _smooth(t / AIM) * (1.0 - _smooth((t - BACK[0]) / (BACK[1] - BACK[0])))
        phase = np.clip((t - PEAK) / SWING + 0.5, 0.0, 1.0)
        # distance from the meeting point: its rate is the speed times half of 1 - cos
        way = 0.5 * SWING * dt * (phase - np.sin(2 * np.pi * phase) / (2 * np.pi) - 0.5)
        return out * (self.meet + way * self.speed[:, None] * self.along)


class SlideExpert:
    """Implements `core.protocols.Planner`."""

    def __init__(self, spec: TaskSpec, *, reach: float) -> None:
        """reach: distance of tip and puck centres at contact, m."""
        self._dt, self._reach, self._horizon = spec.control_dt, reach, spec.horizon
        self._low, self._high = np.array(spec.command_low), np.array(spec.command_high)
        self._names = [v.name for v in spec.layout]
        self._shot: tuple[np.ndarray, np.ndarray] | None = None
        self._ready: tuple[np.ndarray, np.ndarray] | None = None
        self._strike: Strike | None = None

    def plan(self, world: World, attempts: Attempts) -> None:
        """Find speed and aim of every attempt in the world it will run in."""
        at = {name: attempts.layout[:, i] for i, name in enumerate(self._names)}
        puck = np.stack([at["puck_x"], at["puck_y"]], axis=1)
        goal = np.stack([at["goal_x"], at["goal_y"]], axis=1)
        self._shot = _shoot(self, world, attempts, puck, goal)

    def reset(self, n: int) -> None:
        """n attempts begin; a plan made for them is used, and forgotten after."""
        self._ready, self._shot = self._shot, None
        self._strike = None

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        """Commands (n, 2) in m. Reads truth `puck` and `goal` of the first step."""
        if self._strike is None:
            puck, goal = truth["puck"], truth["goal"]
            self._strike = self.strike(puck, goal, *(self._ready or self.guess(puck, goal)))
        return self.clipped(self._strike.command(step + 1, self._dt))

    def guess(self, puck: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """((N,) speed in m/s, (N,) aim to the left in m) for the plain simulator."""
        far = np.linalg.norm(goal - puck, axis=1)
        return PUSH * np.sqrt(far), np.zeros(len(far))

    def strike(
        self, puck: np.ndarray, goal: np.ndarray, speed: np.ndarray, aside: np.ndarray
    ) -> Strike:
        """The plan that meets the puck (N, 2) on the line to the goal (N, 2)."""
        along = goal - puck
        along = along / np.linalg.norm(along, axis=1, keepdims=True)
        left = np.stack([-along[:, 1], along[:, 0]], axis=1)
        return Strike(
            meet=puck - self._reach * along + aside[:, None] * left, along=along, speed=speed
        )

    def commands(
        self, puck: np.ndarray, goal: np.ndarray, speed: np.ndarray, aside: np.ndarray
    ) -> np.ndarray:
        """(T, N, 2) commands of whole attempts."""
        steps = np.arange(1, self._horizon + 1)
        return self.clipped(self.strike(puck, goal, speed, aside).command(steps, self._dt))

    def clipped(self, command: np.ndarray) -> np.ndarray:
        return np.clip(command, self._low, self._high)


def _shoot(
    expert: SlideExpert, world: World, attempts: Attempts, puck: np.ndarray, goal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Speed and aim by secant steps: distance goes as speed squared, direction as the aim.

    A plan that is done stays as it is, so that no attempt depends on the others.
    """
    speed, aside = expert.guess(puck, goal)
    far = np.linalg.norm(goal - puck, axis=1)
    along = (goal - puck) / far[:, None]
    left = np.stack([-along[:, 1], along[:, 0]], axis=1)
    best, best_miss = (speed.copy(), aside.copy()), np.full(len(far), np.inf)
    slope, last = np.full(len(far), -TURN), None
    for _ in range(ROUNDS):
        sent = expert.commands(puck, goal, speed, aside).astype(np.float32)
        end = world.replay(attempts, sent, noise=False).truth["puck"][-1]
        miss = np.linalg.norm(end - goal, axis=1)
        better = (miss < best_miss) & (best_miss > CLOSE)
        best_miss = np.where(better, miss, best_miss)
        best = np.where(better, speed, best[0]), np.where(better, aside, best[1])
        if (best_miss <= CLOSE).all():
            break
        gone = end - puck
        way = np.maximum(np.linalg.norm(gone, axis=1), 0.01)
        angle = np.arctan2((gone * left).sum(axis=1), np.maximum((gone * along).sum(axis=1), 1e-3))
        if last is not None:
            moved = aside - last[0]
            seen = np.divide(angle - last[1], moved, out=slope.copy(), where=np.abs(moved) > 2e-4)
            slope = np.clip(seen, -2.0 * TURN, -0.3 * TURN)
        last = aside, angle
        speed = np.clip(speed * np.clip(np.sqrt(far / way), 0.5, 2.0), SLOWEST, FASTEST)
        aside = np.clip(aside - angle / slope, -ASIDE, ASIDE)
    return best


def _smooth(x: np.ndarray) -> np.ndarray:
    """0 to 1 with minimal jerk (Flash & Hogan 1985)."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
