"""What the logs say about the knobs, and what is shipped to randomise with."""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from gaploop.core.knob import KnobSpace

_SLACK = 0.02
"""Of a knob's prior range, beyond what is believed."""

Verdict = Literal["identified", "not identifiable", "at bound", "no effect", "misspecified"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobVerdict:
    """What the logs say about one knob."""

    name: str
    unit: str
    mean: float
    sd: float
    lo: float
    """5 % quantile."""
    hi: float
    """95 % quantile."""
    verdict: Verdict
    redraw_acceptance: float
    """How often the chain accepted a fresh prior draw of this knob alone; near 1: silent logs."""
    rhat: float = 1.0
    ess: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One named check with its figure, its limit, and whether it holds."""

    name: str
    value: float
    limit: float
    ok: bool
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Weighted particles over a knob space, with noise, checks and a verdict a knob.

    `particles` is the posterior. `shipped` is what training randomises with: the
    posterior widened by the discrepancy seen on held-out replay. The two are
    kept apart, because only the first is a statement about the robot.
    """

    space: KnobSpace
    particles: np.ndarray
    """(N, P) in the knobs' units."""
    weights: np.ndarray
    """(N,) sum to 1."""
    shipped: np.ndarray
    """(M, P) equally weighted."""
    noise: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Channel to (d,) white-noise sd, in the channel's units."""
    discrepancy: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Channel to (d,) rms of held-out replay residual, in the channel's units."""
    checks: tuple[Check, ...] = ()
    verdicts: tuple[KnobVerdict, ...] = ()
    episodes: tuple[str, ...] = ()
    """Ids of the episodes it rests on."""
    shifts: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Unit to (P,) by how much its knobs differ from these; empty where units are alike."""

    def of(self, unit: str) -> "Posterior":
        """The posterior of one unit."""
        shift = self.shifts.get(unit)
        return self if shift is None else self.moved(shift)

    def moved(self, by: np.ndarray) -> "Posterior":
        """All particles, shipped ones too, moved by (P,); of one unit, whatever it was before."""
        verdicts = (
            tuple(
                replace(v, mean=v.mean + float(d), lo=v.lo + float(d), hi=v.hi + float(d))
                for v, d in zip(self.verdicts, by, strict=True)
            )
            if self.verdicts
            else ()
        )
        return replace(
            self, particles=self.particles + by, shipped=self.shipped + by, verdicts=verdicts,
            shifts={},
        )  # fmt: skip

    @property
    def mean(self) -> np.ndarray:
        """(P,) weighted mean."""
        return self.weights @ self.particles

    @property
    def sd(self) -> np.ndarray:
        """(P,) weighted standard deviation."""
        return np.sqrt(self.weights @ (self.particles - self.mean) ** 2)

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """(n, P) draws of the posterior."""
        return self.particles[rng.choice(len(self.particles), n, p=self.weights)]

    def draw_shipped(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """(n, P) draws of the shipped randomisation."""
        return self.shipped[rng.choice(len(self.shipped), n)]

    def holds(self, values: np.ndarray, shipped: bool = False) -> np.ndarray:
        """(M,) bool: whether each of (M, P) worlds is still believed in.

        In every knob within the central 99 % of the particles, or of what is shipped, and a
        little slack: a draw of an earlier posterior is outside once the logs have ruled it out.
        """
        low, high = np.quantile(self.shipped if shipped else self.particles, [0.005, 0.995], axis=0)
        slack = _SLACK * (self.space.high - self.space.low)
        return np.asarray(((values >= low - slack) & (values <= high + slack)).all(axis=1))

    def verdict(self, name: str) -> KnobVerdict | None:
        return next((v for v in self.verdicts if v.name == name), None)

    @property
    def misspecified(self) -> bool:
        """Whether the model failed its own alarm."""
        return any(c.name == "misspecification" and not c.ok for c in self.checks)
