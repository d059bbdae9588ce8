"""What a test says, and which findings keep an episode out of calibration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning", "info"]

QUARANTINE: Final[Mapping[str, str]] = {
    "nan": "a replay or a loss over it is NaN from that row on",
    "inf": "a replay or a loss over it is NaN from that row on",
    "timestamp_order": "rows cannot be placed in time",
    "timestamp_gap": "what happened in the hole is unknown, so a replay leaves the log there",
    "fps_mismatch": "every lag and velocity would be scaled by the wrong rate",
    "frozen_signal": "the stream repeats old readings: a fit would explain a stop that never was",
    "unit_mismatch": "the numbers mean another quantity than the contract says",
    "joint_sign": "a sign differs between command and reading",
    "joint_swap": "two joints would be fitted to each other's commands",
    "duplicate_episode": "it would count twice",
    "episode_length": "too few frames for any test or fit",
}
"""Code to the reason an error with it keeps an episode out. Warnings never do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A finding in one episode, before equal ones are gathered."""

    code: str
    severity: Severity
    feature: str
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing seen in one feature of some episodes."""

    code: str
    severity: Severity
    episodes: tuple[str | int, ...]
    """The episodes it was seen in: ids from `screen`, indices from 0 from `check`. Empty
    where it concerns the set as a whole."""
    feature: str
    """Feature key, with the column where it concerns one; empty for the whole episode."""
    message: str
    """What was seen, with figures, file and row."""
    fix: str = ""
    """What to do about it, empty for plain facts."""

    @property
    def quarantines(self) -> bool:
        """Whether it keeps its episodes out of calibration."""
        return self.severity == "error" and self.code in QUARANTINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """Episodes by id, after the tests."""

    clean: tuple[str, ...]
    """Ids fit for calibration, in order."""
    quarantined: tuple[str, ...]
    """Ids that are not; they stay readable for diagnosis."""
    findings: tuple[Finding, ...]
