"""Reads a workcell's store into `Rounds`; whatever is missing stays None."""

import re
import tomllib
from typing import TypeVar

from gaploop.core import (
    Curation,
    Decision,
    Diagnosis,
    Episode,
    Exam,
    FieldRun,
    Posterior,
    Reproduction,
    WorkcellError,
    field_run,
)
from gaploop.stats import wilson
from gaploop.store import Workcell
from gaploop.view.rounds import Failure, Rate, Round, Rounds

T = TypeVar("T")


def gather(cell: Workcell) -> Rounds:
    """All rounds the ledger knows, in order; round 0 is the start and has no field."""
    by_round: dict[int, dict[str, str]] = {}
    for name, digest in cell.ledger.refs().items():
        match = re.fullmatch(r"(\w+)@r(\d+)", name)
        if match and digest:
            by_round.setdefault(int(match[2]), {})[match[1]] = digest
    task, field = _named(cell)
    return Rounds(
        name=cell.path.name,
        task=task,
        field=field,
        rounds=tuple(_round(cell, k, by_round[k]) for k in sorted(by_round) if k > 0),
    )


def _round(cell: Workcell, number: int, digests: dict[str, str]) -> Round:
    def stored(name: str, cls: type[T]) -> T | None:
        return _object(cell, digests.get(name, ""), cls)

    run, world = _field(cell, digests.get("field", ""))
    lo, hi = wilson(run.k, run.n) if run.n else (0.0, 1.0)
    met = {r.episode: r for r in stored("reproductions", tuple[Reproduction, ...]) or ()}
    return Round(
        number=number,
        digests=digests,
        field=Rate(k=run.k, n=run.n, lo=lo, hi=hi) if run.n else None,
        helped=run.helped,
        takeovers=run.per_100,
        world=world,
        posterior=stored("posterior", Posterior),
        failures=tuple(
            Failure(diagnosis=d, episode=_episode(cell, d.episode), reproduction=met.get(d.episode))
            for d in stored("diagnoses", tuple[Diagnosis, ...]) or ()
        ),
        curation=stored("curation", Curation),
        exam=stored("exam", Exam),
        decision=stored("decision", Decision),
    )


def _object(cell: Workcell, digest: str, cls: type[T]) -> T | None:
    return cell.objects.get(digest, cls) if digest and cell.objects.has(digest) else None


def _episode(cell: Workcell, id: str) -> Episode | None:
    try:
        return cell.episode(id)
    except WorkcellError:
        return None


def _field(cell: Workcell, dataset: str) -> tuple[FieldRun, str]:
    from gaploop.store.datasets import read_dataset

    if not dataset:
        return field_run("", ()), ""
    rows = cell.ledger.episodes(dataset)
    run = field_run("", read_dataset(cell.dataset(dataset), finite=False))
    return run, rows[0].world if rows else ""


def _named(cell: Workcell) -> tuple[str, str]:
    """(task, field) as the configuration names them; empty where it does not."""
    try:
        settings = tomllib.loads(cell.config)
    except tomllib.TOMLDecodeError:
        return "", ""
    field = settings.get("field", "")
    named = field.get("name", "") if isinstance(field, dict) else field
    return str(settings.get("task", "")), str(named)
