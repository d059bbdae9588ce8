"""From rounds to what each template is given. No HTML here, only what to say."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from gaploop.core import CAUSES, BucketChange, Exam, Score
from gaploop.core.units import rescaled, shown
from gaploop.stats import wilson
from gaploop.view.figures import (
    cause_figure,
    exam_figure,
    knob_figure,
    percent,
    rate_axis,
    response_figure,
    trend_figure,
    whisker,
)
from gaploop.view.rounds import Failure, Rate, Round, Rounds
from gaploop.view.svg import Scale, picture
from gaploop.view.traces import curve_names, trace_figure

STAGES = (
    "field", "posterior", "diagnoses", "reproductions", "curation", "data", "candidate", "exam",
    "decision", "policy",
)  # fmt: skip
"""Refs a round leaves, in the order of the loop."""


def rate_of(k: int, n: int) -> Rate | None:
    """k of n with its Wilson interval; None for no attempts."""
    if n == 0:
        return None
    lo, hi = wilson(k, n)
    return Rate(k=k, n=n, lo=lo, hi=hi)


def score_rate(score: Score) -> Rate | None:
    """A stored score with its own interval."""
    return Rate(k=score.k, n=score.n, lo=score.lo, hi=score.hi) if score.n else None


def page_name(number: int, failure: Failure) -> str:
    """Where a failure's page lies, from the report's root."""
    return f"failures/r{number}-{failure.diagnosis.episode[:12]}.html"


def index_page(story: Rounds) -> dict[str, Any]:
    """Context of index.html."""
    rows = [_row(turn) for turn in story.rounds]
    points = [(f"round {turn.number}", turn.field) for turn in story.rounds]
    return {
        "title": "The loop",
        "headline": _headline(story),
        "lede": _lede(story),
        "rows": rows,
        "knobs": list(_knobs(story)),
        "trend": trend_figure(points, "Field success, a point a round"),
        "stages": [s for s in STAGES if any(s in turn.digests for turn in story.rounds)],
    }


def hardset_page(story: Rounds) -> dict[str, Any]:
    """Context of hardset.html: bucket x policy, the newest frozen set beside."""
    exams = [(turn, turn.exam) for turn in story.rounds if turn.exam is not None]
    policies: list[dict[str, str]] = []
    columns: list[dict[str, Rate | None]] = []
    for turn, exam in exams:
        for label, scores in _sides(turn.number, exam, first=not policies):
            before = label.endswith("before")
            said = "" if before or turn.decision is None else turn.decision.verdict
            digest = exam.against if before else exam.policy
            policies.append({"label": label, "digest": digest, "verdict": said})
            columns.append({s.bucket: score_rate(s) for s in scores})
    sets = [turn.curation.hard_set for turn in story.rounds if turn.curation is not None]
    newest = sets[-1] if sets else None
    frozen = {b.name: b for b in newest.buckets} if newest else {}
    names = dict.fromkeys([*frozen, *(name for column in columns for name in column)])
    sides = Counter(newest.origins.values()) if newest else Counter()
    return {
        "title": "Hard set",
        "policies": policies,
        "buckets": [
            {"name": n, "frozen": frozen.get(n), "cells": [c.get(n) for c in columns]}
            for n in names
        ],
        "origins": f"Origins of failures: {sides['exam']} for the exam alone, {sides['trainable']} "
        "may be trained around; an exact scenario is never trained." if sides else "",
        "bar": _cell_bar,
    }  # fmt: skip


def failure_page(turn: Round, failure: Failure) -> dict[str, Any]:
    """Context of one failure's page."""
    d, r = failure.diagnosis, failure.reproduction
    scanned = r.counterfactual if r is not None else None
    figure = None if failure.episode is None else trace_figure(failure.episode, r, d.evidence)
    p = d.probabilities.get(d.verdict, 0.0)
    named = f"{d.kind}: {d.verdict}" if d.kind else d.verdict
    return {
        "title": f"Failure {d.episode[:8]}",
        "heading": f"{named[:1].upper()}{named[1:]}, probability {p:.2f}",
        "number": turn.number,
        "d": d,
        "r": r,
        "bar": cause_figure(d.probabilities, 1080.0),
        "causes": [c for c in CAUSES if d.probabilities.get(c, 0.0) > 0],
        "traces": figure,
        "curves": curve_names(r),
        "rescues": [
            {"gap": gap, "rate": rate, "bar": _cell_bar(rate, gap)}
            for gap, (k, n) in d.rescue.items()
            if (rate := rate_of(k, n)) is not None
        ],
        "response": response_figure(scanned) if scanned is not None else None,
        "reproduced": rate_of(r.reproduced, r.n) if r is not None else None,
        "chain": list(_chain(turn, failure)),
        "factor": factor_text,
    }


def factor_text(value: float) -> str:
    """A Bayes factor in words people can rank: capped, because sharper is not honest."""
    if value >= 1000:
        return "over 1000"
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _headline(story: Rounds) -> str:
    ran = [turn for turn in story.rounds if turn.field is not None]
    if not ran:
        return "Nothing has met the field yet"
    first, last = ran[0], ran[-1]
    assert first.field is not None
    assert last.field is not None
    alone = " alone" if any(turn.takeovers for turn in ran) else ""
    if first is last:
        return f"{first.field.k} of {first.field.n} succeeded{alone} in the field"
    return (
        f"From {first.field.k} of {first.field.n} to {last.field.k} of {last.field.n}{alone} "
        f"in the field, over {len(ran)} rounds"
    )


def _lede(story: Rounds) -> str:
    worlds = {turn.world for turn in story.rounds if turn.world}
    where = f"{story.field} ({', '.join(sorted(worlds))})" if worlds else story.field
    said = f"Task {story.task or 'not named'}, field {where or 'not named'}."
    if "stand-in" in worlds:
        said += (
            " A stand-in is a simulated world whose truth the loop cannot see: this is sim-to-sim."
        )
    return said


def _row(turn: Round) -> dict[str, Any]:
    posterior, exam = turn.posterior, turn.exam
    known = [v.name for v in posterior.verdicts if v.verdict == "identified"] if posterior else []
    total = len(posterior.verdicts) if posterior else 0
    counts = Counter(f.diagnosis.verdict for f in turn.failures)
    healed = exam.healed if exam else ()
    return {
        "round": turn,
        "help": _help(turn),
        "identified": f"{len(known)} of {total} knobs" if posterior else "not calibrated",
        "causes": counts.most_common(),
        "healed": f"{sum(h.healed for h in healed)} of {len(healed)}"
        if healed
        else "none examined",
        "exam": exam_figure(_exam_rows(exam)) if exam and exam.scores else None,
        "failures": [_failure_row(turn, f) for f in turn.failures],
    }


def _help(turn: Round) -> str:
    """`alone; 5 with help, 25 takeovers per 100`, nothing where nobody stepped in."""
    if not turn.takeovers:
        return ""
    return f"alone; {turn.helped} with help, {turn.takeovers:.0f} takeovers per 100"


def _failure_row(turn: Round, failure: Failure) -> dict[str, Any]:
    d, r = failure.diagnosis, failure.reproduction
    rate = rate_of(r.reproduced, r.n) if r else None
    return {
        "page": page_name(turn.number, failure),
        "id": d.episode,
        "kind": d.kind or d.verdict,
        "stage": d.stage,
        "bar": cause_figure(d.probabilities, 470.0),
        "reproduced": f"Reproduced {percent(rate)}." if rate else "Not reproduced yet.",
        "sentence": r.sentence if r else "",
    }


def _exam_rows(exam: Exam) -> list[tuple[str, Rate | None, Rate | None]]:
    before = {s.bucket: score_rate(s) for s in exam.baseline}
    return [(s.bucket, before.get(s.bucket), score_rate(s)) for s in exam.scores]


def _sides(number: int, exam: Exam, first: bool) -> Iterator[tuple[str, tuple[Score, ...]]]:
    if first:
        yield f"Round {number}, before", exam.baseline
    yield f"Round {number}", exam.scores


def _knobs(story: Rounds) -> Iterator[dict[str, Any]]:
    spaces = [turn.posterior.space for turn in story.rounds if turn.posterior is not None]
    if not spaces:
        return
    for knob in spaces[-1].knobs:
        cells = []
        for turn in story.rounds:
            verdict = turn.posterior.verdict(knob.name) if turn.posterior else None
            if verdict is None:
                cells.append(None)
                continue
            figure = knob_figure(knob, verdict)
            factor, unit = rescaled(knob.unit, verdict.mean)
            middle = f"{factor * verdict.mean:.4g} ± {factor * verdict.sd:.2g} {unit}"
            middle = middle.removesuffix(" 1")
            known = verdict.verdict == "identified"
            cells.append({"figure": figure, "text": middle if known else verdict.verdict})
        span = f"{shown(knob.prior.low, knob.unit)} to {shown(knob.prior.high, knob.unit)}"
        yield {
            "name": knob.name.replace("_", " "), "gap": knob.gap, "cells": cells, "span": span
        }  # fmt: skip


def _cell_bar(rate: Rate, name: str) -> Markup:
    x = Scale(0.0, 1.0, 6.0, 134.0)
    axis = rate_axis(x, 2.0, 14.0)[::2]  # the hairlines alone
    return picture(140, 16, f"{name}: {percent(rate)}", [*axis, whisker(x, 8, rate, name, "after")])


def _chain(turn: Round, failure: Failure) -> Iterator[dict[str, str]]:
    d = failure.diagnosis
    yield {"name": "failure", "text": d.episode[:8]}
    yield {"name": "diagnosis", "text": d.kind or d.verdict}
    asked = [
        p
        for p in (turn.curation.prescriptions if turn.curation else ())
        if d.episode in p.episodes or (not p.episodes and p.cause == d.verdict)
    ]
    if not asked:
        yield {"name": "prescription", "text": "none"}
    for item in asked[:1]:
        yield {"name": "prescription", "text": f"{item.remedy} ({item.cause})"}
    for name in ("data", "candidate"):
        if name in turn.digests:
            label = "policy" if name == "candidate" else name
            yield {"name": label, "text": turn.digests[name][:8]}
    if turn.exam is not None:
        yield {
            "name": "score",
            "text": _score_text(turn.exam, d.episode, asked[0].bucket if asked else ""),
        }
    if turn.decision is not None:
        yield {"name": "decision", "text": turn.decision.verdict}


def _score_text(exam: Exam, episode: str, bucket: str) -> str:
    for item in exam.healed:
        if item.episode == episode:
            said = "healed" if item.healed else "not healed"
            return f"{said}, siblings {item.before_k} to {item.siblings_k} of {item.siblings_n}"
    change: BucketChange | None = next((c for c in exam.changes if c.bucket == bucket), None)
    if change is not None:
        return f"{bucket} {change.before_k} to {change.after_k} of {change.n}"
    return "this failure was not examined again"
