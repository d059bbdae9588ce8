"""The seeded families of stand-ins: which gap is open, how far, and what no knob expresses.

A family speaks of gaps and of what channels show, never of a task, so that it is the
same question for every task. Four families draw worlds again until one misleads:

| family | drawn again until | why |
|---|---|---|
| lab-b, lab-c, lab-mix, lab-plain | a misled expert fails | a world in which trust does no harm
  has no gap |
| lab-a | never | whether a task's tolerance absorbs its dynamics is what is asked; choosing
  worlds where it does not would answer it beforehand |
| lab-d | never | the gap opens as the units wear, so its first round decides nothing |
| lab-e | never | the plain simulator's expert sees the disturbance and copes; a policy may not |
| lab-out | never | the truth lies outside the prior, whatever it misleads |

In all but lab-mix and lab-plain the expert that knows the truth must still succeed: a world
that nobody can do is no test of anybody.
"""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How a family draws its worlds."""

    gaps: tuple[str, ...]
    """Gaps whose knobs are off."""
    least: float
    """Smallest share of the way from nominal to an end of the prior, in quantiles."""
    most: float
    """Largest share of that way; below 1, so that every truth lies inside its prior."""
    effects: tuple[str, ...] = ()
    """Gaps of the effects outside the knobs that are on."""
    misled: Literal["", "readings", "commands"] = ""
    """Who must fail: an expert that trusts the readings, or one that sends what worked in
    the plain simulator; empty for nobody."""
    fooled: float = 1.0
    """Largest success rate of that expert."""
    able: float = 0.0
    """Smallest success rate of the expert that knows the truth."""
    units: int = 1
    """Specimens of the robot that share the trials, one after the other."""
    wear: tuple[float, float] = (0.0, 0.0)
    """Range of a unit's creep a round, as a share of the way to the end of the prior."""
    outside: tuple[float, float] = (0.0, 0.0)
    """Range of how far some knobs lie past their prior, as a share of its width."""
    moved: tuple[float, float] = (0.0, 0.0)
    """Range of how far each start range is shifted, as a share of its width."""
    nudged: float = 0.0
    """Share of attempts in which the object is moved on the way."""
    pushed: float = 0.0
    """Share of attempts in which a person gets in the robot's way."""


FAMILIES: Final = {
    "lab-a": Family(
        gaps=("dynamics",), least=0.45, most=0.85, effects=("dynamics", "rail"), able=0.7
    ),
    "lab-b": Family(
        gaps=("execution",), least=0.45, most=0.85, effects=("execution", "rail"),
        misled="commands", fooled=0.2, able=0.7,
    ),
    # a bias within the tolerance is no gap, so lab-c's lie further out
    "lab-c": Family(
        gaps=("sensor",), least=0.7, most=0.95, effects=("sensor",),
        misled="commands", fooled=0.2, able=0.7,
    ),
    "lab-d": Family(
        gaps=("mechanical",), least=0.85, most=0.98, effects=("wear",), able=0.7,
        units=3, wear=(0.04, 0.08),
    ),
    "lab-e": Family(
        gaps=("task",), least=0.45, most=0.85, able=0.5,
        moved=(0.2, 0.4), nudged=0.6, pushed=0.5,
    ),
    "lab-mix": Family(
        gaps=("sensor", "dynamics", "execution"), least=0.45, most=0.85,
        effects=("dynamics", "rail", "execution", "sensor"), misled="readings", fooled=0.1,
    ),
    # lab-mix as the knobs can express it: where a correct model must raise no alarm
    "lab-plain": Family(
        gaps=("sensor", "dynamics", "execution"), least=0.45, most=0.85,
        misled="readings", fooled=0.1,
    ),
    "lab-out": Family(
        gaps=("sensor", "dynamics", "execution"), least=0.45, most=0.85,
        effects=("dynamics", "rail", "execution", "sensor"), outside=(0.1, 0.35), able=0.7,
    ),
}  # fmt: skip
"""Name to family. `rail` is friction on the robot's axes, which commands meet."""
