"""An expert that is pushed while it works, so that its demonstrations contain recoveries."""

import numpy as np

from gaploop.core import TaskSpec, generator
from gaploop.core.protocols import Controller


class Pushed:
    """Adds fading, correlated noise to a controller's commands, and keeps the clean ones.

    Dart-style (Laskey et al. 2017): the world executes the noisy command, the
    learner imitates the clean one. The noise fades to zero by `until` of the
    horizon, because an expert pushed inside the narrow phase fails its own gate.
    """

    def __init__(
        self, expert: Controller, spec: TaskSpec, sd: float, until: float, memory: float, seed: int
    ) -> None:
        """`sd` is a share of the command range, `until` one of the horizon."""
        self.expert = expert
        self.low = np.array(spec.command_low)
        self.high = np.array(spec.command_high)
        self.sd = sd * (self.high - self.low)
        self.end = max(1.0, until * spec.horizon)
        self.memory = memory
        self.seed = seed
        self.clean: list[np.ndarray] = []

    def reset(self, n: int) -> None:
        """n attempts begin; what was kept is forgotten."""
        self.expert.reset(n)
        self.clean = []
        self._rng = generator(self.seed, "push")
        self._push = np.zeros((n, len(self.low)))

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        """(n, a) commands, disturbed and within the robot's range."""
        wanted = np.asarray(self.expert.act(step, observation, truth), float)
        self.clean.append(wanted)
        fresh = self._rng.standard_normal(self._push.shape) * self.sd
        self._push = self.memory * self._push + np.sqrt(1 - self.memory**2) * fresh
        fade = max(0.0, 1 - step / self.end)
        return np.clip(wanted + fade * self._push, self.low, self.high)

    @property
    def commands(self) -> np.ndarray:
        """(T, n, a) what the expert wanted at each step."""
        return np.stack(self.clean)
