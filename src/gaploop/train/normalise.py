"""Normalisation constants, from the training windows alone.

A frame is centred and scaled by its columns' mean and standard deviation. Frames of a
history are nearly equal, and what tells a lag or a wrong gain is their difference; so
the graph feeds the newest frame and the steps between frames, each scaled by its own
standard deviation. It is a change of basis: nothing is lost, and far fewer gradient
steps are needed.
"""

from dataclasses import dataclass

import numpy as np

from gaploop.core import digest
from gaploop.train.pairs import Windows

FLOOR = 1e-6
"""A standard deviation below this share of the column's size counts as constant."""
STILL = 0.02
"""Least size of a step between frames, as a share of the column's own spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Normaliser:
    """z = (observation - shift) @ mix; actions = out_shift + out_scale * y."""

    shift: np.ndarray
    """(history * d,) float32."""
    mix: np.ndarray
    """(history * d, history * d) float32."""
    out_shift: np.ndarray
    """(a,) float32, in the robot's units."""
    out_scale: np.ndarray
    """(a,) float32, in the robot's units."""
    mean: tuple[float, ...]
    """(d,) of one frame."""
    std: tuple[float, ...]
    """(d,) of one frame, as measured, before any floor."""

    @property
    def digest(self) -> str:
        return digest(self.shift, self.mix, self.out_shift, self.out_scale)


def fit_normaliser(fit: Windows, share: np.ndarray, history: int) -> Normaliser:
    """Constants of the windows of `fit`, drawn with probability `share` (K,).

    A constant column gets scale 1 in its own unit: it says nothing, and a small
    departure from it at run time stays small.
    """
    frames = fit.obs.reshape(len(fit), history, -1).astype(np.float64)
    mean, std = _moments(frames[:, -1], share)
    chunk = fit.chunks.shape[1]
    out_mean, out_std = _moments(
        fit.chunks.reshape(len(fit) * chunk, -1), np.repeat(share / chunk, chunk)
    )
    scale = _floored(std, np.abs(mean))
    # What stands still in simulation creeps and trembles on a robot. A few field episodes
    # would give it a step so small that the next robot's is a hundred times it.
    moved = np.maximum(_motion(fit, frames, share), STILL * scale)
    mix = _mix(scale, moved, history)
    return Normaliser(
        shift=np.tile(mean, history).astype(np.float32),
        mix=mix.astype(np.float32),
        out_shift=out_mean.astype(np.float32),
        out_scale=_floored(out_std, np.abs(out_mean)).astype(np.float32),
        mean=tuple(map(float, mean)),
        std=tuple(map(float, std)),
    )


def _motion(fit: Windows, frames: np.ndarray, share: np.ndarray) -> np.ndarray:
    """(d,) root mean square of a step between the two newest frames.

    The first step does not count: there the last command is 0, which is no motion.
    """
    moving = fit.step > 1
    if frames.shape[1] < 2 or not share[moving].any():
        return np.zeros(frames.shape[2])
    steps = frames[moving, -1] - frames[moving, -2]
    return np.sqrt(np.average(steps**2, axis=0, weights=share[moving]))


def _moments(x: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each column, in float64."""
    mean = np.average(x.astype(np.float64), axis=0, weights=share)
    return mean, np.sqrt(np.average((x - mean) ** 2, axis=0, weights=share))


def _floored(std: np.ndarray, size: np.ndarray) -> np.ndarray:
    # float32 carries seven digits: a smaller spread than that is rounding, not signal
    return np.where(std > FLOOR * np.maximum(size, FLOOR), std, 1.0)


def _mix(std: np.ndarray, moved: np.ndarray, history: int) -> np.ndarray:
    """(h d, h d): columns are the steps between frames, oldest first, then the newest frame."""
    d = len(std)
    mix = np.zeros((history * d, history * d))
    for k in range(history - 1):
        column = slice(k * d, (k + 1) * d)
        mix[k * d : (k + 1) * d, column] = -np.diag(1 / moved)
        mix[(k + 1) * d : (k + 2) * d, column] = np.diag(1 / moved)
    mix[-d:, -d:] = np.diag(1 / std)
    return mix
