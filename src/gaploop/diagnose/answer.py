"""One set of probabilities from the tests, the interventions and the two special checks.

The rules are fixed, training-free and short, so that a reader can follow them:

1. A red contract or timing test takes the answer, whatever physics says.
2. `policy`: it fails in most worlds as it was trained on.
3. `unknown`: the log replays badly under every hypothesis, and the closed loop
   at the best ones does not fail as the robot did.
4. The rest is shared by the gaps in proportion to what putting each back changes
   (Shapley), times the probability that the log shows it off at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import betainc

from gaploop.core import CAUSES, GAPS
from gaploop.diagnose.config import DiagnoseConfig

FLOOR = 0.01
"""Mass no rule can take from a cause that was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that the answer rests on."""

    contract: float = 0.0
    """Largest Bayes factor of a contract or timing test."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Gap to Shapley value of putting it back, in success rate."""
    off: Mapping[str, float] = field(default_factory=dict)
    """Gap to the Bayes factor of it being off, against its trained values."""
    as_is: tuple[int, int] = (0, 0)
    """(successes, n) at the particles as they are."""
    trained: tuple[int, int] = (0, 0)
    """(successes, n) in worlds as the policy was trained on."""
    misfit: float = 0.0
    """Replay residual of the best hypothesis over that of healthy replays."""


def probabilities(found: Findings, config: DiagnoseConfig) -> dict[str, float]:
    """Over CAUSES, sums to 1."""
    contract = found.contract / (1.0 + found.contract) if found.contract > 1 else 0.0
    policy = _mostly_fails(found.trained, config.policy_fails)
    unknown = _unexplained(found, config)
    left = 1.0
    mass: dict[str, float] = dict.fromkeys(CAUSES, 0.0)
    for cause, p in (("contract", contract), ("policy", policy), ("unknown", unknown)):
        mass[cause] = left * p
        left -= mass[cause]
    share = _shares(found)
    for gap, p in share.items():
        mass[gap] += left * p
    if not share:
        mass["unknown"] += left
    looked_at = (*share, "contract", "policy", "unknown")
    for cause in looked_at:
        mass[cause] += FLOOR
    total = sum(mass.values())
    return {cause: mass[cause] / total for cause in CAUSES}


def _mostly_fails(result: tuple[int, int], limit: float) -> float:
    """P(failure rate > limit) under a uniform prior; 0 when nothing was run."""
    k, n = result
    return 0.0 if n == 0 else float(1.0 - betainc(n - k + 1, k + 1, limit))


def _unexplained(found: Findings, config: DiagnoseConfig) -> float:
    k, n = found.as_is
    if n == 0:
        return 0.0
    not_reproduced = float(betainc(n - k + 1, k + 1, config.reproduced))
    bad = 1.0 / (1.0 + np.exp(-4.0 * np.log(max(found.misfit, 1e-6) / config.misfit)))
    # a close replay that only sometimes fails is a case at the edge, not an unknown cause
    return float(not_reproduced * (0.3 + 0.65 * bad) + (1.0 - not_reproduced) * 0.1 * bad)


def _shares(found: Findings) -> dict[str, float]:
    weight = {
        gap: max(found.shares[gap], 0.0) * found.off[gap] / (1.0 + found.off[gap]) + 0.005
        for gap in GAPS
        if gap in found.shares
    }
    total = sum(weight.values())
    return {gap: w / total for gap, w in weight.items()} if total else {}
