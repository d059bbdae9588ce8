"""Settings of calibration."""

from dataclasses import dataclass

from gaploop.core import ConfigError
from gaploop.core.bounds import at_least, share


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateConfig:
    """How many logs, how long the search and the chains, and when the alarm rings."""

    logs: int = 10
    """Most episodes the posterior rests on; successes and failures evenly, newest first."""
    held_out: int = 6
    """Most further episodes kept for the replay error, which decides the alarm."""
    starts: int = 3
    """Independent starts of the search."""
    budget: int = 200
    """Candidates of the search over all starts; each is replayed on every log."""
    probes: int = 6
    """Prior redraws a knob at the search's end: did the logs move it at all?"""
    refine: int = 6
    """Gauss-Newton steps from the search's end."""
    batches: int = 8
    """Most rounds in which an emulator of the replays guesses the posterior and is corrected."""
    batch: int = 64
    """Replays of each log in such a round, next to four a knob that look elsewhere."""
    walkers: int = 48
    """Walkers of the chains."""
    ensembles: int = 2
    """Groups of walkers that never see each other, for R-hat."""
    burn: int = 5
    """Steps of every walker before samples count."""
    steps: int = 10
    """Steps of every walker that count."""
    redraw: float = 0.3
    """Share of moves that draw one knob afresh from its prior."""
    nu: float = 4.0
    """Degrees of freedom of the residuals' Student-t; small forgives outliers."""
    blocks: int = 4
    """Time blocks of an episode that the model may fail to explain separately."""
    price: float = 2.0
    """Nats such a block costs."""
    count: float = 6.0
    """Independent frames an episode is worth at most, per column: model errors last."""
    floor: float = 1e-2
    """Smallest residual scale, as a share of a column's range: what a model can resolve."""
    silent: float = 0.5
    """Redraw acceptance from which a knob is not identifiable."""
    wide: float = 0.75
    """Posterior sd over prior sd from which it is not identifiable either."""
    edge: float = 0.02
    """A knob with most of its mass within this share of the prior's ends is at its bound."""
    alarm: float = 3.0
    """Held-out replay error over what the fit leaves, from which the model counts as wrong."""
    scatter: float = 3.0
    """Scatter between episodes over posterior sd, from which a knob counts as misspecified."""
    rhat: float = 1.2
    """R-hat from which the chains count as not mixed."""
    particles: int = 400
    """Posterior particles kept, and draws shipped."""
    least: float = 0.03
    """Smallest sd that is shipped, as a share of the prior's: randomisation never collapses."""
    most: float = 4.0
    """Largest factor by which the discrepancy widens an identified knob."""

    def __post_init__(self) -> None:
        for name in ("logs", "starts", "steps", "burn", "particles", "blocks", "ensembles",
                     "batches", "batch"):  # fmt: skip
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"calibrate.{name} is {getattr(self, name)}; it must be 1 or more."
                )
        at_least(self, "calibrate", 1, "budget")
        at_least(self, "calibrate", 0, "held_out", "probes", "refine", "price", "count", "floor")
        share(self, "calibrate", "redraw", "silent", "wide", "edge", "least")
        if self.walkers < 2 * self.ensembles:
            raise ConfigError(
                f"calibrate.walkers is {self.walkers}; {2 * self.ensembles} or more are needed."
            )
