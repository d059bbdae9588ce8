"""What the field itself says of a policy, told apart from what people did."""

from collections.abc import Iterable
from dataclasses import dataclass

from gaploop.core.episode import HELD, Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRun:
    """How a policy did in the field. What a person helped with is not its success."""

    policy: str
    """Digest of the policy."""
    k: int
    """Attempts it succeeded in alone."""
    n: int
    """Attempts with a judged outcome."""
    helped: int = 0
    """Attempts that succeeded after a person had stepped in."""
    takeovers: int = 0
    """How often somebody stepped in, whatever came of it."""

    @property
    def per_100(self) -> float:
        """Takeovers per 100 attempts."""
        return 100 * self.takeovers / self.n if self.n else 0.0


def field_run(policy: str, episodes: Iterable[Episode]) -> FieldRun:
    """The counts of a policy's attempts; those that nobody judged are left out."""
    judged = [e for e in episodes if e.success is not None]
    won = [e.helped for e in judged if e.success]
    return FieldRun(
        policy=policy, k=won.count(False), n=len(judged), helped=won.count(True),
        takeovers=sum(f.key == HELD for e in judged for f in e.facts),
    )  # fmt: skip
