"""How strict the screen is."""

from dataclasses import dataclass

from gaploop.core.bounds import at_least, share


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenConfig:
    """Limits of the integrity and timing tests."""

    gap_frames: int = 5
    """Missing frames in a row from which a hole breaks replay."""
    rate_tolerance: float = 0.02
    """Share by which measured and declared rates may differ."""
    drift_tolerance: float = 2e-4
    """Share by which the clock of the stamps may run apart from the declared rate."""
    jitter_share: float = 0.15
    """Spread of the steps between stamps, as a share of a period, that is reported."""
    idle_seconds: float = 2.0
    """Shortest stretch without a command at either end that is reported, in s."""
    frozen_seconds: float = 0.5
    """Shortest stretch of equal readings that is reported, in s."""
    shortest: int = 10
    """Fewest frames of a usable episode."""
    short_share: float = 0.25
    """Share of the median length under which an episode is named short."""
    saturated_share: float = 0.25
    """Share of frames at a limit that is reported."""
    long_lag: float = 0.2
    """Command-to-reading lag in s from which it is a warning, not a fact."""

    def __post_init__(self) -> None:
        at_least(self, "screen", 1, "gap_frames", "shortest")
        at_least(
            self,
            "screen",
            0,
            "rate_tolerance",
            "drift_tolerance",
            "jitter_share",
            "idle_seconds",
            "frozen_seconds",
            "long_lag",
        )
        share(self, "screen", "short_share", "saturated_share")
