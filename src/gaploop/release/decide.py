"""Promote, hold, reject, go back, or say that the evidence is too thin."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

import numpy as np

from gaploop.core import BucketChange, Decision, Exam, FieldRun, Gate
from gaploop.release.back import agrees, shows
from gaploop.release.rule import ReleaseRule
from gaploop.stats import detectable, paired_change

WORKED = "worked"


def decide(exam: Exam, rule: ReleaseRule, field: Sequence[FieldRun] = ()) -> Decision:
    """The decision on `exam.policy`, by gates that were fixed before the run.

    A gate that failed on evidence of harm rejects; a gate without enough evidence
    asks for more data; harmless but not better is held; promote needs all three.

    The fourth gate is on the acting policy. Where it did worse in the field than an earlier
    one, that one is released again, unless the candidate is promoted in a world that shows
    the fall: to be better than a policy that is known to be bad is too little where nobody
    knows why it is bad. The next round sets the candidate's own field run beside the earlier
    policy's in turn.

    Args:
      field: the field runs so far, oldest first; the last one is the acting policy's.
    """
    gates = (_worked(exam, rule), _better(exam, rule), _fell(exam, rule))
    agreed, earlier = agrees(field, rule)
    verdict = _verdict(gates)
    speaks = next((g for g in gates if g.passed is not True), gates[1])
    said = _SENTENCES[verdict].format(why=speaks.evidence)
    if earlier and verdict == "promote" and shows(exam, field, rule):
        said += f" The policy before fell in the field, and the exam shows it: {agreed.evidence}"
        earlier = ""
    if earlier:
        blind = " The exam finds the candidate better, but in a world that does not show this fall."
        said = f"Rolled back to the earlier policy: {agreed.evidence}"
        said += blind if verdict == "promote" else ""
        verdict = "roll back"
    return Decision(
        policy=exam.policy,
        against=exam.against,
        verdict=verdict,
        gates=(*gates, agreed),
        sentence=said,
        back_to=earlier,
        rule=asdict(rule),
    )


def _verdict(
    gates: tuple[Gate, Gate, Gate],
) -> Literal["promote", "hold", "reject", "need more data"]:
    """What the three gates on the candidate say."""
    worked, better, fell = (g.passed for g in gates)
    if worked is False or fell is False:
        return "reject"
    if None in (worked, better, fell):
        return "need more data"
    return "promote" if better else "hold"


_SENTENCES = {
    "promote": "Promoted: not worse where it worked, and {why}",
    "hold": "Held, the old policy stays: {why}",
    "reject": "Rejected: {why}",
    "need more data": "Not released, need more data: {why}",
}


def _worked(exam: Exam, rule: ReleaseRule) -> Gate:
    change = next((c for c in exam.changes if c.bucket == WORKED), None)
    name = "not worse where it worked"
    text = f"success on `{WORKED}` may fall by at most {rule.worked_margin:g} points"
    if change is None:
        return Gate(name=name, rule=text, passed=None, evidence=f"the exam has no `{WORKED}`.")
    if change.n == 0:
        return Gate(name=name, rule=text, passed=True, evidence="nothing worked yet to lose.")
    return Gate(
        name=name,
        rule=text,
        passed=_not_worse(exam, change, rule),
        evidence=f"{_said(change)}, 95 % interval of the change "
        f"[{change.lo:+.0f}, {change.hi:+.0f}] points.",
        detectable=_detectable(change, rule),
    )


def _not_worse(exam: Exam, change: BucketChange, rule: ReleaseRule) -> bool | None:
    if change.lo > -rule.worked_margin and change.n >= rule.minimum:
        return True
    if change.hi < 0:
        return False  # shown to be worse, and not shown to stay within the margin
    return None


def _better(exam: Exam, rule: ReleaseRule) -> Gate:
    failing = [c for c in exam.changes if c.bucket != WORKED and c.n]
    rose = [c for c in failing if c.direction == "rose"]
    said = [_said(c) for c in rose] or _together(exam, rule)
    n = sum(c.n for c in failing)
    healed = sum(h.healed for h in exam.healed)
    tail = f" healed {healed} of {len(exam.healed)}." if exam.healed else ""
    # a bucket of one kind holds the failures themselves: what only learnt them by heart rises
    # there too, but neither heals their siblings nor does better at starts that nobody saw
    learnt = bool(exam.healed) and not healed and not any(c.fresh for c in rose)
    passed: bool | None = bool(said) and not learnt
    if n < rule.minimum:
        passed = None
        evidence = f"{n} paired attempts outside `{WORKED}`, of {rule.minimum} needed."
    elif said:
        but = ", but no failure healed on fresh siblings and no bucket of fresh starts rose"
        evidence = f"{'; '.join(said)}{but if learnt else ''}.{tail}"
    else:
        most = max(failing, key=lambda c: (c.after_k - c.before_k) / c.n)
        evidence = f"no bucket rose significantly (most: {_said(most)}).{tail}"
    return Gate(
        name="better where it failed",
        rule="a bucket of failures rose (exact paired test, Holm over buckets) or all of them "
        "together did (the same test), and where failures came in, a bucket of fresh starts rose "
        "or at least one failure healed on fresh siblings",
        passed=passed,
        evidence=evidence,
        detectable=min((_detectable(c, rule) for c in failing), default=100.0),
    )


def _together(exam: Exam, rule: ReleaseRule) -> list[str]:
    """What all buckets but `worked` say as one, for many small ones may each be too small."""
    pairs = [
        (b.outcomes, a.outcomes)
        for b, a in zip(exam.baseline, exam.scores, strict=True)
        if a.bucket != WORKED and a.n
    ]
    if len(pairs) < 2:
        return []
    before, after = (np.concatenate([np.array(p[i], bool) for p in pairs]) for i in (0, 1))
    test = paired_change(before, after)
    if test.change <= 0 or test.p_value >= rule.alpha:
        return []
    return [f"all but `{WORKED}` together {before.sum()}/{test.n} -> {after.sum()}/{test.n} (rose)"]


def _fell(exam: Exam, rule: ReleaseRule) -> Gate:
    text = f"no bucket fell significantly and by more than {rule.fell_margin:g} points"
    scored = [c for c in exam.changes if c.n]
    if not scored:
        return Gate(name="nothing fell", rule=text, passed=None, evidence="no bucket was scored.")
    fallen = [
        c for c in scored
        if c.direction == "fell" and 100 * (c.before_k - c.after_k) / c.n > rule.fell_margin
    ]  # fmt: skip
    evidence = "; ".join(_said(c) for c in fallen) or f"none of {len(scored)} buckets fell"
    return Gate(
        name="nothing fell",
        rule=text,
        passed=not fallen,
        evidence=f"{evidence}.",
        detectable=max(_detectable(c, rule) for c in scored),
    )


def _said(change: BucketChange) -> str:
    return (
        f"`{change.bucket}` {change.before_k}/{change.n} -> {change.after_k}/{change.n} "
        f"({change.direction})"
    )


def _detectable(change: BucketChange, rule: ReleaseRule) -> float:
    """Smallest change in points that this n sees, were the two policies independent."""
    rate = (change.before_k + 0.5) / (change.n + 1)
    return 100 * float(detectable(change.n, rate, rule.power, rule.alpha))
