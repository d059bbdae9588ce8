"""Verbs on logs: check, ingest, calibrate, diagnose. On a path they need no workcell."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from gaploop.cli.console import Console
from gaploop.core import Diagnosis, InputError, UsageError

Paths = Annotated[tuple[Path, ...], tyro.conf.Positional]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Say what is wrong with logs or a dataset: contract, integrity, timing. Changes nothing."""

    paths: Paths
    """Log files or dataset folders; the format is found out."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        from gaploop.ingest import check

        _need(self.paths, "check")
        out = Console(self.json)
        reports = [check(path) for path in self.paths]
        for path, report in zip(self.paths, reports, strict=True):
            out.say(f"{path}: {report.format}, {report.episodes} episodes, {report.frames} frames")
            _findings(out, report.findings)
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
            _findings(out, screened.findings)
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
            found = diagnose_log(ingest(path)[0])
            for answer in found:
                for line in _answer(path, answer):
                    out.say(line)
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


def _findings(out: Console, findings: Sequence[Any]) -> None:
    for finding in findings:
        out.say(f"  {finding.severity:<7} {finding.code}: {finding.message}")
        if finding.fix:
            out.say(f"          fix: {finding.fix}")
    if not findings:
        out.say("  nothing found")


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
    out.say(f"model {result['model']}: {result['verdict']}")
    for knob in result["knobs"]:
        out.say(
            f"  {knob['name']:<22} {knob['mean']:>11.4g} +-{knob['sd']:<9.2g} {knob['unit']:<10}"
            f" [{knob['lo']:.4g}, {knob['hi']:.4g}]  {knob['verdict']}"
        )
    held_out = result["held_out"]
    if held_out and held_out["value"] is not None:
        count = len(held_out["per_log"])
        out.say(
            f"held out: {held_out['metric']} {held_out['value']:.3g} {held_out['unit']}"
            f" over {count} logs"
        )


def _answer(path: Path, answer: Diagnosis) -> Iterator[str]:
    p = answer.probabilities[answer.verdict]
    kind = f" ({answer.kind})" if answer.kind else ""
    yield (
        f"{path} ep:{answer.episode[:8]}: {answer.verdict}{kind}, p {p:.2f};"
        f" 90 % set: {', '.join(answer.credible)}"
    )
    for e in answer.evidence:
        yield f"  [{e.t0:.2f}, {e.t1:.2f}] s  {e.sentence}"
    for title, items in (("excluded", answer.excluded), ("not seen", answer.not_seen)):
        for item in items:
            yield f"  {title}: {item}"
    if answer.probe:
        yield f"  next test: {answer.probe}"
