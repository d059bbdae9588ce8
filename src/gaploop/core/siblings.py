"""Fresh siblings of a scenario: the same case, never the same attempt."""

from dataclasses import replace

import numpy as np

from gaploop.core.scenario import Scenario
from gaploop.core.seeds import generator, spawn
from gaploop.core.task import TaskSpec


def jittered(
    layout: np.ndarray, spec: TaskSpec, share: float, rng: np.random.Generator
) -> np.ndarray:
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
