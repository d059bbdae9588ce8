"""Does the field agree with the exam that released the acting policy?

The exam is held in the simulator as calibrated. Where that is wrong, a policy may pass it and
fall on the robot, and the robot's own counts say so a round later.
"""

from collections.abc import Sequence

from gaploop.core import Exam, FieldRun, Gate
from gaploop.release.rule import ReleaseRule

NAME = "the field agrees"


def agrees(field: Sequence[FieldRun], rule: ReleaseRule) -> tuple[Gate, str]:
    """(gate, the earlier policy to go back to); empty where the acting policy stands.

    One-sided exact test (Fisher) of the acting policy against the best earlier one, each by
    all of its runs, the best being that with the highest rate. Rounds have other starts and
    noise, so nothing is paired; robots that wear fare worse the later they are asked, which
    this cannot tell from a worse policy.

    Args:
      field: the field runs so far, oldest first; the last one is the acting policy's.
    """
    text = (
        "the acting policy does no worse in the field than an earlier one did "
        f"(Fisher's exact test, one-sided, level {rule.field_doubt:g})"
    )
    runs = {run.policy: run for run in _pooled(field)}
    acting = runs.pop(field[-1].policy, None) if field else None
    if acting is None or not runs:
        seen = f"{acting.k}/{acting.n} in the field" if acting else "no attempt in the field"
        evidence = f"{seen}, and no earlier policy to compare with."
        return Gate(name=NAME, rule=text, passed=True, evidence=evidence), ""
    best = max(runs.values(), key=lambda run: (run.k / run.n, run.n))
    p = _worse(acting.k, acting.n, best.k, best.n)
    doubted = p < rule.field_doubt
    evidence = (
        f"{acting.k}/{acting.n} in the field, {best.k}/{best.n} with the earlier policy "
        f"{best.policy[:8]} (p = {p:.2g})."
    )
    gate = Gate(name=NAME, rule=text, passed=not doubted, evidence=evidence)
    return gate, best.policy if doubted else ""


def shows(exam: Exam, field: Sequence[FieldRun], rule: ReleaseRule) -> bool:
    """Whether the exam's world has the acting policy fail as the field has it fail.

    By the buckets of fresh scenarios, which are drawn as the field's starts are. A world that
    still holds a policy good that fell in the field has not been told why, so that what is
    better in it need not be better than the policy to go back to.
    """
    fresh = [c for c in exam.changes if c.fresh and c.n]
    k, n = sum(c.before_k for c in fresh), sum(c.n for c in fresh)
    (acting,) = _pooled([run for run in field if run.policy == field[-1].policy])
    return n > 0 and _worse(acting.k, acting.n, k, n) >= rule.field_doubt


def _worse(k: int, n: int, other_k: int, other_n: int) -> float:
    """One-sided p-value of Fisher's exact test that k of n is no worse than the other."""
    from scipy.stats import hypergeom

    return float(hypergeom.cdf(k, n + other_n, k + other_k, n))


def _pooled(runs: Sequence[FieldRun]) -> list[FieldRun]:
    """One run a policy that made an attempt, with all of its attempts."""
    names = dict.fromkeys(run.policy for run in runs if run.n)
    return [
        FieldRun(
            policy=name,
            k=sum(r.k for r in runs if r.policy == name),
            n=sum(r.n for r in runs if r.policy == name),
        )
        for name in names
    ]
