"""Verbs on logs: check, ingest, calibrate, diagnose. On a path they need no workcell."""

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from gaploop.cli.console import Console
from gaploop.cli.shown import figure, interval, verdict
from gaploop.core import Diagnosis, Episode, InputError, UsageError

Paths = Annotated[tuple[Path, ...], tyro.conf.Positional]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Say what is wrong with logs or a dataset: contract, integrity, timing. Changes nothing."""

    paths: Paths
    """Log files or dataset folders; the format is found out."""
    contract: tuple[Path, Path] | None = None
    """Compare two contracts instead: policies, contract files, LeRobot processor folders, logs.
    Exit 1 where they state different things."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        if self.contract is not None:
            return _contracts(self.paths, *self.contract, self.json)
        from gaploop.ingest import check

        _need(self.paths, "check")
        out = Console(self.json)
        reports = [check(path) for path in self.paths]
        for path, report in zip(self.paths, reports, strict=True):
            out.say(f"{path}: {report.format}, {report.episodes} episodes, {report.frames} frames")
            _findings(out, report.findings, report.episodes)
        out.say(f"next: gaploop diagnose {self.paths[0]}")
        many = [{"path": p, **asdict(r)} for p, r in zip(self.paths, reports, strict=True)]
        out.result(asdict(reports[0]) if len(reports) == 1 else {"reports": many})
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """Read and screen logs. Without a path, inside a workcell: this round's field episodes."""

    paths: Paths = ()
    """Log files or dataset folders; none means the round's own field."""
    workcell: Path = Path()
    """Folder with a gaploop.toml."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        if not self.paths:
            return _stage("ingest", "calibrate", self.workcell, self.json)
        from gaploop.ingest import ingest

        out, shown = Console(self.json), []
        for path in self.paths:
            episodes, screened = ingest(path)
            out.say(
                f"{path}: {len(episodes)} episodes, {len(screened.clean)} clean,"
                f" {len(screened.quarantined)} quarantined"
            )
            _findings(out, screened.findings, len(episodes))
            shown.append({"path": path, "episodes": [e.id for e in episodes], "screen": screened})
        out.say(f"next: gaploop diagnose {self.paths[0]}")
        out.result({"read": shown})
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrate:
    """From logs to a posterior over simulator knobs.

    With --system, on log files, without a workcell. Without it, inside a
    workcell: the robot of this round.
    """

    logs: Paths = ()
    """Logs to fit, files or folders; those also held out are left out of the fit."""
    system: Literal["", "servo"] = ""
    """Model to fit: servo is a position-controlled joint with its load."""
    held_out: tuple[Path, ...] = ()
    """Logs to judge the fit on, never fitted."""
    seed: int = 0
    """Seed of the search and the chains."""
    out: Path | None = None
    """Write the posterior to this file (JSON) instead of printing it inline."""
    workcell: Path = Path()
    """Folder with a gaploop.toml."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        if not self.system:
            if self.logs:
                raise UsageError("Logs need a model.", hint="Add --system servo.")
            return _stage("calibrate", "diagnose", self.workcell, self.json)
        from gaploop.calibrate.servo import ServoConfig, calibrate_servo, servo_json

        _need(self.logs, "calibrate --system")
        console = Console(self.json)
        held_out = _files(self.held_out)
        logs = [p for p in _files(self.logs) if p.resolve() not in {h.resolve() for h in held_out}]
        if not logs:
            raise UsageError("All logs are held out; nothing is left to fit.")
        console.say(f"fit on {len(logs)} logs, held out {len(held_out)}")
        console.busy("choosing a friction model and fitting it: about a minute")
        result = servo_json(calibrate_servo(logs, held_out, ServoConfig(), self.seed))
        if self.out is not None:
            result["posterior"] = _write(self.out, result["posterior"])
        _show_calibration(console, result)
        console.result(result)
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnose:
    """Why did it fail: cause, knob, stage, with what the log shows and what it cannot.

    On a path, from the log alone. Without one, inside a workcell: this round's
    failures, with interventions in the calibrated world.
    """

    paths: Paths = ()
    """Log files or dataset folders; none means this round's failures."""
    workcell: Path = Path()
    """Folder with a gaploop.toml."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        if not self.paths:
            return _stage("diagnose", "reproduce", self.workcell, self.json)
        from gaploop.diagnose.log import diagnose_log
        from gaploop.ingest import ingest

        out = Console(self.json)
        answers: list[Diagnosis] = []
        for path in self.paths:
            episodes = ingest(path)[0]
            found = diagnose_log(episodes)
            well, n = sum(e.success is True for e in episodes), len(episodes)
            if well:
                rest = "no failure here, so each is read" if well == n else "the others are read"
                out.say(f"{path}: {well} of {n} succeeded; {rest}")
            shared = _shared(found)
            for answer in found:
                episode = next(e for e in episodes if e.id == answer.episode)
                for line in _answer(path, episode, answer, shared):
                    out.say(line)
            if shared:
                out.say(f"the same for all {len(found)} episodes of {path}")
                for title, item in shared:
                    out.say(f"  {title}: {item}")
            answers += found
        shown = [{**asdict(a), "counterfactual": None} for a in answers]
        out.result(shown[0] if len(shown) == 1 else {"diagnoses": shown})
        return 0


def _stage(name: str, following: str, workcell: Path, as_json: bool) -> int:
    from gaploop.cli.rounds import run_stage

    return run_stage(name, following, workcell, Console(as_json))


def _need(paths: Sequence[Path], verb: str) -> None:
    if not paths:
        raise UsageError(f"{verb} needs a path.", hint=f"For example: gaploop {verb} my_logs/")


def _contracts(paths: Sequence[Path], one: Path, other: Path, as_json: bool) -> int:
    from gaploop.ingest.contracts.report import compared

    if paths:
        raise UsageError("--contract takes its two paths itself.", hint="Leave the others out.")
    report = compared(one, other)
    out = Console(as_json)
    for line in report.lines:
        out.say(line)
    out.result(report.data)
    return 0 if report.agree else 1


_WORST_FIRST = ("error", "warning", "info")


_SHOWN = 4
"""Findings of one kind that are printed; a set may have a hundred columns at rest."""


def _findings(out: Console, findings: Sequence[Any], total: int) -> None:
    told: Counter[tuple[str, str]] = Counter()
    for finding in sorted(findings, key=lambda f: _WORST_FIRST.index(f.severity)):
        kind = (finding.severity, finding.code)
        told[kind] += 1
        if told[kind] > _SHOWN:
            continue
        _wrapped(out, f"  {finding.severity:<7} {finding.code}: {finding.message}")
        which = [e for e in finding.episodes if isinstance(e, int)]
        if which and len(which) < total:
            _wrapped(out, f"          episodes: {_ranges(which)}")
        if finding.fix:
            _wrapped(out, f"          fix: {finding.fix}")
    for (severity, code), count in told.items():
        if count > _SHOWN:
            out.say(f"  {severity:<7} {code}: {count - _SHOWN} more features, see --json")
    if not findings:
        out.say("  nothing found")


def _wrapped(out: Console, line: str) -> None:
    width = max(60, min(shutil.get_terminal_size().columns, 120))
    for part in textwrap.wrap(line, width, subsequent_indent=" " * 10, break_long_words=False):
        out.say(part)


def _ranges(numbers: Sequence[int], most: int = 12) -> str:
    """`0-3, 7, 9-11`; after `most` stretches it says how many are left."""
    found: list[list[int]] = []
    for n in sorted(set(numbers)):
        if found and n == found[-1][1] + 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    shown = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in found[:most])
    rest = sum(b - a + 1 for a, b in found[most:])
    return f"{shown} and {rest} more" if rest else shown


def _files(paths: Sequence[Path]) -> list[Path]:
    """Files, and the JSON files of folders, sorted."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.json"))
            if not inside:
                raise InputError(f"{path} holds no .json log.")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise InputError(f"{path} does not exist.")
    return found


def _write(path: Path, posterior: Any) -> str:
    import json as codec

    from gaploop.cli.console import plain

    draft = path.with_name(f".{path.name}.part")
    draft.write_text(codec.dumps(plain(posterior)), encoding="utf-8")
    draft.replace(path)
    return str(path)


def _show_calibration(out: Console, result: dict[str, Any]) -> None:
    out.say(f"friction model {result['model']}: {result['verdict']}")
    out.say("mean +- sd, unit, 90 % interval, verdict")
    for knob in result["knobs"]:
        # in the logs' own unit, so that it compares with a data sheet
        digits = figure(knob["mean"], knob["sd"], "1")
        unit = "" if knob["unit"] == "1" else knob["unit"]
        span = interval(knob["lo"], knob["hi"], "1", knob["sd"])
        out.say(
            f"  {knob['name']:<18} {digits[0]:>9} +- {digits[1]:<8} {unit:<9} {span:<20}"
            f" {knob['verdict']}"
        )
    held_out = result["held_out"]
    if held_out and held_out["value"] is not None:
        count = len(held_out["per_log"])
        out.say(
            f"held out: {held_out['metric']} {held_out['value']:.3g} {held_out['unit']}"
            f" over {count} logs"
        )


_Said = tuple[str, str]


def _remarks(answer: Diagnosis) -> list[_Said]:
    """(title, sentence) of all that stands below the evidence."""
    found = [("excluded", item) for item in answer.excluded]
    found += [("not seen", item) for item in answer.not_seen]
    return [*found, ("next test", answer.probe)] if answer.probe else found


def _shared(answers: Sequence[Diagnosis]) -> list[_Said]:
    """Remarks that every one of several episodes would repeat."""
    if len(answers) < 2:
        return []
    rest = [set(_remarks(a)) for a in answers[1:]]
    return [said for said in _remarks(answers[0]) if all(said in other for other in rest)]


def _answer(
    path: Path, episode: Episode, answer: Diagnosis, shared: Sequence[_Said]
) -> Iterator[str]:
    judged = {True: "succeeded", False: "failed", None: "nobody judged it"}[episode.success]
    files = [part.rsplit("/", 1)[-1] for part in episode.source.split(" + ") if part]
    # a folder's episodes are told apart by their file, not by the start of an id alone
    name = f" {' + '.join(files)}" if files and files != [path.name] else ""
    yield f"{path}{name} ep:{answer.episode[:8]} ({judged}): {verdict(answer)}"
    for e in answer.evidence:
        yield f"  [{e.t0:.2f}, {e.t1:.2f}] s  {e.sentence}"
    for title, item in _remarks(answer):
        if (title, item) not in shared:
            yield f"  {title}: {item}"
