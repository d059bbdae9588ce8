"""What training randomises with: the posterior, widened by what the model gets wrong.

Kept apart from the posterior, because only that is a statement about the robot.
"""

import numpy as np

from gaploop.core import KnobSpace, generator
from gaploop.infer.unit import fold


def shipped(
    space: KnobSpace,
    particles: np.ndarray,
    *,
    factor: np.ndarray,
    least: float,
    n: int,
    seed: int,
) -> np.ndarray:
    """(n, P) draws, in every knob at least as wide as the posterior.

    In prior quantiles, each draw is a particle plus noise reflected at the prior's ends.
    The noise is a scaled difference of two other particles, so that it follows the
    posterior's ridges, plus what a knob lacks to the smallest width. A knob that fills
    its prior stays there: reflection leaves the uniform distribution as it is.

    Args:
      particles: (N, P) equally weighted posterior.
      factor: (P,) how many times the posterior's sd is wanted, at least 1.
      least: smallest sd, as a share of the prior's own.
    """
    rng = generator(seed, "shipped")
    unit = space.to_unit(particles)
    width = unit.std(axis=0)
    rows = _evenly(len(unit), n, rng)
    first, second = (rng.integers(len(unit), size=n) for _ in range(2))
    grow = np.sqrt(np.maximum(factor, 1.0) ** 2 - 1.0)
    draws = fold(unit[rows] + grow * (unit[first] - unit[second]) / np.sqrt(2.0))
    floor = least / np.sqrt(12.0)
    lack = np.sqrt(np.maximum(floor**2 - (np.maximum(factor, 1.0) * width) ** 2, 0.0))
    draws = fold(draws + lack * rng.standard_normal(draws.shape))
    return space.from_unit(_no_narrower(draws, unit[rows]))


def _evenly(count: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """n row numbers that use every particle as equally as n allows."""
    rounds = [rng.permutation(count) for _ in range(-(-n // count))]
    return np.concatenate(rounds)[:n]


def _no_narrower(draws: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Where reflection at an end made a knob narrower than the posterior, keep the posterior."""
    narrow = draws.std(axis=0) < base.std(axis=0)
    return np.where(narrow, base, draws)
