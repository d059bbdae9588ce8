"""Verbs on a workcell: the loop, and one verb a stage."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gaploop.cli.console import Console, inside
from gaploop.config import LoopConfig, load
from gaploop.core import Decision, UsageError
from gaploop.store import Workcell


@contextmanager
def workcell(path: Path, threads: int = 1) -> Iterator[tuple[Workcell, LoopConfig]]:
    """The workcell at `path`, locked, with its configuration."""
    if threads < 1:
        raise UsageError(f"--threads is {threads}; it must be at least 1.")
    config = load(path / "gaploop.toml", LoopConfig)
    with Workcell.open(path) as cell, cell.lock():
        yield cell, config


def run_round(
    cell: Workcell, config: LoopConfig, number: int, out: Console, threads: int, until: str = ""
) -> None:
    """Advances a round with progress lines."""
    from gaploop import loop

    def tell(stage: str, state: str) -> None:
        if state == "running":
            out.busy(f"round {number}: {stage}")

    loop.advance(cell, config, number, until=until, threads=threads, tell=tell)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Run the loop to the configured number of rounds. Resumes; costs what is new."""

    workcell: Path = Path()
    """Folder with a gaploop.toml."""
    rounds: int | None = None
    """Bring the workcell to this many rounds; default: as gaploop.toml says."""
    threads: int = 2
    """Threads of the simulation; results are the same for any number."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        from gaploop.cli.story import story, summary
        from gaploop.view import report

        out = Console(self.json)
        with workcell(self.workcell, self.threads) as (cell, config):
            total = config.rounds if self.rounds is None else self.rounds
            if total < 1:
                raise UsageError(f"--rounds is {total}; it must be at least 1.")
            for number in range(total + 1):
                run_round(cell, config, number, out, self.threads)
                if number:
                    for line in story(cell, number):
                        out.say(line)
                    out.say()
            out.busy("report")
            page = report(cell)
            out.say(f"report: {page}")
            out.say(f"next: open the report, or gaploop show last{inside(self.workcell)}")
            out.result({"rounds": [summary(cell, k) for k in range(1, total + 1)], "report": page})
        return 0


def run_stage(
    stage: str, following: str, path: Path, out: Console, *, number: int | None = None,
    threads: int = 2,
) -> int:  # fmt: skip
    """Everything of a round up to `stage`; prints the round's story so far.

    Returns the exit code: 3 when `stage` is release and the answer is not promote.
    """
    from gaploop import loop
    from gaploop.cli.story import story, summary

    with workcell(path, threads) as (cell, config):
        now = max(loop.current(cell), 1)
        number = now if number is None else number
        if not 1 <= number <= now:
            raise UsageError(f"Round {number} cannot run yet; the current one is {now}.")
        run_round(cell, config, number - 1, out, threads)
        run_round(cell, config, number, out, threads, until=stage)
        for line in story(cell, number):
            out.say(line)
        out.say(f"next: gaploop {following}{inside(path)}")
        out.result(summary(cell, number))
        if stage != "release":
            return 0
        decision = cell.objects.get(cell.ledger.refs()[f"decision@r{number}"], Decision)
        return 0 if decision.verdict == "promote" else 3


@dataclass(frozen=True, kw_only=True)
class StageVerb:
    """Runs the current round up to and with one stage."""

    stage: ClassVar[str]
    following: ClassVar[str]

    workcell: Path = Path()
    """Folder with a gaploop.toml."""
    round: int | None = None
    """Which round; default: the one that is not decided yet."""
    threads: int = 2
    """Threads of the simulation; results are the same for any number."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        return run_stage(
            self.stage, self.following, self.workcell, Console(self.json),
            number=self.round, threads=self.threads,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Reproduce(StageVerb):
    """Meet this round's failures again in simulation and scan the cause to the flip."""

    stage, following = "reproduce", "curate"


@dataclass(frozen=True, kw_only=True)
class Curate(StageVerb):
    """Prescribe a remedy a cause, and decide what enters training, the hard set, or neither."""

    stage, following = "curate", "generate"


@dataclass(frozen=True, kw_only=True)
class Generate(StageVerb):
    """Make the demonstrations that the prescriptions ask for."""

    stage, following = "generate", "train"


@dataclass(frozen=True, kw_only=True)
class Train(StageVerb):
    """Train a candidate on what was admitted and generated so far."""

    stage, following = "train", "evaluate"


@dataclass(frozen=True, kw_only=True)
class Evaluate(StageVerb):
    """Put the candidate through the exam beside the released policy."""

    stage, following = "evaluate", "release"


@dataclass(frozen=True, kw_only=True)
class Release(StageVerb):
    """Decide by the fixed rule. Exit 3 when the answer is not promote."""

    stage, following = "release", "loop"
