"""What could not be read of a log, counted."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One place where a log is damaged or not understood. What is whole beside it was read."""

    source: str
    """File, with row, offset or episode where that is known."""
    kept: int
    """Whole records that were read from it."""
    lost: int | None
    """Records that are gone; None where the file does not say how many there were."""
    unit: str
    """What is counted: messages, rows, frames, episodes, records."""
    lost_bytes: int = 0
    """Bytes of the file that belong to no whole record."""
    reason: str
    """What is wrong, in one sentence without a full stop."""
    damaged: bool = True
    """False where the file is whole and gaploop does not know this part of it."""

    def __str__(self) -> str:
        gone = "an unknown number" if self.lost is None else str(self.lost)
        size = f" ({self.lost_bytes} bytes)" if self.lost_bytes else ""
        return f"{self.source}: {self.reason}; {self.kept} {self.unit} are whole, {gone} lost{size}"
