"""Episodes to training pairs: what the policy would have been fed, and what came next."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core import ContractError, Episode, InputError, Signal, TaskSpec

WEIGHT = "frame_weight"
"""Optional signal: how much each frame decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """K training pairs, one a control step, in the order of episodes and time."""

    obs: np.ndarray
    """(K, history * frame) float32, bit for bit what a rollout feeds."""
    chunks: np.ndarray
    """(K, H, a) float32 commands from this step on; the last one is held past the end."""
    weights: np.ndarray
    """(K, H) float32 weight of each command; `after` past the end."""
    episode: np.ndarray
    """(K,) index of the episode."""
    step: np.ndarray
    """(K,) control step inside the episode."""

    def __len__(self) -> int:
        return len(self.obs)

    def take(self, rows: np.ndarray) -> "Windows":
        """The windows with these indices."""
        return Windows(
            obs=self.obs[rows],
            chunks=self.chunks[rows],
            weights=self.weights[rows],
            episode=self.episode[rows],
            step=self.step[rows],
        )


def windows(
    episodes: Sequence[Episode], spec: TaskSpec, chunk: int, *, after: float = 1.0
) -> Windows:
    """All training pairs of `episodes`, with the history and frame of `spec`.

    A command's weight is the `frame_weight` of its own step where the episode has
    that signal, else 1. Past the end the last weight counts `after` times.

    Raises:
      InputError: for an episode that is empty, holds NaN, or lacks a signal.
      ContractError: for other columns, another rate or another scale than the task's.
    """
    parts = [_one(e, spec, chunk, after, i) for i, e in enumerate(episodes)]
    if not parts:
        raise InputError(f"There are no episodes of task {spec.name!r} to train on.")
    return join(parts)


def join(parts: Sequence[Windows], *, renumber: bool = False) -> Windows:
    """Windows one after the other; `renumber` keeps the episodes of different parts apart."""
    starts = np.zeros(len(parts), int)
    if renumber:
        starts[1:] = np.cumsum([p.episode.max(initial=-1) + 1 for p in parts])[:-1]
    return Windows(
        obs=np.concatenate([p.obs for p in parts]),
        chunks=np.concatenate([p.chunks for p in parts]),
        weights=np.concatenate([p.weights for p in parts]),
        episode=np.concatenate([p.episode + s for p, s in zip(parts, starts, strict=True)]),
        step=np.concatenate([p.step for p in parts]),
    )


def _one(episode: Episode, spec: TaskSpec, chunk: int, after: float, index: int) -> Windows:
    # imported here: sim loads MuJoCo, and reading a configuration should not wait for it
    from gaploop.sim.observe import frames, frames_to_history

    name = episode.source or f"episode {index}"
    command = _command(episode, spec, name)
    steps = len(command)
    readings = {c.name: _reading(episode, c.key, c.columns, steps, name) for c in spec.observed}
    fed = frames(spec, {k: v[:, None] for k, v in readings.items()}, command[:, None])
    at = np.arange(steps)[:, None] + np.arange(chunk)
    past = at >= steps
    at = np.minimum(at, steps - 1)
    weight = _weight(episode, steps, name)[at]
    return Windows(
        obs=frames_to_history(fed, spec.history)[:, 0],
        chunks=command[at],
        weights=np.where(past, after * weight, weight).astype(np.float32),
        episode=np.full(steps, index),
        step=np.arange(steps),
    )


def _command(episode: Episode, spec: TaskSpec, name: str) -> np.ndarray:
    """(T, a) float32 commands within the robot's bounds."""
    signal = _signal(episode, "action", name)
    values = _table(signal, len(spec.command), name)
    _rate(signal, spec, name)
    low, high = np.array(spec.command_low), np.array(spec.command_high)
    # a little outside is what saturation is for; a whole range outside is another unit
    outside = (values < low - (high - low)) | (values > high + (high - low))
    if outside.any():
        row, column = map(int, np.argwhere(outside)[0])
        raise ContractError(
            f"{name}: command {spec.command[column]} is {values[row, column]:g} at row {row}; "
            f"the robot takes {low[column]:g} to {high[column]:g} {spec.command_unit}.",
            hint="Check the unit and the order of the columns.",
        )
    return np.clip(values, low, high).astype(np.float32)


def _reading(
    episode: Episode, key: str, columns: tuple[str, ...], steps: int, name: str
) -> np.ndarray:
    signal = _signal(episode, key, name)
    if signal.columns and signal.columns != columns:
        raise ContractError(
            f"{name}: {key!r} has columns {', '.join(signal.columns)}; "
            f"the task expects {', '.join(columns)}.",
            hint="Columns are taken by place, so their order must agree.",
        )
    values = _table(signal, len(columns), name)
    if len(values) != steps:
        raise InputError(f"{name}: {key!r} has {len(values)} rows and 'action' has {steps}.")
    return values


def _weight(episode: Episode, steps: int, name: str) -> np.ndarray:
    if WEIGHT not in episode.signals:
        return np.ones(steps)
    values = _table(episode.signals[WEIGHT], 1, name)[:, 0]
    if len(values) != steps or (values < 0).any() or not values.any():
        raise InputError(
            f"{name}: {WEIGHT!r} must hold {steps} weights, none negative and not all zero."
        )
    return values


def _signal(episode: Episode, key: str, name: str) -> Signal:
    if key not in episode.signals:
        raise InputError(
            f"{name} has no {key!r}, which the policy needs.",
            hint=f"It has: {', '.join(sorted(episode.signals))}.",
        )
    return episode.signals[key]


def _table(signal: Signal, width: int, name: str) -> np.ndarray:
    """(T, width) finite float64."""
    values = np.asarray(signal.values, dtype=np.float64)
    if not values.size:
        raise InputError(f"{name}: {signal.name!r} is empty.", hint="Leave empty episodes out.")
    values = values.reshape(len(values), -1)
    if values.shape[1] != width:
        raise ContractError(
            f"{name}: {signal.name!r} has {values.shape[1]} columns, the task expects {width}."
        )
    if not np.isfinite(values).all():
        row, column = map(int, np.argwhere(~np.isfinite(values))[0])
        raise InputError(
            f"{name}: {signal.name!r} is {values[row, column]} at row {row}, column {column}.",
            hint="Repair or leave out the episode; a policy cannot be trained on it.",
        )
    return values


def _rate(signal: Signal, spec: TaskSpec, name: str) -> None:
    expected = 1 / spec.control_dt
    if len(signal.times) > 1 and abs(signal.rate - expected) > 0.02 * expected:
        raise ContractError(
            f"{name}: commands come at {signal.rate:.4g} Hz, the task runs at {expected:.4g} Hz.",
            hint="Resample the dataset, or train for a task with that rate.",
        )
