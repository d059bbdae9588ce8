"""Is a posterior right? Many logs of the one-joint system, truths drawn from its prior.

If the likelihood is right and the chains mix, intervals of any level hold the truth
as often as they say (Cook, Gelman and Rubin 2006), and a knob that no log shows comes
back as its prior.
"""

from dataclasses import dataclass

import numpy as np

from gaploop.core import KnobSpace, generator
from gaploop.infer import (
    Chain,
    Fit,
    RobustLikelihood,
    at_rest,
    chains_many,
    search_many,
    white_sd,
)
from gaploop.testing import one_joint


@dataclass(frozen=True, slots=True, kw_only=True)
class Posteriors:
    """One posterior a simulated log, beside the truth that made it."""

    space: KnobSpace
    truth: np.ndarray
    """(L, P) knob values the logs were made with."""
    noise: np.ndarray
    """(L, 1) white-noise sd as estimated from each log, in rad."""
    fits: tuple[Fit, ...]
    chains: tuple[Chain, ...]

    def covered(self, level: float = 0.9) -> np.ndarray:
        """(L, P) bool: whether each central interval of this level holds the truth."""
        tail = 0.5 * (1.0 - level)
        ends = [np.quantile(c.flat, [tail, 1.0 - tail], axis=0) for c in self.chains]
        low, high = np.array(ends).swapaxes(0, 1)
        return (self.truth >= low) & (self.truth <= high)

    def width(self) -> np.ndarray:
        """(L, P) posterior sd over prior sd."""
        prior = np.array([k.prior.width for k in self.space.knobs])
        return np.array([c.flat.std(axis=0) for c in self.chains]) / prior


def posteriors(logs: int, seed: int) -> Posteriors:
    """Search and chains for `logs` simulated logs, all in one vectorised run."""
    space = one_joint.space()
    joint = one_joint.excite(seed, logs)
    truth = space.sample(generator(seed, "truth"), logs)
    logged = one_joint.measure(joint, truth, seed)

    def residual(values: np.ndarray) -> np.ndarray:
        rows = values.reshape(logs, -1, len(space)).transpose(1, 0, 2)
        return (logged[None] - joint.simulate(rows))[..., None]

    def level(likelihood: RobustLikelihood):
        return lambda values: likelihood.by_episode(residual(values)).T.ravel()

    noise = np.array(
        [white_sd(logged[i, :, None], at_rest(joint.commands[i])) for i in range(logs)]
    )
    rough = RobustLikelihood(scale=3 * noise, temper=np.ones((logs, 1)))
    fits = search_many(level(rough), space, seed=seed, groups=logs, starts=2, budget=960)
    best = np.array([fit.best for fit in fits])
    likelihood = RobustLikelihood.at(
        residual(best)[0], noise, parameters=4, per_episode=True, blocks=4, price=8.0
    )
    chains = chains_many(
        level(likelihood), space, fits=fits, seed=seed, walkers=16, steps=200, burn=100
    )
    return Posteriors(space=space, truth=truth, noise=noise, fits=tuple(fits), chains=tuple(chains))
