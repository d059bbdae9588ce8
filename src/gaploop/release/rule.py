"""The limits of a release, fixed before the run and stored with the decision."""

from dataclasses import dataclass

from gaploop.core.bounds import at_least, inside


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRule:
    """What a candidate must show. No evidence means no."""

    worked_margin: float = 10.0
    """Points that success may fall where the field already worked; shown, not assumed."""
    fell_margin: float = 5.0
    """A bucket that fell significantly, and by more than these points, stops the release."""
    minimum: int = 30
    """Fewest paired attempts behind the `better` gate and, where the field worked, `worked`."""
    alpha: float = 0.05
    """Level of the test on all failures together, and for the smallest detectable effect."""
    field_doubt: float = 0.1
    """Level at which the acting policy counts as worse in the field than an earlier one. On twenty
    attempts each the test errs half as often as this, and sees 16 fall to 11; going back without
    need costs a round, staying costs the robot."""
    power: float = 0.8
    """Power for the smallest detectable effect."""

    def __post_init__(self) -> None:
        at_least(self, "release", 0, "worked_margin", "fell_margin", "minimum")
        inside(self, "release", "alpha", "power", "field_doubt")
