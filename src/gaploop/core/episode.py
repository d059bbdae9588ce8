"""One attempt. Its id is the digest of what was recorded, never of what was said of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gaploop.core.camera import Camera
from gaploop.core.contract import Contract
from gaploop.core.digest import digest
from gaploop.core.label import Label
from gaploop.core.signal import Signal

WorldKind = Literal["real", "sim", "stand-in", "video"]
HELD = "intervention"
"""Fact, one a takeover, and optional boolean signal: frames in which a person held the robot."""
Origin = Literal["demonstration", "rollout", "correction", "generated", "rerendered", "retargeted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One attempt with its signals; facts about it are labels and do not change the id."""

    signals: Mapping[str, Signal]
    """By feature key. May load lazily; `action` holds the commands."""
    contract: Contract = field(default_factory=Contract)
    robot: str = ""
    unit: str = ""
    """Which specimen of the robot."""
    task: str = ""
    instruction: str = ""
    world: WorldKind = "real"
    origin: Origin = "rollout"
    policy: str = ""
    """Digest of the policy that acted, empty if none or not known."""
    parents: tuple[str, ...] = ()
    """Ids of the episodes or scenarios this one was made from."""
    facts: tuple[Label, ...] = field(default=(), metadata={"digest": False})
    """Outcome, events, interventions: append-only, no part of the id."""
    cameras: Mapping[str, Camera] = field(
        default_factory=dict[str, Camera], metadata={"digest": False}
    )
    """By feature key; pictures are decoded when asked for and are no part of the id."""
    source: str = field(default="", metadata={"digest": False})
    """Where it was read: file and row, for messages."""

    @property
    def id(self) -> str:
        """Digest of signals, controls and contract (64 hex digits).

        Taken over what a dataset keeps: floats in single precision, stamps in whole
        nanoseconds, readings as (T, -1). So writing and reading leave it as it is.
        """
        return digest({k: _kept(self.signals[k]) for k in sorted(self.signals)}, self.contract)

    def fact(self, key: str) -> Any:
        """Value of the newest fact with this key, or None."""
        return next((f.value for f in reversed(self.facts) if f.key == key), None)

    @property
    def success(self) -> bool | None:
        """The judged outcome, None when nobody judged."""
        outcome = self.fact("outcome")
        success = None if outcome is None else outcome["success"]
        return None if success is None else bool(success)

    @property
    def helped(self) -> bool:
        """Whether a person stepped in: the outcome is not the policy's alone."""
        return self.fact(HELD) is not None


def _kept(signal: Signal) -> dict[str, Any]:
    """The parts of a signal that survive storage, as they are stored."""
    with np.errstate(invalid="ignore", over="ignore"):
        ticks = np.rint(signal.times * 1e9).astype(np.int64)
        values = signal.values
        kind = {"f": np.float32, "i": np.int64, "u": np.int64}.get(values.dtype.kind)
        values = values if kind is None else values.astype(kind)
    if values.dtype.kind == "f":  # one NaN, whatever its payload
        values = np.where(np.isnan(values), np.float32(np.nan), values)
    rows = len(values)
    return {
        "unit": signal.unit,
        "frame": signal.frame,
        "columns": signal.columns,
        "ticks": ticks,
        "values": values.reshape(rows, values.size // rows if rows else 0),
    }
