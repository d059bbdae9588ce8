"""What a policy is fed: histories of frames, built the same way everywhere.

A frame is the observed channels in order, then the command sent one step before
(zeros before the first), as float32. A history is the last `history` frames,
oldest first; before enough have passed, the first frame stands in.
"""

from collections.abc import Mapping

import numpy as np

from gaploop.core import TaskSpec


class ObservationBuilder:
    """Builds histories step by step, for rollouts and runners."""

    def __init__(self, spec: TaskSpec) -> None:
        self._names = [c.name for c in spec.observed]
        self._history, self._feeds = spec.history, spec.feeds_command
        self._width = len(spec.frame_columns)
        self._buffer = np.empty((0, 0), dtype=np.float32)
        self._first = True

    def reset(self, n: int) -> None:
        """n attempts begin."""
        self._buffer = np.zeros((n, self._history * self._width), dtype=np.float32)
        self._first = True

    def push(self, readings: Mapping[str, np.ndarray], last_command: np.ndarray) -> np.ndarray:
        """Add a frame; return the (n, history * frame) float32 histories.

        readings maps channel names to (n, d); last_command is (n, a), zeros at
        the first step. The result is overwritten by the next call.
        """
        width, buffer = self._width, self._buffer
        if not self._first:
            buffer[:, :-width] = buffer[:, width:].copy()
        frame, at = buffer[:, -width:], 0
        for name in self._names:
            value = readings[name]
            frame[:, at : at + value.shape[1]] = value
            at += value.shape[1]
        if self._feeds:
            frame[:, at:] = last_command
        if self._first:
            for i in range(self._history - 1):
                buffer[:, i * width : (i + 1) * width] = frame
            self._first = False
        return buffer


def frames(spec: TaskSpec, signals: Mapping[str, np.ndarray], command: np.ndarray) -> np.ndarray:
    """(T, N, frame) float32 frames of recorded signals (T, N, d) and commands (T, N, a)."""
    parts = [np.asarray(signals[c.name], dtype=np.float32) for c in spec.observed]
    if spec.feeds_command:
        last = np.zeros(command.shape, dtype=np.float32)
        last[1:] = command[:-1]
        parts.append(last)
    return np.concatenate(parts, axis=2)


def frames_to_history(frames: np.ndarray, history: int) -> np.ndarray:
    """(T, N, d) frames to (T, N, history * d), oldest first; frame 0 stands in before the start."""
    steps = len(frames)
    back = np.arange(steps)[:, None] + np.arange(1 - history, 1)
    picked = frames[np.maximum(back, 0)]
    return np.ascontiguousarray(picked.transpose(0, 2, 1, 3)).reshape(*frames.shape[:2], -1)
