"""The evaluate stage: which buckets rose, which fell, and did each failure heal."""

from collections.abc import Sequence

import numpy as np

from gaploop.core import Exam, HardSet, Mend, Prescription, Reproduction, Scenario, digest
from gaploop.core.protocols import Controller, Policy
from gaploop.evaluate.config import EvaluateConfig
from gaploop.evaluate.heal import fresh, healed
from gaploop.evaluate.score import changes, outcomes, score
from gaploop.policies import ChunkRunner
from gaploop.sim import World


def evaluate(
    world: World,
    policy: Policy | Controller,
    against: Policy | Controller,
    hard_set: HardSet,
    reproductions: Sequence[Reproduction],
    prescriptions: Sequence[Prescription],
    config: EvaluateConfig,
    seed: int,
    *,
    policy_id: str = "",
    against_id: str = "",
    mends: Sequence[Mend] = (),
) -> Exam:
    """Old and new policy on the same scenarios with the same noise seeds, one batch each.

    `prescriptions` are those whose remedy made `policy`: their predicted lifts are
    set beside the measured ones in `kept`. `mends` are those `policy` has and `against`
    lacks; both are examined on robots as the logs show them, so where the run-time path is
    at fault, on that path. Reproductions without a scenario are
    not asked about. Raises UnknownNameError for a scenario with a foreign knob.
    """
    spec = world.spec
    asked = [r for r in reproductions if r.scenarios]
    cousins = [fresh(r, spec, config, seed) for r in asked]
    parts: list[tuple[Scenario, ...]] = [b.scenarios for b in hard_set.buckets]
    parts += [r.scenarios for r in asked]
    parts += cousins
    everything = [s for part in parts for s in part]
    units = [s.unit for s in everything]
    path = [m.inverse() for m in mends if m.cause == "contract"]
    # a contract mend and the fault that it mends cancel
    more = [m for m in mends if m.cause != "contract"]
    new, new_void = outcomes(world, _controller(policy, more, units), everything)
    old, old_void = outcomes(world, _controller(against, path, units), everything)
    valid = ~(new_void | old_void)
    edges = np.cumsum([len(p) for p in parts])[:-1]
    news, olds, valids = (np.split(x, edges) for x in (new, old, valid))
    m, r = len(hard_set.buckets), len(asked)
    rows = range(m)
    scores = [score(policy_id, hard_set.buckets[i], news[i], valids[i]) for i in rows]
    baseline = [score(against_id, hard_set.buckets[i], olds[i], valids[i]) for i in rows]
    moved = changes(baseline, scores, config.alpha, hard_set.buckets)
    return Exam(
        policy=policy_id,
        against=against_id,
        hard_set=digest(hard_set),
        scores=tuple(scores),
        baseline=tuple(baseline),
        changes=moved,
        healed=tuple(
            healed(
                asked[i].episode,
                news[m + i][valids[m + i]],
                olds[m + r + i][valids[m + r + i]],
                news[m + r + i][valids[m + r + i]],
                config,
            )
            for i in range(r)
        ),
        kept=tuple(
            (p.bucket, p.lift, 100 * (c.after_k - c.before_k) / c.n)
            for p in prescriptions
            for c in moved
            if c.bucket == p.bucket and c.n and (p.trains or any(m.cause == p.cause for m in mends))
        ),
    )


def _controller(
    policy: Policy | Controller, mends: Sequence[Mend], units: Sequence[str]
) -> Controller:
    """A runner with these mends and no others: scenarios are told as the old policy meets them."""
    if isinstance(policy, Controller):
        return policy
    return ChunkRunner(policy, mends=mends, units=units)
