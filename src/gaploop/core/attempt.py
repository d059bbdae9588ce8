"""Attempts to simulate, and what came of them: the arrays of the hot path.

Time is the first axis of a recording, the simulation the second: one write a
control step for the whole batch.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """N attempts: where each starts, in which world, with which noise."""

    layout: np.ndarray
    """(N, S) start variables, columns as in `TaskSpec.layout`."""
    knobs: np.ndarray
    """(N, P) knob values, columns as in the world's knob space."""
    seeds: np.ndarray
    """(N,) uint64; all noise of attempt i comes from seeds[i] alone."""

    def __len__(self) -> int:
        return len(self.seeds)

    def take(self, ids: np.ndarray) -> "Attempts":
        """The attempts with these indices."""
        return Attempts(layout=self.layout[ids], knobs=self.knobs[ids], seeds=self.seeds[ids])


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What N attempts of T control steps left behind."""

    dt: float
    """Control period in s. Row t is at t * dt, before command t acts."""
    command: np.ndarray
    """(T, N, a) commands as the controller sent them (what a robot logs)."""
    signals: dict[str, np.ndarray]
    """Channel to (T, N, d): readings after the sensor pipeline, what a log holds."""
    truth: dict[str, np.ndarray]
    """Channel to (T + 1, N, d): the simulator's own values; never in a log."""
    void: np.ndarray
    """(N,) True where the simulation diverged: no attempt, not a failure."""
    observation: np.ndarray | None = None
    """(T, N, history * frame) what the policy was fed, where asked for."""

    @property
    def steps(self) -> int:
        return len(self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a task says about each attempt of a recording. Void attempts are never a success."""

    success: np.ndarray
    """(N,) bool: the criterion held to the end."""
    second: np.ndarray
    """(N,) bool: an independent check from other quantities."""
    stage: np.ndarray
    """(N,) int: index of the furthest stage completed in order, -1 for none."""
    margin: np.ndarray
    """(N,) how far from failing (positive) or from succeeding (negative), in the task's unit."""
    onset: np.ndarray
    """(N,) float s: when success became impossible or failure was plain; NaN for successes."""
    weights: np.ndarray
    """(T, N) float32: how much each frame decides, for training; mean near 1."""
    tags: tuple[str, ...] = ()
    """(N,) short words for how it ended: `inserted`, `on_rim`, `short`, ..."""
    extra: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Further (N,) figures a bucket or a picture may want."""
