"""How much work one reproduction may do."""

from dataclasses import dataclass

from gaploop.core.bounds import at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceConfig:
    """Settings of `reproduce`."""

    draws: int = 96
    """Worlds of this robot replayed against the log, to find those that made it."""
    reruns: int = 24
    """Closed-loop attempts in the worlds the log points to; n of `reproduced k of n`."""
    keep: int = 6
    """Failing scenarios kept at most."""
    scan: int = 9
    """Values of the diagnosed knob, from where it stands to where it was trained."""
    seeds: int = 16
    """Attempts a scanned value, the same noise at every value."""

    def __post_init__(self) -> None:
        at_least(self, "reproduce", 1, "draws", "reruns", "keep", "seeds")
        at_least(self, "reproduce", 2, "scan")
