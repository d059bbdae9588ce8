"""From the command a controller sends to what the actuators receive.

Order: lost, gain, offset, limit, rate, deadband, backlash, then delay, latency
and jitter at the resolution of physics steps. All vectorised over attempts; an
effect that is neutral in the whole batch is not computed, and one that is
neutral in an attempt changes none of its bits.
"""

import numpy as np

from gaploop.sim.noise import Draws
from gaploop.sim.settings import Settings


class ActionPipeline:
    """The command path of N attempts of one run."""

    def __init__(
        self, settings: Settings, rest: np.ndarray, *, dt: float, substeps: int, draws: Draws
    ) -> None:
        """rest is (N, a): what the actuators hold before the first command arrives."""
        get = {
            f: settings.active("action", "", f)
            for f in ("lost", "gain", "offset", "limit", "rate", "deadband", "backlash", "jitter")
        }
        self._get, self._dt, self._substeps, self._draws = get, dt, substeps, draws
        self._last = rest
        self._played = rest
        self._schedule = _schedule(settings, rest, dt / substeps, substeps, get["jitter"])

    def step(self, k: int, command: np.ndarray) -> tuple[np.ndarray, bool]:
        """What arrives during control step k.

        Returns (N, a) and False when it holds for the whole step, else
        (N, substeps, a) and True.
        """
        value = self._shape(k, command)
        if self._schedule is None:
            return value, False
        jitter = None if self._get["jitter"] is None else self._draws.uniform[k, :, -2]
        return self._schedule.step(k, value, jitter), True

    def _shape(self, k: int, command: np.ndarray) -> np.ndarray:
        get, value = self._get, command
        if get["gain"] is not None:
            value = value * get["gain"]
        if get["offset"] is not None:
            value = value + get["offset"]
        if get["limit"] is not None:
            value = np.clip(value, -get["limit"], get["limit"])
        if get["lost"] is not None:
            value = np.where(self._draws.uniform[k, :, -1:] < get["lost"], self._last, value)
        if get["rate"] is not None:
            most = get["rate"] * self._dt
            # a plain clip would cost the last bits where the limit is infinite
            value = np.where(
                np.abs(value - self._last) > most,
                self._last + np.sign(value - self._last) * np.where(np.isinf(most), 0, most),
                value,
            )
        if get["deadband"] is not None:
            value = np.where(np.abs(value - self._last) < get["deadband"], self._last, value)
        self._last = value
        if get["backlash"] is not None:
            # play: the output moves only when pushed by one flank
            half = get["backlash"]
            value = np.minimum(np.maximum(self._played, value - half), value + half)
            self._played = value
        return value


class _Delay:
    """Commands in flight; each becomes the actuator's input when its time has come.

    A command that arrives inside a physics step counts for the part of it that
    is left, so that the outcome is continuous in the delay.
    """

    def __init__(self, rest: np.ndarray, delay: np.ndarray, jitter: np.ndarray, substeps: int):
        self._delay, self._jitter, self._substeps = delay, jitter, substeps
        depth = int(np.ceil((delay + jitter).max() / substeps)) + 2
        self._values = [rest] * depth
        self._arrivals = [np.full(len(rest), -np.inf)] * depth
        self._grid = np.arange(1.0, substeps + 1)

    def step(self, k: int, value: np.ndarray, jitter: np.ndarray | None) -> np.ndarray:
        arrival = k * self._substeps + self._delay
        if jitter is not None:
            arrival = np.maximum(arrival + self._jitter * jitter, self._arrivals[-1])
        self._values = [*self._values[1:], value]
        self._arrivals = [*self._arrivals[1:], arrival]
        start, end = k * self._substeps, (k + 1) * self._substeps
        # from the newest command that has reached every attempt, to the last one that reaches any
        first = max(i for i, at in enumerate(self._arrivals) if at.max() <= start)
        out = np.repeat(self._values[first][:, None], self._substeps, axis=1)
        for held, at in zip(self._values[first + 1 :], self._arrivals[first + 1 :], strict=True):
            if at.min() >= end:
                break
            # share of each physics step after the arrival: 0 and 1 are exact
            w = np.clip(start + self._grid - at[:, None], 0.0, 1.0)[:, :, None]
            out *= 1.0 - w
            out += held[:, None] * w
        return out


def _schedule(
    settings: Settings, rest: np.ndarray, h: float, substeps: int, jitter: np.ndarray | None
) -> _Delay | None:
    """Delays in physics steps of h seconds; None where no command is late."""
    parts = [settings.active("action", "", f) for f in ("delay", "latency")]
    if jitter is None and all(p is None for p in parts):
        return None
    delay = sum((p[:, 0] for p in parts if p is not None), start=np.zeros(len(rest)))
    wobble = np.zeros(len(rest)) if jitter is None else jitter[:, 0]
    return _Delay(rest, delay / h, wobble / h, substeps)
