"""A stage call as the ledger remembers it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One call of one stage. Digests of its outputs never include it."""

    stage: str
    version: str
    """Digest of the stage's source."""
    config: str
    """Canonical JSON of the configuration."""
    seed: int
    inputs: dict[str, str]
    outputs: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict[str, str])
    started: float = 0.0
    wall: float = 0.0
    status: str = "done"
