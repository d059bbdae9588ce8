"""What the generate stage can be told."""

from dataclasses import dataclass

from gaploop.core.bounds import at_least, share


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateConfig:
    """How many demonstrations, where, and how they are disturbed."""

    demos: int = 150
    """Demonstrations that pass the gate; fewer only if the expert fails too often."""
    around: float = 0.5
    """Share of starts jittered around reproduced, trainable failures."""
    own_knobs: float = 0.0
    """Share of those that keep the failure's own knobs instead of a draw of the posterior."""
    jitter: float = 0.1
    """How far a start around a failure moves, as a share of each reset range."""
    noise: float = 0.0
    """Sd of the disturbance of the executed command, as a share of the command range. The
    demonstration keeps what the expert wanted, so that it shows recovery (Laskey 2017, DART)."""
    noise_until: float = 0.5
    """Share of the horizon at which the disturbance has faded: before the tight phase."""
    noise_memory: float = 0.8
    """Correlation of the disturbance from one control step to the next."""
    attempts: int = 10
    """At most this many attempts a wanted demonstration."""

    def __post_init__(self) -> None:
        at_least(self, "generate", 1, "demos", "attempts")
        at_least(self, "generate", 0, "noise")
        share(self, "generate", "around", "own_knobs", "jitter", "noise_until", "noise_memory")
