"""Logs read and screened in one call; the answer for someone who only has a path."""

from dataclasses import dataclass, replace
from pathlib import Path

from gaploop.core import Contract, Episode, InputError
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import Finding, Screened
from gaploop.ingest.formats import find_reader
from gaploop.ingest.screen import screen


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What a path holds and what is wrong with it."""

    format: str
    episodes: int
    frames: int
    """Rows of the longest signal, summed over episodes."""
    findings: tuple[Finding, ...]
    contract: Contract
    """Of the first episode; `contract_differs` says where others disagree."""


def ingest(path: Path, config: ScreenConfig | None = None) -> tuple[list[Episode], Screened]:
    """Every episode of a file or folder in any format that is read, and its screen.

    Raises:
      InputError: for a path nobody reads, or that breaks while it is read.
    """
    _, episodes = _read(path)
    return episodes, screen(episodes, config)


def check(path: Path, config: ScreenConfig | None = None) -> CheckReport:
    """Read and screen a path; changes nothing.

    Raises:
      InputError: for a path nobody reads, or that breaks while it is read.
    """
    name, episodes = _read(path)
    screened = screen(episodes, config)
    contract = episodes[0].contract
    # rates are measured an episode at a time and differ in the last digit
    plain = replace(contract, log_rate=Contract().log_rate)
    odd = [e for e in episodes if replace(e.contract, log_rate=Contract().log_rate) != plain]
    findings = list(screened.findings)
    if odd:
        findings.append(
            Finding(
                code="contract_differs",
                severity="warning",
                episodes=tuple(e.id for e in odd),
                feature="",
                message=f"{len(odd)} of {len(episodes)} episodes state another contract than "
                f"{episodes[0].source or 'the first'}, {odd[0].source or odd[0].id[:8]} among them",
                fix="Check them apart; do not merge them before units and columns agree.",
            )
        )
    return CheckReport(
        format=name,
        episodes=len(episodes),
        frames=sum(max((len(s.times) for s in e.signals.values()), default=0) for e in episodes),
        findings=tuple(findings),
        contract=contract,
    )


def _read(path: Path) -> tuple[str, list[Episode]]:
    path = Path(path)
    reader = find_reader(path)
    episodes = list(reader.read(path))
    if not episodes:
        raise InputError(f"{path} holds no episode.", hint="Was the recorder stopped too early?")
    return reader.name, episodes
