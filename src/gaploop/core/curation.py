"""From cause to remedy, and the frozen exam of hard cases."""

from dataclasses import dataclass, field
from typing import Literal

from gaploop.core.mend import Mend
from gaploop.core.scenario import Scenario

Side = Literal["exam", "trainable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prescription:
    """What to do about one cause, and what it should bring. Checked the next round."""

    cause: str
    remedy: str
    """One of the remedies of the table: mend, recalibrate, rerender, resets, train, probe."""
    trains: bool
    """Whether the remedy spends training at all."""
    sentence: str
    episodes: tuple[str, ...]
    """Ids of the failures it answers."""
    bucket: str
    """The hard-set bucket that should rise."""
    lift: float
    lift_lo: float
    lift_hi: float
    """Predicted change of that bucket in percentage points, with its interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """One kind of hard case, with its frozen scenarios."""

    name: str
    ability: str
    """semantics, action, environment, long task, recovery."""
    predicate: str
    """What puts a scenario in here, in words."""
    scenarios: tuple[Scenario, ...]
    minimum: int
    """Fewer attempts than this answer `need more data`."""
    metric: str = "success"
    threshold: float = 0.0
    """Rate that a release must not fall under, 0 for none."""
    fresh: bool = False
    """Whether no scenario comes from an attempt that anybody saw: only what generalises rises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardSet:
    """The exam. Immutable: a new version is a new value with a new digest."""

    version: int
    buckets: tuple[Bucket, ...]
    origins: dict[str, Side] = field(default_factory=dict[str, Side])
    """Failure id to its side, decided once."""

    def bucket(self, name: str) -> Bucket | None:
        return next((b for b in self.buckets if b.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Where one episode went and why."""

    episode: str
    destination: Literal["train", "hard set", "diagnostics", "set aside"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curation:
    """What one round's logs became."""

    prescriptions: tuple[Prescription, ...]
    admissions: tuple[Admission, ...]
    hard_set: HardSet
    around: tuple[Scenario, ...]
    """Trainable failing scenarios to generate data around; never an exam scenario."""
    mends: tuple[Mend, ...] = ()
    """What is mended instead of trained, on top of the acting policy's own mends."""
    trains: bool = False
    """Whether a candidate is trained: a remedy asks for it, or a person showed what to do."""
