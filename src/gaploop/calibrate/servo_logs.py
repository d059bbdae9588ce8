"""Servo logs as arrays on one clock, one column a log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gaploop.core import Episode, InputError, Signal, registry

MOST = 1_000_000
"""Samples a log may have on the common clock."""
LEAST = 10
"""Steps a log must have: fewer are no motion to fit."""
LARGEST = 1e6
"""Beyond any rig, in SI units; a figure above it is a slip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServoLogs:
    """L logs of T samples; shorter ones are padded and masked."""

    names: tuple[str, ...]
    """File of each log."""
    dt: float
    """s"""
    goal: np.ndarray
    """(T, L) commanded angle in rad."""
    position: np.ndarray
    """(T, L) measured angle in rad; 0 hangs down."""
    volts: np.ndarray
    """(T, L) supply in V, measured where it was logged, else as the rig states it."""
    on: np.ndarray
    """(T, L) 1.0 where torque is enabled, 0.0 where the arm swings freely."""
    valid: np.ndarray
    """(T, L) bool, False in the padding."""
    start_speed: np.ndarray
    """(L,) rad/s at the first sample."""
    gain: np.ndarray
    """(L,) firmware P gain."""
    mass: np.ndarray
    """(L,) kg"""
    length: np.ndarray
    """(L,) m"""
    kinds: tuple[str, ...]
    """Trajectory of each log, empty where none is named."""

    def __len__(self) -> int:
        return len(self.names)

    def take(self, index: Sequence[int]) -> "ServoLogs":
        """The logs with these numbers."""
        i = list(index)
        return ServoLogs(
            names=tuple(self.names[k] for k in i), dt=self.dt, goal=self.goal[:, i],
            position=self.position[:, i], volts=self.volts[:, i], on=self.on[:, i],
            valid=self.valid[:, i], start_speed=self.start_speed[i], gain=self.gain[i],
            mass=self.mass[i], length=self.length[i], kinds=tuple(self.kinds[k] for k in i),
        )  # fmt: skip


def load_servo_logs(paths: Sequence[Path], dt: float | None = None) -> ServoLogs:
    """Read logs through the `servo` reader and put them on one clock.

    Args:
      paths: log files, or folders of them.
      dt: period in s; the median of the logs' own when not given.

    Raises:
      InputError: a log that cannot be read, lacks the rig's figures, or holds NaN.
    """
    reader = registry.load("readers", "servo")()
    episodes: list[Episode] = [e for path in paths for e in reader.read(Path(path))]
    if not episodes:
        raise InputError("No servo log was given.", hint="Give at least one log file.")
    rigs = [_rig(e) for e in episodes]
    for episode in episodes:
        _timed(episode)
    periods = [1.0 / e.signals["observation.state"].rate for e in episodes]
    step = float(dt or np.median(periods))
    columns = [_resampled(e, rig, step) for e, rig in zip(episodes, rigs, strict=True)]
    frames = max(len(c["position"]) for c in columns)

    def stack(key: str) -> np.ndarray:
        # padding repeats the last sample, so that the simulation runs on harmlessly
        return np.stack(
            [np.pad(c[key], (0, frames - len(c[key])), mode="edge") for c in columns], axis=1
        )

    lengths = np.array([len(c["position"]) for c in columns])
    return ServoLogs(
        names=tuple(e.source for e in episodes),
        dt=step,
        goal=stack("goal"),
        position=stack("position"),
        volts=stack("volts"),
        on=stack("on"),
        valid=np.arange(frames)[:, None] < lengths,
        start_speed=np.array([c["speed"][0] for c in columns]),
        gain=np.array([rig["kp"] for rig in rigs]),
        mass=np.array([rig["mass"] for rig in rigs]),
        length=np.array([rig["length"] for rig in rigs]),
        kinds=tuple(e.task for e in episodes),
    )


def _rig(episode: Episode) -> dict[str, float]:
    stated = episode.fact("rig")
    rig = stated if isinstance(stated, Mapping) else {}
    for key, unit in (("mass", "kg"), ("length", "m"), ("kp", "firmware P gain")):
        if not isinstance(rig.get(key), (int, float)) or not 0 < rig[key] < LARGEST:
            raise InputError(
                f"{episode.source}: the rig's `{key}` is {rig.get(key)!r}.",
                hint=f"A servo fit needs it as a positive number ({unit}), at the file's top.",
            )
    return {k: float(rig[k]) for k in ("mass", "length", "kp", "vin") if k in rig}


def _timed(episode: Episode) -> None:
    """Refuse a log that is no stretch of motion on a clock that goes forward."""
    steps = np.diff(episode.signals["observation.state"].times)
    if np.any(steps <= 0):
        row = int(np.flatnonzero(steps <= 0)[0]) + 1
        raise InputError(
            f"{episode.source}, entry {row}: the stamp does not increase.",
            hint="Run gaploop check on this log.",
        )
    if len(steps) < LEAST:
        raise InputError(
            f"{episode.source} has {len(steps) + 1} entries.",
            hint=f"A servo fit needs {LEAST + 1} or more of them in a log.",
        )


def _resampled(episode: Episode, rig: Mapping[str, float], dt: float) -> dict[str, np.ndarray]:
    times = np.asarray(episode.signals["observation.state"].times, dtype=float)
    if times[-1] + 1e-9 > MOST * dt:
        raise InputError(
            f"{episode.source} lasts {times[-1]:.3g} s at a period of {dt:.3g} s; at most {MOST}"
            " samples are fitted.",
            hint="Are the stamps in s? gaploop check looks at them.",
        )
    grid = np.arange(int(np.floor((times[-1] + 1e-9) / dt)) + 1) * dt
    out = {
        "position": np.interp(grid, times, _finite(episode, "observation.state")),
        "goal": np.interp(grid, times, _finite(episode, "action")),
        "on": np.ones(len(grid)),
        "volts": np.full(len(grid), rig.get("vin", np.nan)),
        "speed": np.zeros(len(grid)),
    }
    if "observation.torque_enable" in episode.signals:
        on = _finite(episode, "observation.torque_enable")
        held = np.clip(np.searchsorted(times, grid + 1e-9, side="right") - 1, 0, len(on) - 1)
        out["on"] = (on[held] > 0.5).astype(float)
    if "observation.voltage" in episode.signals:
        out["volts"] = np.interp(grid, times, _finite(episode, "observation.voltage"))
    if not np.isfinite(out["volts"]).all():
        raise InputError(
            f"{episode.source} has neither input_volts nor the rig's `vin`.",
            hint="Add the supply voltage in V.",
        )
    if not ((out["volts"] > 0) & (out["volts"] < LARGEST)).all():
        raise InputError(
            f"{episode.source}: its supply goes from {out['volts'].min():g} to"
            f" {out['volts'].max():g} V.",
            hint="A servo fit needs input_volts, or the rig's `vin`, as positive numbers in V.",
        )
    # a mean over a few samples: one quantised speed reading is mostly noise
    first = out["position"][:5]
    if len(first) == 5:
        slope = float(np.polyfit(np.arange(5) * dt, first, 1)[0])
        out["speed"][:] = slope if abs(slope) > 0.3 else 0.0
    return out


def _finite(episode: Episode, key: str) -> np.ndarray:
    """(T,) readings of a scalar signal; refuses NaN, which no rollout can be compared with."""
    signal: Signal = episode.signals[key]
    values = np.asarray(signal.values, dtype=float).reshape(len(signal.values))
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InputError(
            f"{episode.source}, entry {bad[0]}: {key} is no finite number "
            f"({len(bad)} such readings).",
            hint="Mend or drop the log; gaploop check lists all of them.",
        )
    return values
