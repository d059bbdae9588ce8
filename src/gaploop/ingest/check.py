"""Logs read and screened in one call; the answer for someone who only has a path."""

from dataclasses import dataclass, replace
from pathlib import Path

from gaploop.core import Contract, Episode
from gaploop.ingest.checks import examine
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import Finding, Screened
from gaploop.ingest.screen import gather, ordered, screen
from gaploop.ingest.source import Auditor, open_source


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What a path holds and what is wrong with it."""

    format: str
    episodes: int
    frames: int
    """Rows of the longest signal, summed over episodes."""
    findings: tuple[Finding, ...]
    """Errors first. Episodes by index, from 0, in the order they are stored."""
    contract: Contract
    """Of the first episode; `contract_differs` says where others disagree."""


def ingest(path: Path, config: ScreenConfig | None = None) -> tuple[list[Episode], Screened]:
    """Every whole episode of a file or folder in any format that is read, and its screen.

    Raises:
      InputError: for a path nobody reads, or that holds no whole episode.
    """
    source = open_source(path)
    episodes = list(source.episodes())
    screened = screen(episodes, config)
    lost = gather((), (), [(i, s) for i, s in source.seen() if i < 0])
    return episodes, replace(screened, findings=ordered([*lost, *screened.findings]))


def check(path: Path, config: ScreenConfig | None = None) -> CheckReport:
    """Read and screen a path in one pass; changes nothing, keeps no episode in memory.

    Raises:
      InputError: for a path nobody reads, or that holds no whole episode.
    """
    source = open_source(path)
    summary, seen = examine(source.batches(), config or ScreenConfig())
    found = gather(summary.said, range(len(summary.said)), [*source.seen(), *seen])
    if isinstance(source.reader, Auditor):
        found += source.reader.audit(source.path)
    return CheckReport(
        format=source.reader.name,
        episodes=len(summary.said),
        frames=sum(summary.frames),
        findings=ordered(found),
        contract=source.contract or Contract(),
    )
