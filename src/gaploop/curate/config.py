"""What the curate stage can be told."""

from dataclasses import dataclass

from gaploop.core.bounds import at_least, share


@dataclass(frozen=True, slots=True, kw_only=True)
class CurateConfig:
    """Sizes of the exam and what goes into training."""

    exam_share: float = 0.5
    """Share of failures kept for the exam alone; decided once, by the failure's id."""
    own: int = 6
    """Reproduced scenarios an exam failure brings into its bucket."""
    bucket_cap: int = 60
    """Most scenarios a bucket of one kind holds; half of them fresh siblings."""
    worked: int = 100
    """Scenarios of `worked`, spread over the starts at which the field succeeded."""
    calibrated: int = 150
    """Fresh draws from the posterior in `calibrated`."""
    minimum: int = 10
    """Fewer scored attempts than this answer `need more data`."""
    jitter: float = 0.1
    """How far a sibling's start moves, as a share of each reset range."""
    shortfall: float = 0.15
    """How far training may fall short of a world without the gap; widens predictions downward."""
    remedies: str = ""
    """A TOML file to use instead of the built-in table of remedies."""

    def __post_init__(self) -> None:
        counts = ("own", "bucket_cap", "worked", "calibrated", "minimum")
        at_least(self, "curate", 0, *counts)
        share(self, "curate", "exam_share", "jitter", "shortfall")
