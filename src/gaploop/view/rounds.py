"""What the pages are made of: one value, so that a report needs no store to be tested."""

import math
from dataclasses import dataclass
from dataclasses import field as default

from gaploop.core import (
    Curation,
    Decision,
    Diagnosis,
    Episode,
    Exam,
    GaploopError,
    Posterior,
    Reproduction,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share of attempts. There is none without k, n and an interval."""

    k: int
    n: int
    lo: float
    hi: float
    """95 % interval as fractions."""

    def __post_init__(self) -> None:
        known = all(math.isfinite(x) for x in (self.k, self.n, self.lo, self.hi))
        if not known or not 0 <= self.k <= self.n or self.n == 0:
            raise GaploopError(
                f"A rate needs k of n attempts and an interval; got k={self.k}, n={self.n}, "
                f"[{self.lo}, {self.hi}].",
                hint="Show it as missing, not as a number.",
            )
        if not -1e-9 <= self.lo <= self.k / self.n + 1e-9 <= self.hi + 2e-9 <= 1 + 3e-9:
            raise GaploopError(
                f"The interval [{self.lo:.3f}, {self.hi:.3f}] does not hold {self.k}/{self.n}.",
                hint="Intervals are fractions from 0 to 1 around k/n.",
            )

    @property
    def value(self) -> float:
        return self.k / self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed attempt and all that was found out about it."""

    diagnosis: Diagnosis
    episode: Episode | None = None
    """The log itself, for the plots."""
    reproduction: Reproduction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One turn of the loop; a stage that did not run is None or empty."""

    number: int
    digests: dict[str, str] = default(default_factory=dict[str, str])
    """Stage output (`field`, `posterior`, ..., `policy`) to its digest."""
    field: Rate | None = None
    """Successes of the policy that met the field in this round, nobody helping."""
    helped: int = 0
    """Attempts of the field that succeeded with a person's help."""
    takeovers: float = 0.0
    """How often a person stepped in, per 100 attempts."""
    world: str = ""
    """real, sim or stand-in: what kind of field it was."""
    posterior: Posterior | None = None
    failures: tuple[Failure, ...] = ()
    curation: Curation | None = None
    exam: Exam | None = None
    decision: Decision | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """The whole story of one workcell so far."""

    name: str
    """Of the workcell."""
    task: str = ""
    field: str = ""
    rounds: tuple[Round, ...] = ()
