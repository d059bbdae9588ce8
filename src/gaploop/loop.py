"""The whole loop on one screen.

    field -> ingest -> calibrate -> diagnose -> reproduce -> curate -> generate -> train
          -> evaluate -> release, and round again with the policy that was released

A stage reads named values and writes named values. `x@prev` is the last round's,
`x@before` every earlier round's, `x@all` every round's so far. It is skipped when
the ledger holds its result for the same inputs, settings, seed, code and library
versions. A kill loses the stage it hits and nothing else. Round 0 is the policy as
it comes from the plain simulator; its field failures open round 1.

A round is told in the numbers that the acting policy meets, behind its mends. Where
the remedy is to mend, the candidate is the same policy with more mends, and nothing
is generated or trained. What the field shows of a released policy may take it back: then
an earlier one is released again.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gaploop import wiring
from gaploop.config import LoopConfig
from gaploop.core import UnknownNameError, digest, spawn
from gaploop.store import Workcell, make_run, source_digest
from gaploop.turn import Turn


@dataclass(frozen=True, slots=True)
class Stage:
    """One row of the loop: what it reads, what it writes, which settings change it."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    run: Callable[[Turn], dict[str, str]]
    settings: tuple[str, ...]
    cached: bool = True
    """False for the field: what a robot did does not change with our code."""
    variant: str = ""
    """What stands in for the stage's own function in a study; empty for the loop as it is."""


ACTING = ("policy@before", "candidate@before", "training@before", "aimed@before")
"""The policy that met the field, and the worlds it was trained in."""

ROUND = (
    Stage("field", ("policy@prev",), ("field",), wiring.field, ("task", "field", "trials"), False),
    Stage("ingest", ("field", "policy@prev"), ("screened",), wiring.ingest, ("screen",)),
    Stage("calibrate", ("field@all", "screened@all", "policy@before", "posterior@prev"),
          ("posterior",), wiring.calibrate, ("task", "calibrate")),
    Stage("diagnose", ("field", "posterior", *ACTING), ("diagnoses",),
          wiring.diagnose, ("task", "diagnose")),
    Stage("reproduce", ("field", "posterior", "diagnoses", *ACTING), ("reproductions",),
          wiring.reproduce, ("task", "reproduce")),
    Stage("curate",
          ("field@all", "posterior", "diagnoses", "reproductions", "curation@before", "policy@prev",
           "candidate@prev"),
          ("curation", "admitted"), wiring.curate, ("task", "curate")),
    Stage("generate", ("posterior", "curation"), ("data", "gates", "aimed"), wiring.generate,
          ("task", "generate")),
    Stage("train", ("data@all", "posterior", "admitted", "policy@prev", "curation"),
          ("candidate", "training"), wiring.train, ("task", "train")),
    Stage("evaluate", ("candidate", "policy@prev", "curation", "reproductions"), ("exam",),
          wiring.evaluate, ("task", "evaluate")),
    Stage("release", ("exam", "candidate", "policy@before", "field@all"), ("decision", "policy"),
          wiring.release, ("release",)),
)  # fmt: skip
"""One turn, in order."""

START = (
    Stage("generate", (), ("data", "gates"), wiring.demonstrate, ("task", "generate")),
    Stage("train", ("data",), ("policy", "training"), wiring.first, ("task", "train")),
)
"""Round 0: demonstrations in the plain simulator, and the policy they give."""

FLOOR = ("core", "sim", "robots", "tasks", "infer", "policies", "signals", "stats")
"""Rooms every stage stands on: a change there makes every stage's result a new one."""


def advance(
    cell: Workcell,
    config: LoopConfig,
    number: int,
    *,
    until: str = "",
    threads: int = 1,
    tell: Callable[[str, str], None] = lambda stage, state: None,
    rows: Sequence[Stage] = ROUND,
) -> None:
    """Runs round `number` through to stage `until` (default: all of it).

    tell: called with (stage, "running") before a stage does work, and with
      (stage, "stored") or (stage, "done") after it.
    rows: the stages of a round, for a study of another one; round 0 is always the same.

    Raises:
      UnknownNameError: for a stage the round does not have.
    """
    rows = rows if number else START
    if until and until not in (s.name for s in rows):
        raise UnknownNameError("stage", until, [s.name for s in rows])
    for stage in rows:
        _run(cell, config, number, stage, threads, tell)
        if stage.name == until:
            return


def current(cell: Workcell) -> int:
    """The round that is not decided yet: 0 before there is a policy."""
    refs = cell.ledger.refs()
    number = 0
    while f"policy@r{number}" in refs:
        number += 1
    return number


def _run(
    cell: Workcell, config: LoopConfig, number: int, stage: Stage, threads: int, tell: Callable
) -> None:
    reads = _reads(cell, stage, number)
    seed = spawn(config.seed, stage.name, number)
    turn = Turn(cell=cell, config=config, number=number, refs=reads, seed=seed, threads=threads)
    worked = False

    def work() -> dict[str, str]:
        nonlocal worked
        worked = True
        tell(stage.name, "running")
        return stage.run(turn)

    settings = {name: getattr(config, name) for name in stage.settings}
    if stage.cached:
        outputs = cell.cached(
            stage.name, work, config=settings, seed=seed, inputs=reads,
            environment=_stands_on(turn, stage),
        )  # fmt: skip
    else:
        outputs = _once(cell, stage, work, settings, seed, reads)
    with cell.ledger.transaction():
        known = cell.ledger.refs()
        for name in stage.writes:
            # what was not made this time must not be read as it was made before
            value = outputs.get(name, "")
            if known.get(f"{name}@r{number}", "") != value:
                cell.ledger.set_ref(f"{name}@r{number}", value)
    tell(stage.name, "done" if worked else "stored")


def _once(
    cell: Workcell, stage: Stage, work: Callable[[], dict[str, str]], settings: dict[str, object],
    seed: int, reads: dict[str, str],
) -> dict[str, str]:  # fmt: skip
    """A stage that keeps its own results; the ledger learns of each new one."""
    started, clock = time.time(), time.perf_counter()
    outputs = work()
    run = replace(
        make_run(stage.name, config=settings, seed=seed, inputs=reads, extra={}),
        outputs=outputs, started=started, wall=time.perf_counter() - clock,
    )  # fmt: skip
    if not any(r.outputs == outputs for r in cell.ledger.runs(stage.name)):
        cell.ledger.record(run)
    return outputs


def _stands_on(turn: Turn, stage: Stage) -> dict[str, str]:
    """Digests of the code below the stages, and of the task's world and module.

    A variant's own name and module too: it is not the stage that its row is named after.
    """
    versions = {f"source:{room}": source_digest(room) for room in FLOOR}
    if "task" in stage.settings:
        versions["world"] = turn.world.digest
        versions["source:task"] = source_digest(type(turn.task).__module__)
    if "curate" in stage.settings and turn.config.curate.remedies:
        versions["remedies"] = digest(Path(turn.config.curate.remedies).read_bytes())
    if stage.variant:
        versions["variant"] = stage.variant
        versions["source:variant"] = source_digest(stage.run.__module__)
    return versions


def _reads(cell: Workcell, stage: Stage, number: int) -> dict[str, str]:
    """The digests behind a stage's reads; what does not exist yet is left out."""
    refs = cell.ledger.refs()
    found: dict[str, str] = {}
    for read in stage.reads:
        name, _, which = read.partition("@")
        numbers = {
            "": (number,),
            "prev": (number - 1,),
            "before": tuple(range(number)),
            "all": tuple(range(number + 1)),
        }[which]
        for k in numbers:
            if refs.get(f"{name}@r{k}"):
                found[f"{name}@r{k}"] = refs[f"{name}@r{k}"]
    return found
