"""Stored results in lines for people: figures with their unit, rates with k, n and interval."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gaploop.cli.console import percent
from gaploop.core import (
    Curation,
    Decision,
    Diagnosis,
    Exam,
    FieldRun,
    KnobVerdict,
    Posterior,
    Reproduction,
    Score,
)
from gaploop.core.units import rescaled


def figure(mean: float, sd: float, unit: str) -> tuple[str, str]:
    """(`1.113`, `0.003 mm`): both in the unit that suits the larger, the mean as fine as its sd.

    The sd has two figures, and no figure is written as 7.5e+02.
    """
    factor, label = rescaled(unit, max(abs(mean), sd))
    digits = max(0, 1 - _exponent(factor * sd)) if sd > 0 else 3
    tail = "" if label == "1" else f" {label}"
    middle = f"{factor * mean:.{digits}f}"
    if float(middle) == 0:
        middle = middle.removeprefix("-")
    return middle, f"{factor * sd:.{digits}f}{tail}"


def interval(lo: float, hi: float, unit: str, sd: float) -> str:
    """`[0.22, 0.39]`, as fine as `figure` writes the sd, in the same unit."""
    return "[" + ", ".join(figure(x, sd, unit)[0] for x in (lo, hi)) + "]"


def _exponent(value: float) -> int:
    return int(f"{value:.1e}".partition("e")[2])


def estimate(verdict: KnobVerdict) -> str:
    """`gain 1.113 +- 0.003`."""
    mean, sd = figure(verdict.mean, verdict.sd, verdict.unit)
    return f"{verdict.name} {mean} +- {sd}"


def won(run: FieldRun) -> str:
    """`12/20 [39, 78] % alone, 5 with help (25 takeovers per 100)`, or how many succeeded."""
    rate = percent(run.k, run.n)
    if not run.takeovers:
        return f"{rate} succeeded"
    return f"{rate} alone, {run.helped} with help ({run.per_100:.0f} takeovers per 100)"


def changes(exam: Exam) -> Iterator[str]:
    """Each bucket before and after, then each failure."""
    for c in exam.changes:
        if c.n == 0:
            yield f"{c.bucket:<26} no attempt to score"
            continue
        yield f"{c.bucket:<26} {c.before_k:>3} -> {c.after_k:>3} of {c.n:<4} {c.direction}"
    for h in exam.healed:
        yield (
            f"ep:{h.episode[:8]} own {h.own_k}/{h.own_n}, siblings {h.before_k} ->"
            f" {h.siblings_k} of {h.siblings_n}: {'healed' if h.healed else 'not healed'}"
        )


def _posterior(posterior: Posterior) -> Iterator[str]:
    yield f"rests on {len(posterior.episodes)} episodes; mean +- sd, 90 % interval, verdict"
    for v in posterior.verdicts:
        # one unit for the row, so that its four figures can be compared
        factor, label = rescaled(v.unit, max(abs(v.lo), abs(v.hi), v.sd))
        mean, sd = figure(factor * v.mean, factor * v.sd, "1")
        span = interval(factor * v.lo, factor * v.hi, "1", factor * v.sd)
        unit = "" if label == "1" else label
        yield f"  {v.name:<18} {mean:>8} +- {sd:<7} {unit:<7} {span:<20} {v.verdict}"
    for check in posterior.checks:
        said = f": {check.sentence}" if check.sentence else ""
        yield f"  {'ok ' if check.ok else 'BAD'} {check.name} {check.value:.3g}{said}"


def _diagnoses(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    if not diagnoses:
        yield "no failure to explain"
    for d in diagnoses:
        yield f"ep:{d.episode[:8]}: {verdict(d)}"
        for e in sorted(d.evidence, key=lambda e: -e.bayes_factor):
            yield f"  [{e.t0:.2f}, {e.t1:.2f}] s  {e.cause}: {e.sentence}"
        for title, items in (("present", d.present), ("against", d.excluded),
                             ("not seen", d.not_seen)):  # fmt: skip
            for item in items:
                yield f"  {title}: {item}"
        if d.probe:
            yield f"  next test: {d.probe}"


def verdict(d: Diagnosis) -> str:
    """`execution (torque limit), p 0.72; 90 % set: execution, policy`."""
    kind = f" ({d.kind})" if d.kind else ""
    return (
        f"{d.verdict}{kind}, p {d.probabilities.get(d.verdict, 0.0):.2f};"
        f" 90 % set: {', '.join(d.credible)}"
    )


def _reproductions(reproductions: Sequence[Reproduction]) -> Iterator[str]:
    if not reproductions:
        yield "no failure to reproduce"
    for r in reproductions:
        yield f"ep:{r.episode[:8]}: met again in {percent(r.reproduced, r.n)} of the worlds tried"
        if r.sentence:
            yield f"  {r.sentence}"
        if (c := r.counterfactual) is not None:
            factor, unit = rescaled(c.unit, max(abs(x) for x in c.scan))
            rates = ", ".join(f"{factor * x:.3g}: {p:.2f}"
                              for x, p in zip(c.scan, c.response, strict=True))  # fmt: skip
            tail = "" if unit == "1" else f" in {unit}"
            yield f"  success by {c.knob}{tail}, {c.n} attempts each: {rates}"


def _curation(curation: Curation) -> Iterator[str]:
    for p in curation.prescriptions:
        yield f"{p.cause} -> {p.remedy}: {p.sentence}"
        if p.trains:
            yield f"  predicts {lift(p.bucket, p.lift, p.lift_lo, p.lift_hi)}"
    places = Counter(a.destination for a in curation.admissions)
    yield "episodes: " + (", ".join(f"{n} {place}" for place, n in places.most_common()) or "none")
    for a in curation.admissions:
        yield f"  ep:{a.episode[:8]} {a.destination}: {a.reason}"
    yield f"hard set, version {curation.hard_set.version}"
    for b in curation.hard_set.buckets:
        yield f"  {b.name:<26} {len(b.scenarios):>3} scenarios  {b.predicate}"


def lift(bucket: str, points: float, lo: float, hi: float) -> str:
    """`worked` +48 [+18, +62] points."""
    return f"`{bucket}` {points:+.0f} [{lo:+.0f}, {hi:+.0f}] points"


def _exam(exam: Exam) -> Iterator[str]:
    for title, scores in (("candidate", exam.scores), ("before", exam.baseline)):
        yield title
        yield from (f"  {s.bucket:<26} {_score(s)}" for s in scores)
    yield "on the same seeds"
    yield from (f"  {line}" for line in changes(exam))
    for bucket, predicted, measured in exam.kept:
        yield f"promised {bucket} {predicted:+.0f} points, measured {measured:+.0f}"


def _score(score: Score) -> str:
    if not score.n:
        return "no attempt to score"
    return f"{score.k}/{score.n} [{100 * score.lo:.0f}, {100 * score.hi:.0f}] %"


def _decision(decision: Decision) -> Iterator[str]:
    yield f"{decision.verdict}: {reason(decision)}"
    if decision.back_to:
        yield f"  acts again: policy {decision.back_to[:8]}"
    for gate in decision.gates:
        said = "no evidence" if gate.passed is None else "passed" if gate.passed else "failed"
        yield f"  {said}: {gate.rule}"
        seen = f" Smallest effect this could see: {gate.detectable:.0f} points."
        yield f"    {gate.evidence}{seen if gate.detectable else ''}"
    yield "  limits: " + ", ".join(f"{k} {v:g}" for k, v in decision.rule.items())


def reason(decision: Decision) -> str:
    """The decision's sentence without the verdict it starts with (`Held, the old ...: `)."""
    head, colon, rest = decision.sentence.partition(": ")
    return rest if colon and len(head) < 40 else decision.sentence


LINES: dict[str, Callable[[Any], Iterator[str]]] = {
    "posterior": _posterior,
    "aimed": _posterior,
    "diagnoses": _diagnoses,
    "reproductions": _reproductions,
    "curation": _curation,
    "exam": _exam,
    "decision": _decision,
}
"""What `show` prints of a name; `--json` holds everything."""
