"""Logs in, episodes out: readers, contracts, screening. Nothing enters the loop unexamined."""

from gaploop.ingest.check import CheckReport, check, ingest
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import QUARANTINE, Finding, Screened
from gaploop.ingest.formats import find_reader
from gaploop.ingest.screen import screen

__all__ = [
    "QUARANTINE", "CheckReport", "Finding", "ScreenConfig", "Screened", "check", "find_reader",
    "ingest", "screen",
]  # fmt: skip
