"""An expert for `peg` that trusts the pose it is shown and searches where that is wrong.

It knows no more than a policy does: the measured hole, the joints, its own commands. It
comes down where the hole seems to be; if the peg stands on the rim, it keeps pressing
and winds outward along an Archimedean spiral until the peg drops. Under randomisation
its demonstrations show a policy how to recover from a pose that no reading corrects.

The next step of a search follows from where the peg is relative to where the hole seems
to be, not from a clock, so that it can be learnt from the observation.
"""

from dataclasses import dataclass

import numpy as np

from gaploop.core import TaskSpec
from gaploop.core.protocols import Controller
from gaploop.tasks.experts.peg import PegExpert
from gaploop.tasks.peg import Peg


@dataclass(frozen=True, slots=True)
class SearchedPeg(Peg):
    """`peg`, shown by the expert that searches. The same world and the same policies."""

    def expert(self) -> Controller:
        return SpiralExpert(self.spec)


class SpiralExpert(PegExpert):
    """Implements `core.protocols.Controller`; reads the observation alone."""

    pitch = 0.0025
    """Distance between two turns of the spiral, m: less than the window of the tightest hole."""
    pace = 0.0032
    """Length of a step along it, m."""
    widest = 0.005
    """Radius at which it goes on round, m: no pose of the prior is further off."""
    stalled = 0.0004
    """Descent a step, below which a peg that is sent down stands on something, m."""
    near = 0.004
    """Height below which that something may be the rim, m."""
    drop = 0.0025
    """Depth below the rim from which it is in the hole, m: more than an impact gives."""

    def __init__(self, spec: TaskSpec) -> None:
        super().__init__(spec)
        self._history = spec.history
        self._q = _columns(spec, "observation.state")
        self._hole = _columns(spec, "observation.environment_state")

    def reset(self, n: int) -> None:
        super().reset(n)
        self._seen = np.zeros((n, 2))
        self._count = 0
        self._rim = np.full(n, np.nan)
        self._inside = np.zeros(n, dtype=bool)

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        """Commands (n, 3) in m."""
        del step, truth
        frames = observation.reshape(len(observation), self._history, -1).astype(float)
        q, moved = frames[:, -1, self._q], frames[:, -1, self._q] - frames[:, -2, self._q]
        self._look(frames[:, -1, self._hole])
        last = self._sent[-1]
        coming = last - self._sent[0]
        height = self.height + q[:, 2]
        self._feel(height, moved[:, 2], coming[:, 2])
        searching = ~np.isnan(self._rim) & ~self._inside
        offset = q[:, :2] + coming[:, :2] - self._seen
        error = np.where(self._inside[:, None], 0.0, self._seen - q[:, :2] - coming[:, :2])
        change = self.gain * np.column_stack([error, self._down(height, q) - coming[:, 2]])
        most = np.array([self.speed, self.speed, self.descent]) * self._dt
        change = np.clip(change, -most, most)
        # pressing on at the force it met the rim with, no more: the peg must still slide
        along = np.column_stack([self._along(offset), np.zeros(len(q))])
        change = np.where(searching[:, None], along, change)
        command = np.clip(last + change, self._low, self._high)
        self._sent = [*self._sent[1:], command]
        return command

    def _look(self, hole: np.ndarray) -> None:
        """The hole stands still, so the mean of all readings is the best one."""
        self._count += 1
        self._seen = self._seen + (hole - self._seen) / self._count

    def _feel(self, height: np.ndarray, moved: np.ndarray, coming: np.ndarray) -> None:
        """Whether the peg stands on the rim, and whether it has dropped since."""
        stands = (height < self.near) & (moved > -self.stalled) & (coming < -4 * self.stalled)
        self._rim = np.where(np.isnan(self._rim) & stands, height, self._rim)
        self._inside |= height < np.fmin(self._rim, 0.0) - self.drop

    def _down(self, height: np.ndarray, q: np.ndarray) -> np.ndarray:
        """(n,) how far to go down: to the hover until aligned, then to the end."""
        miss = np.abs(self._seen - q[:, :2]).max(axis=1)
        aligned = np.clip((self.loose - miss) / (self.loose - self.tight), 0.0, 1.0)
        aligned = np.where(self._inside | (height < self.hover), 1.0, aligned)
        return self.hover + aligned * (self.bottom - self.hover) - height

    def _along(self, offset: np.ndarray) -> np.ndarray:
        """(n, 2) the next step of the spiral r = pitch * angle / 2 pi, from where it is."""
        radius = np.maximum(np.linalg.norm(offset, axis=1), 0.25 * self.pitch)
        angle = np.arctan2(offset[:, 1], offset[:, 0]) + self.pace / radius
        grown = radius + self.pitch * (self.pace / radius) / (2 * np.pi)
        grown = np.minimum(grown, self.widest)
        goal = grown[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        step = goal - offset
        length = np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-9)
        return step * np.minimum(1.0, 2 * self.pace / length)


def _columns(spec: TaskSpec, key: str) -> slice:
    """Where a feature's columns lie in one frame of the observation."""
    at = 0
    for channel in spec.observed:
        if channel.key == key:
            return slice(at, at + len(channel.columns))
        at += len(channel.columns)
    raise AssertionError(f"{spec.name} observes {key}")
