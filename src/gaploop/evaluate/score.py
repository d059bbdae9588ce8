"""Scores of two policies on the same attempts."""

from collections.abc import Sequence

import numpy as np

from gaploop.core import Bucket, BucketChange, Scenario, Score, digest
from gaploop.core.protocols import Controller
from gaploop.sim import World
from gaploop.sim.scenario import attempts_of
from gaploop.stats import holm, paired_change, wilson


def outcomes(
    world: World, controller: Controller, scenarios: Sequence[Scenario]
) -> tuple[np.ndarray, np.ndarray]:
    """(success (n,), void (n,)) of all scenarios, run as one batch with their own seeds."""
    if not scenarios:
        return np.zeros(0, bool), np.zeros(0, bool)
    recording = world.rollout(attempts_of(world, scenarios), controller)
    return np.asarray(world.task.judge(recording).success, bool), np.asarray(recording.void, bool)


def score(policy: str, bucket: Bucket, success: np.ndarray, valid: np.ndarray) -> Score:
    """The score of one bucket. Attempts that diverged are no attempts, for either policy."""
    counted = success[valid]
    k, n = int(counted.sum()), len(counted)
    lo, hi = wilson(k, n) if n else (0.0, 1.0)
    seeds = [s.seed for s, ok in zip(bucket.scenarios, valid, strict=True) if ok]
    return Score(
        policy=policy, bucket=bucket.name, k=k, n=n, lo=lo, hi=hi,
        outcomes=tuple(bool(x) for x in counted), seeds=digest(seeds),
    )  # fmt: skip


def changes(
    before: Sequence[Score],
    after: Sequence[Score],
    alpha: float,
    buckets: Sequence[Bucket],
) -> tuple[BucketChange, ...]:
    """Which buckets rose and which fell: exact paired tests, Holm over the buckets.

    `p_value` is the adjusted one. A bucket with fewer attempts than its minimum neither
    rises nor falls, whatever its p-value; an empty one has the widest interval.
    """
    pairs = list(zip(before, after, strict=True))
    tested = [
        paired_change(np.array(b.outcomes, bool), np.array(a.outcomes, bool)) if a.n else None
        for b, a in pairs
    ]
    raw = [t.p_value for t in tested if t is not None]
    adjusted = iter(holm(raw) if raw else ())
    found: list[BucketChange] = []
    for (b, a), test, bucket in zip(pairs, tested, buckets, strict=True):
        p, change, lo, hi = 1.0, 0.0, -1.0, 1.0
        if test is not None:
            p, change, lo, hi = float(next(adjusted)), test.change, test.lo, test.hi
        certain = p < alpha and change != 0 and a.n >= bucket.minimum
        found.append(
            BucketChange(
                bucket=a.bucket,
                before_k=b.k,
                after_k=a.k,
                n=a.n,
                p_value=p,
                lo=100 * lo,
                hi=100 * hi,
                direction=("rose" if change > 0 else "fell") if certain else "unchanged",
                fresh=bucket.fresh,
            )
        )
    return tuple(found)
