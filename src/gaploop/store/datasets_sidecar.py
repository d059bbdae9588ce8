"""The sidecar under meta/gaploop/: what LeRobot v3.0 cannot say, exact.

`dataset.json` holds units, frames and shapes of the signals, the contracts, and what
the caller added. `episodes.jsonl` holds a line an episode: its id, who and what made
it, and its facts. Numbers are double precision and come back bit for bit.
"""

from dataclasses import dataclass, field
from typing import Any

from gaploop.core.contract import Contract
from gaploop.core.episode import Episode, Origin, WorldKind
from gaploop.core.label import Label

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalMeaning:
    """What the column of one feature means."""

    unit: str
    frame: str
    columns: tuple[str, ...]
    scalar: bool
    """Whether values are (T,) and not (T, 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSidecar:
    """dataset.json."""

    format: int = FORMAT
    signals: dict[str, SignalMeaning]
    contracts: tuple[Contract, ...]
    """The different ones among the episodes, in order of appearance."""
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the caller of `write_dataset` gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSidecar:
    """One line of episodes.jsonl."""

    id: str
    contract: int
    """Index into the contracts."""
    robot: str
    unit: str
    task: str
    instruction: str
    world: WorldKind
    origin: Origin
    policy: str
    parents: tuple[str, ...]
    facts: tuple[Label, ...]


def line_of(episode: Episode, contract: int) -> EpisodeSidecar:
    """The line of an episode whose contract stands at this index."""
    return EpisodeSidecar(
        id=episode.id,
        contract=contract,
        robot=episode.robot,
        unit=episode.unit,
        task=episode.task,
        instruction=episode.instruction,
        world=episode.world,
        origin=episode.origin,
        policy=episode.policy,
        parents=episode.parents,
        facts=episode.facts,
    )
