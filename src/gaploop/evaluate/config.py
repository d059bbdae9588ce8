"""What the evaluate stage can be told. Fixed before the run, stored with it."""

from dataclasses import dataclass

from gaploop.core.bounds import at_least, inside, share


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateConfig:
    """The rules of the exam."""

    alpha: float = 0.05
    """Level of the paired tests; Holm over the buckets, one by one for healing."""
    siblings: int = 20
    """Fresh siblings a failure is asked about."""
    jitter: float = 0.1
    """How far a sibling's start moves, as a share of each reset range."""
    heal_rate: float = 0.5
    """The siblings' success rate must lie above this (lower end of its 95 % interval)."""

    def __post_init__(self) -> None:
        at_least(self, "evaluate", 1, "siblings")
        share(self, "evaluate", "jitter", "heal_rate")
        inside(self, "evaluate", "alpha")
