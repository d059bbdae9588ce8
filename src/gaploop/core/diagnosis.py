"""Why an attempt failed: probabilities over causes, with evidence and honest gaps."""

from dataclasses import dataclass, field

from gaploop.core.gaps import CAUSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One test's word on one cause, over one span."""

    test: str
    cause: str
    bayes_factor: float
    """Over the healthy null; below 1 speaks against the cause."""
    statistic: float
    t0: float
    t1: float
    sentence: str
    """For a technician: what was seen, with figures and units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobEstimate:
    """A knob as this one episode shows it."""

    name: str
    unit: str
    estimate: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The answer for one failed episode."""

    episode: str
    verdict: str
    """The cause with most mass, or `unknown`."""
    kind: str
    """The mechanism: `late commands`, `hole pose biased`, ... ; empty when not known."""
    probabilities: dict[str, float]
    """Over CAUSES, sums to 1."""
    knobs: tuple[KnobEstimate, ...] = ()
    stage: str = ""
    """Where it failed."""
    evidence: tuple[Evidence, ...] = ()
    present: tuple[str, ...] = ()
    """Off nominal but not what made it fail."""
    excluded: tuple[str, ...] = ()
    """What was ruled out, and why."""
    not_seen: tuple[str, ...] = ()
    """What this log cannot show."""
    probe: str = ""
    """The cheapest next test where two causes remain."""
    rescue: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Gap to (k, n): successes once its knobs were put back, common random numbers."""

    @property
    def credible(self) -> tuple[str, ...]:
        """The smallest set of causes that reaches 90 %."""
        total = 0.0
        chosen: list[str] = []
        for cause in sorted(CAUSES, key=lambda c: -self.probabilities.get(c, 0.0)):
            chosen.append(cause)
            total += self.probabilities.get(cause, 0.0)
            if total >= 0.9:
                break
        return tuple(chosen)
