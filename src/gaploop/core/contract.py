"""What a robot's numbers mean, and what a policy expects of them.

Every statement carries where it comes from. `unknown` is an answer; wrong and
confident is the worst one.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Source = Literal["declared", "inferred", "assumed", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A value with its source and how sure we are."""

    value: Any = None
    """The statement; None when unknown."""
    source: Source = "unknown"
    """declared by the log's source, inferred from data, assumed, or unknown."""
    confidence: float = 0.0
    """Probability that the value is right, 0 to 1."""


def declared(value: Any) -> Stated:
    """A statement the source itself makes."""
    return Stated(value=value, source="declared", confidence=1.0)


UNKNOWN = Stated()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """The meaning of one feature (one key of a dataset)."""

    key: str
    """LeRobot key: `observation.state`, `action`, ..."""
    columns: tuple[str, ...]
    """Column names, in order."""
    role: Stated = UNKNOWN
    """joint_position, joint_velocity, joint_command, object_pose, gripper, torque, ..."""
    unit: Stated = UNKNOWN
    """A unit name, or one a column."""
    frame: Stated = UNKNOWN
    rotation: Stated = UNKNOWN
    """wxyz, xyzw, rpy, axis_angle, rot6d, or None where there is no rotation."""
    observable: Stated = UNKNOWN
    """False for what only a simulator or a lab knows at run time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a robot's logged numbers mean."""

    features: tuple[Feature, ...] = ()
    action_space: Stated = UNKNOWN
    """joint, end_effector, base, ..."""
    action_mode: Stated = UNKNOWN
    """absolute, delta, velocity, torque."""
    action_reference: Stated = UNKNOWN
    """What a delta is relative to; the frame of an absolute pose."""
    gripper_polarity: Stated = UNKNOWN
    gripper_range: Stated = UNKNOWN
    gripper_force: Stated = UNKNOWN
    gripper_speed: Stated = UNKNOWN
    gripper_closed: Stated = UNKNOWN
    """What closed means: empty, on an object, a width."""
    log_rate: Stated = UNKNOWN
    """Hz of the stored rows."""
    control_rate: Stated = UNKNOWN
    """Hz at which commands change."""
    clock: Stated = UNKNOWN
    lag: Stated = UNKNOWN
    """Seconds from command to the joint's answer; inferred: {seconds, lo, hi}, a 95 % interval."""
    joint_map: Stated = field(default=UNKNOWN, metadata={"digest": "set"})
    """{order, signs}: command i moves reading order[i], against its sign where signs[i] is -1."""

    def feature(self, key: str) -> Feature | None:
        """The feature with this key, or None."""
        return next((f for f in self.features if f.key == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenPairs:
    """Inputs and the outputs training saw for them; the run-time path must agree."""

    observations: np.ndarray
    """(K, d) float32 flattened observation histories, as fed to the policy."""
    actions: np.ndarray
    """(K, H, a) float32 chunks in the robot's units."""
    tolerance: float = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyContract:
    """A Contract and everything else a runner needs to agree with training on."""

    contract: Contract
    inputs: tuple[str, ...]
    """Feature keys that make one observation frame, in order; `action` is the last command."""
    columns: tuple[str, ...]
    """Column names of one frame, in order."""
    history: int
    """Frames fed, oldest first."""
    chunk: int
    """Actions a call predicts (H)."""
    execute: int
    """Actions executed before the next call."""
    normaliser: str
    """Digest of the normalisation constants inside the graph."""
    input_mean: tuple[float, ...] = ()
    input_std: tuple[float, ...] = ()
    """Training statistics of one frame, for live comparison."""
    action_low: tuple[float, ...] = ()
    action_high: tuple[float, ...] = ()
    """Bounds of the robot's command, in its units."""
    image_path: str = ""
    """How pixels reach the policy (resize, crop, colour); empty without pixels."""
    provenance: dict[str, str] = field(default_factory=dict[str, str])
    """base model, renderer, data digests, number of real episodes of the target task."""
    versions: dict[str, str] = field(default_factory=dict[str, str])
    golden: GoldenPairs | None = None
