"""A round in a few lines: what the field said, why it failed, what the exam says, the decision."""

import textwrap
from collections import Counter
from collections.abc import Iterator

from gaploop.cli.console import percent
from gaploop.cli.shown import changes, estimate, lift, reason, won
from gaploop.core import (
    Curation,
    Decision,
    Diagnosis,
    Exam,
    FieldRun,
    KnobVerdict,
    Posterior,
    field_run,
)
from gaploop.store import Workcell

_WIDTH = 100
"""Columns of a line."""
_TIED = "\u00a0"
"""A space at which no line breaks: a figure stays with its sd and unit."""


def story(cell: Workcell, number: int) -> Iterator[str]:
    """Lines on round `number`, from what is stored; a stage that did not run has no line."""
    refs = cell.ledger.refs()

    def stored(name, cls):
        found = refs.get(f"{name}@r{number}")
        return cell.objects.get(found, cls) if found else None

    head = f"round {number}"
    earlier = refs.get(f"posterior@r{number - 1}")
    before = cell.objects.get(earlier, Posterior) if earlier else None
    rows = [
        *_field(cell, refs.get(f"field@r{number}", "")),
        *_knobs(stored("posterior", Posterior), before),
        *_why(stored("diagnoses", tuple[Diagnosis, ...])),
        *_remedy(stored("curation", Curation)),
        *_exam(stored("exam", Exam)),
        *_decision(stored("decision", Decision)),
    ]
    for i, (title, text) in enumerate(rows):
        start = f"{head if i == 0 else '':<9}{title:<9}"
        yield from _wrapped(start, text)


def summary(cell: Workcell, number: int) -> dict:
    """The same as data, for --json."""
    refs = cell.ledger.refs()
    digests = {
        name.partition("@")[0]: value
        for name, value in refs.items()
        if name.endswith(f"@r{number}") and value
    }
    run = _run(cell, digests.get("field", ""))
    return {
        "round": number,
        "field": {"k": run.k, "n": run.n, "helped": run.helped, "takeovers": run.takeovers},
        "digests": digests,
        "lines": list(story(cell, number)),
        **{
            name: cell.objects.get(digests[name], cls)
            for name, cls in (("decision", Decision), ("exam", Exam))
            if name in digests
        },
    }


def _wrapped(start: str, text: str) -> Iterator[str]:
    if len(start) + len(text) <= _WIDTH:  # rows of a table keep their spaces
        yield (start + text).replace(_TIED, " ")
        return
    lines = textwrap.wrap(
        text, _WIDTH, initial_indent=start, subsequent_indent=" " * (len(start) + 2),
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
    yield from (line.replace(_TIED, " ") for line in lines)


def _run(cell: Workcell, dataset: str) -> FieldRun:
    from gaploop.store.datasets import read_dataset

    return field_run("", read_dataset(cell.dataset(dataset), finite=False) if dataset else ())


def _field(cell: Workcell, dataset: str) -> Iterator[tuple[str, str]]:
    if dataset:
        rows = cell.ledger.episodes(dataset)
        yield "field", f"{won(_run(cell, dataset))} ({rows[0].world if rows else 'field'})"


def _knobs(posterior: Posterior | None, before: Posterior | None) -> Iterator[tuple[str, str]]:
    if posterior is None:
        return
    known = _identified(posterior)
    bound = [v for v in posterior.verdicts if v.verdict == "at bound"]
    silent = [v.name for v in posterior.verdicts if v.verdict not in ("identified", "at bound")]
    text = ", ".join(estimate(v).replace(" ", _TIED) for v in known) or "none"
    yield "knobs", f"identified: {text}"
    if before is not None:
        seen = {v.name for v in _identified(before)}
        yield (
            "",
            f"new this round: {', '.join(v.name for v in known if v.name not in seen) or 'none'}",
        )
    if bound:
        yield "", f"at bound: {', '.join(v.name for v in bound)}"
    yield "", f"not yet: {', '.join(silent) or 'none'}"
    if posterior.misspecified:
        worst = next(c for c in posterior.checks if c.name == "misspecification")
        yield "", f"the model does not fit all of the log: {worst.sentence}"


def _identified(posterior: Posterior) -> list[KnobVerdict]:
    return [v for v in posterior.verdicts if v.verdict == "identified"]


def _why(diagnoses: tuple[Diagnosis, ...] | None) -> Iterator[tuple[str, str]]:
    if diagnoses is None:
        return
    if not diagnoses:
        yield "why", "no failure to explain"
        return
    groups = Counter((d.verdict, d.kind) for d in diagnoses)
    said = [
        f"{cause} {k} of {len(diagnoses)}{f' ({kind})' if kind else ''}"
        for (cause, kind), k in groups.most_common()
    ]
    yield "why", "; ".join(said)


def _remedy(curation: Curation | None) -> Iterator[tuple[str, str]]:
    if curation is None:
        return
    for p in curation.prescriptions:
        said = f" Predicts {lift(p.bucket, p.lift, p.lift_lo, p.lift_hi)}." if p.trains else ""
        yield "remedy", f"{p.sentence}{said}"


def _exam(exam: Exam | None) -> Iterator[tuple[str, str]]:
    if exam is None:
        return
    k, n = sum(s.k for s in exam.scores), sum(s.n for s in exam.scores)
    healed = sum(h.healed for h in exam.healed)
    said = f"healed {healed} of {len(exam.healed)}" if exam.healed else "no failure to heal"
    yield "exam", f"{percent(k, n)} in simulation; {said}"
    for line in changes(exam):
        yield "", f"  {line}"


def _decision(decision: Decision | None) -> Iterator[tuple[str, str]]:
    if decision is not None:
        yield "release", f"{decision.verdict}: {reason(decision)}"
