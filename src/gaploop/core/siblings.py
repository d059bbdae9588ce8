"""Scenarios as arrays, and fresh siblings of one: the same case, never the same attempt."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaploop.core.attempt import Attempts
from gaploop.core.episode import Episode
from gaploop.core.knob import KnobSpace
from gaploop.core.scenario import Scenario
from gaploop.core.seeds import generator, spawn
from gaploop.core.task import TaskSpec


def as_attempts(scenarios: Sequence[Scenario], space: KnobSpace) -> Attempts:
    """Scenarios as one batch, knobs put in the columns of `space`.

    A knob of `space` that a scenario does not name stands at its nominal value.
    Raises UnknownNameError for a knob that `space` does not have.
    """
    knobs = np.tile(space.nominal, (len(scenarios), 1))
    for row, scenario in enumerate(scenarios):
        knobs[row, [space.index(name) for name in scenario.knob_names]] = scenario.knobs
    width = len(scenarios[0].layout) if scenarios else 0
    return Attempts(
        layout=np.array([s.layout for s in scenarios]).reshape(len(scenarios), width),
        knobs=knobs,
        seeds=np.array([s.seed for s in scenarios], dtype=np.uint64),
    )


def jittered(layout: np.ndarray, spec: TaskSpec, share: float, rng: np.random.Generator):
    """`layout` (..., S) moved uniformly by up to `share` of each reset range, kept inside it."""
    low = np.array([v.low for v in spec.layout])
    high = np.array([v.high for v in spec.layout])
    moved = layout + rng.uniform(-share, share, np.shape(layout)) * (high - low)
    # reflected at the border: clipping would pile siblings up on it
    moved = np.where(moved < low, 2 * low - moved, moved)
    moved = np.where(moved > high, 2 * high - moved, moved)
    return np.clip(moved, low, high)


def siblings(
    scenario: Scenario, n: int, spec: TaskSpec, share: float, seed: int
) -> tuple[Scenario, ...]:
    """`n` fresh siblings: the same knobs, a jittered layout, noise seeds of their own."""
    rng = generator(seed, "siblings", scenario.origin, scenario.seed)
    layouts = jittered(np.tile(scenario.layout, (n, 1)), spec, share, rng)
    return tuple(
        replace(
            scenario,
            layout=layouts[i],
            seed=spawn(seed, "sibling", scenario.origin, scenario.seed, i),
            controls=None,
        )
        for i in range(n)
    )


def start_given(
    episode: Episode, spec: TaskSpec, space: KnobSpace, knobs: np.ndarray
) -> np.ndarray:
    """(S,) start of a logged episode, if the knobs were `knobs` (P,).

    A log shows readings, not the truth: a start variable that a channel reads
    is that channel's reading (first row of a joint, mean of what stands still)
    less the bias the knobs claim. One that no channel reads is the `layout`
    fact, or the middle of its range.
    """
    stated = episode.fact("layout")
    start = np.array([0.5 * (v.low + v.high) for v in spec.layout])
    for i, variable in enumerate(spec.layout):
        found = _reading(episode, spec, {t.path for t in variable.targets})
        if found is not None:
            value, channel, column = found
            start[i] = value - _bias(space, knobs, channel, column)
        elif stated is not None:
            start[i] = stated[variable.name] if isinstance(stated, dict) else stated[i]
    return np.clip(start, [v.low for v in spec.layout], [v.high for v in spec.layout])


def _reading(episode: Episode, spec: TaskSpec, paths: set[str]) -> tuple[float, str, int] | None:
    for channel in spec.observed:
        signal = episode.signals.get(channel.key)
        for column, path in enumerate(channel.reads):
            if signal is not None and path in paths:
                values = signal.values.reshape(len(signal.times), -1)[:, column]
                still = path.startswith(("mocap:", "body:", "site:"))
                return float(np.mean(values) if still else values[0]), channel.name, column
    return None


def _bias(space: KnobSpace, knobs: np.ndarray, channel: str, column: int) -> float:
    path = f"sensor:{channel}.bias[{column}]"
    return sum(
        float(t.scale * knobs[i])
        for i, knob in enumerate(space.knobs)
        for t in knob.targets
        if t.path == path
    )
