"""From the simulator's own values to what a log shows, channel by channel.

Order: latency and rate (when it was sampled), scale, bias, spread, drift,
noise, quantisation, then dropout and holding. See `settings.SENSOR`.
"""

import numpy as np

from gaploop.sim.noise import Draws
from gaploop.sim.settings import SENSOR, Settings


class ChannelPipeline:
    """The sensor path of one channel for N attempts of one run."""

    def __init__(
        self, settings: Settings, name: str, truth: np.ndarray, *, dt: float, draws: Draws, at: int
    ) -> None:
        """truth is the (T + 1, N, d) record being filled; `at` is the channel's first draw."""
        self._get = {f: settings.active("sensor", name, f) for f in SENSOR}
        self.neutral = all(v is None for v in self._get.values())
        self._truth, self._dt, self._draws = truth, dt, draws
        self._columns = slice(at, at + truth.shape[2])
        self._rows = np.arange(truth.shape[1])
        self._reading = truth[0]
        self._sample = np.full(truth.shape[1], np.nan)

    def step(self, k: int) -> np.ndarray:
        """(N, d) what the sensor shows at control step k; truth[: k + 1] is filled."""
        if self.neutral:
            return self._truth[k]
        get = self._get
        value, sample = self._sampled(k)
        if get["scale"] is not None:
            value = value * get["scale"]
        if get["bias"] is not None:
            value = value + get["bias"]
        if get["spread"] is not None:
            # row 0 of the draws belongs to the attempt as a whole
            value = value + get["spread"] * self._draws.normal[0][:, self._columns]
        if get["drift"] is not None:
            value = value + get["drift"] * (sample * self._dt)[:, None]
        if get["noise"] is not None:
            value = value + get["noise"] * self._draws.normal[k + 1][:, self._columns]
        if get["step"] is not None:
            step = get["step"]
            fine = np.where(step > 0, step, 1.0)
            value = np.where(step > 0, np.round(value / fine) * fine, value)
        self._reading = self._held(k, value, sample)
        return self._reading

    def _sampled(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The true value when the sample was taken, and that time in control steps."""
        latency, rate = self._get["latency"], self._get["rate"]
        if latency is None and rate is None:
            return self._truth[k], np.full(len(self._rows), float(k))
        at = np.full(len(self._rows), float(k))
        if latency is not None:
            at = at - latency[:, 0] / self._dt
        if rate is not None:
            period = 1.0 / (rate[:, 0] * self._dt)
            slow = period > 1.0
            safe = np.where(slow, period, 1.0)
            # the small number keeps a sample that is due now from falling to the one before
            at = np.where(slow, np.floor(at / safe + 1e-9) * safe, at)
        # before the first sample the sensor shows where the attempt started
        at = np.clip(at, 0.0, float(k))
        low = np.floor(at).astype(int)
        part = (at - low)[:, None]
        after = self._truth[np.minimum(low + 1, k), self._rows]
        return self._truth[low, self._rows] * (1.0 - part) + after * part, at

    def _held(self, k: int, value: np.ndarray, sample: np.ndarray) -> np.ndarray:
        if k == 0 or (self._get["rate"] is None and self._get["dropout"] is None):
            self._sample = sample
            return value
        fresh = np.ones(len(self._rows), dtype=bool)
        if self._get["rate"] is not None:
            # faster than the control rate: every step shows a new sample, even a clipped one
            period = 1.0 / (self._get["rate"][:, 0] * self._dt)
            fresh = (sample != self._sample) | (period <= 1.0)
        self._sample = sample
        if self._get["dropout"] is not None:
            lost = self._draws.uniform[k][:, self._columns.start] < self._get["dropout"][:, 0]
            fresh = fresh & ~lost
        return np.where(fresh[:, None], value, self._reading)
