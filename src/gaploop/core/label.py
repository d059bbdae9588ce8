"""Append-only statements about an episode or anything else that has a digest."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One statement: subject, key, value, and who says it. Never edited."""

    subject: str
    """Digest or id of what the label is about."""
    key: str
    """outcome, event, intervention, failure, stage, recovery, gap, admission, note."""
    value: Any
    """JSON data."""
    author: str
    """Person or program with version, e.g. `screen@1`."""
    confidence: float = 1.0
    span: tuple[float, float] | None = None
    """Seconds from the episode's start, or None for all of it."""
