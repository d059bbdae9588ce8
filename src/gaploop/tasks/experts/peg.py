"""A scripted expert for `peg`: aim, come down to the rim, correct, insert.

It knows the true hole; all else it uses (measured joints of the last frames, its
own last commands) a policy sees too, so that what it shows can be learnt. Its
command is the last one plus a correction, which makes it find the right command
whatever the gain.
"""

import numpy as np

from gaploop.core import TaskSpec
from gaploop.tasks.peg import HEIGHT


class PegExpert:
    """Implements `core.protocols.Controller`."""

    speed = 0.10
    """Largest change of the command, m/s, in x and y."""
    descent = 0.06
    """The same in z."""
    hover = 0.005
    """Height above the rim at which it waits until aligned."""
    bottom = -0.016
    """Height it drives to."""
    height = HEIGHT
    """Height of the peg's bottom at joint zero."""
    gain = 0.45
    """Share of the remaining error corrected a step."""
    tight, loose = 0.0004, 0.0012
    """Misalignment below which it goes down at once, and above which it waits, m."""
    memory = 3
    """Steps a command is assumed to need until it shows."""

    def __init__(self, spec: TaskSpec) -> None:
        self._dt = spec.control_dt
        self._low, self._high = np.array(spec.command_low), np.array(spec.command_high)
        self._sent: list[np.ndarray] = []

    def reset(self, n: int) -> None:
        self._sent = [np.zeros((n, 3))] * (self.memory + 1)

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        """Commands (n, 3) in m. Reads truth `q` and `hole`."""
        del step, observation
        q, hole = truth["q"], truth["hole"]
        last = self._sent[-1]
        # what is still under way counts as done, or a delay would make it overshoot
        coming = last - self._sent[0]
        height = self.height + q[:, 2]
        # in the hole the walls guide it; pushing against them would only jam it
        error = np.where(height[:, None] > -0.001, hole - q[:, :2], coming[:, :2])
        aligned = np.clip(
            (self.loose - np.abs(hole - q[:, :2]).max(axis=1)) / (self.loose - self.tight), 0.0, 1.0
        )
        aligned = np.where(height < 0.0, 1.0, aligned)
        goal = self.hover + aligned * (self.bottom - self.hover) - height
        wanted = np.concatenate([error, goal[:, None]], axis=1) - coming
        most = np.array([self.speed, self.speed, self.descent]) * self._dt
        change = np.clip(self.gain * wanted, -most, most)
        command = np.clip(last + change, self._low, self._high)
        self._sent = [*self._sent[1:], command]
        return command

    def follow(self, sent: np.ndarray) -> None:
        """Go on from what was sent (n, 3) instead of its own command: somebody shares control."""
        self._sent[-1] = np.asarray(sent, dtype=float)
