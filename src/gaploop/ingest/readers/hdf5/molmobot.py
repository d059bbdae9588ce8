"""MolmoBot: traj_N groups nested under their house, state i written with action i + 1.

The recorder stores an action and the state it led to in one row, so the state that action
i was chosen on stands one row before it: read that way, nothing is shifted in training.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gaploop.core import Episode, Loss, Stated
from gaploop.ingest.readers.hdf5.guard import array, tables
from gaploop.ingest.readers.hdf5.parts import by_number, each, episode, observations, signal

_RATE = 15.0


def fits(file: Any, path: Path) -> bool:
    """Whether groups hold actions beside an `obs` of as many rows."""
    return any(_has(file[k]) for k in list(file)[:1])


def episodes(file: Any, path: Path) -> Iterator[Episode | Loss]:
    """In the order of their numbers."""

    def make(group: Any, name: str) -> Episode:
        actions = array(group, "actions", path)
        if actions is None or len(actions) < 2:
            raise ValueError("it has no two actions")
        found = tables(group["obs"], path)
        if any(len(v) != len(actions) for v in found.values()):
            raise ValueError("observations and actions differ in number")
        # row i holds action i and the state after it: the state before is the row above
        signals = {"action": signal("action", actions[1:], _RATE)}
        signals |= observations({k: v[:-1] for k, v in found.items()}, _RATE)
        return episode(
            signals, [("alignment", "state i is stored with action i; it precedes action i + 1")],
            source=f"{path}#{name}", rate=Stated(value=_RATE, source="assumed", confidence=0.5),
        )  # fmt: skip

    yield from each(file, by_number(k for k in file if _has(file[k])), path, make)


def _has(group: Any) -> bool:
    return hasattr(group, "keys") and "actions" in group and hasattr(group.get("obs"), "keys")
