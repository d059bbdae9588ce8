"""Exam results and the release decision."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One policy on one bucket. Never without k, n and an interval."""

    policy: str
    bucket: str
    k: int
    n: int
    lo: float
    hi: float
    """95 % interval of the rate, by `method`."""
    method: str = "wilson"
    outcomes: tuple[bool, ...] = ()
    """(n,) in the order of the bucket's seeds, for pairing."""
    seeds: str = ""
    """Digest of the paired seed list."""
    training_seeds: tuple[int, ...] = ()
    selection: str = "single"
    """single, mean, last: how the policy was picked. `best` is refused."""

    @property
    def rate(self) -> float:
        return self.k / self.n if self.n else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Healed:
    """Did this very failure heal? In its own scenario, and in fresh siblings."""

    episode: str
    own_k: int
    own_n: int
    siblings_k: int
    siblings_n: int
    before_k: int
    """Successes of the old policy on the same sibling seeds."""
    healed: bool
    """By the rule fixed beforehand, see `evaluate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketChange:
    """A bucket before and after, on the same seeds."""

    bucket: str
    before_k: int
    after_k: int
    n: int
    p_value: float
    """Exact paired test."""
    lo: float
    hi: float
    """95 % interval of the change in percentage points."""
    direction: Literal["rose", "fell", "unchanged"]
    fresh: bool = False
    """Whether its scenarios are fresh, as the bucket says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exam:
    """The three questions: which buckets rose, which fell, did this very failure heal."""

    policy: str
    against: str
    hard_set: str
    scores: tuple[Score, ...]
    baseline: tuple[Score, ...]
    changes: tuple[BucketChange, ...]
    healed: tuple[Healed, ...]
    kept: tuple[tuple[str, float, float], ...] = ()
    """(bucket, predicted lift, measured lift) of the last prescriptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One rule, fixed before the run, with what it saw."""

    name: str
    rule: str
    passed: bool | None
    """None: not enough evidence."""
    evidence: str
    detectable: float = 0.0
    """Smallest effect, in points, that this n could have seen with 80 % power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Promote, hold, reject, go back, or say that the evidence is too thin."""

    policy: str
    against: str
    verdict: Literal["promote", "hold", "reject", "need more data", "roll back"]
    gates: tuple[Gate, ...]
    sentence: str
    back_to: str = ""
    """The earlier policy that is released again; empty but for `roll back`."""
    signer: str = "gaploop"
    rule: dict[str, float] = field(default_factory=dict[str, float])
    """The limits in force."""
