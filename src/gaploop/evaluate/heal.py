"""Did this very failure heal?

The rule, fixed before the run. A failure healed when all three hold:
1. the new policy succeeds in more than half of its own scenarios (those that
   reproduced it, their own noise seeds);
2. on fresh siblings (same knobs, start jittered, new noise seeds, nobody trained
   on them) its success rate lies above `heal_rate`, lower end of a 95 % Wilson
   interval;
3. on the same siblings it is better than the old policy: one-sided exact test
   on the pairs that differ, at level `alpha`.
A failure that the old policy no longer shows on its siblings cannot heal: there
is nothing left to see.
"""

from math import comb

import numpy as np

from gaploop.core import Healed, Reproduction, Scenario, TaskSpec
from gaploop.core.siblings import siblings
from gaploop.evaluate.config import EvaluateConfig
from gaploop.stats import wilson


def fresh(
    reproduction: Reproduction, spec: TaskSpec, config: EvaluateConfig, seed: int
) -> tuple[Scenario, ...]:
    """`config.siblings` siblings, spread evenly over the reproduction's scenarios."""
    own = reproduction.scenarios
    shares = [len(range(i, config.siblings, len(own))) for i in range(len(own))]
    return tuple(
        s
        for scenario, n in zip(own, shares, strict=True)
        for s in siblings(scenario, n, spec, config.jitter, seed)
    )


def healed(
    episode: str,
    own: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    config: EvaluateConfig,
) -> Healed:
    """The verdict for one failure, by the rule above.

    Args:
      own: (m,) bool, the new policy in the failure's own scenarios.
      before: (n,) bool, the old policy on the siblings.
      after: (n,) bool, the new policy on the same siblings.
    """
    n = len(after)
    lower = wilson(int(after.sum()), n)[0] if n else 0.0
    better = gained(before, after) <= config.alpha
    return Healed(
        episode=episode,
        own_k=int(own.sum()), own_n=len(own),
        siblings_k=int(after.sum()), siblings_n=n,
        before_k=int(before.sum()),
        healed=bool(2 * own.sum() > len(own) and lower > config.heal_rate and better),
    )  # fmt: skip


def gained(before: np.ndarray, after: np.ndarray) -> float:
    """One-sided exact p-value that `after` is no better, from the pairs that differ.

    McNemar (1947) in its exact form: gains among n differing pairs are Binomial(n, 1/2).
    """
    gains = int(np.sum(after & ~before))
    n = int(np.sum(after != before))
    return sum(comb(n, k) for k in range(gains, n + 1)) / 2**n
