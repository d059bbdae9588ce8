"""Three robots as their logs show them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A robot as its logs show it."""

    name: str
    fps: float
    columns: tuple[str, ...]
    """Of action and observation.state alike."""
    angles: tuple[int, ...]
    """Columns that are joint angles."""
    grippers: tuple[int, ...]
    unit: str
    """Unit of the angles; `raw` for a state that mixes units."""
    travel: float
    """Typical travel of a joint, or of the hand in m."""
    quantum: float
    """Encoder step."""
    lags: tuple[float, float]
    """Frames of delay and loop, least and most."""
    opened: tuple[float, float]
    """Gripper reading (closed, open)."""
    places: tuple[int, ...] = ()
    """Columns that are lengths in m."""
    quaternion: int | None = None
    """First of four columns x, y, z, w."""


_SO101 = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
_ARM = ("waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate", "gripper")

SHAPES: dict[str, Shape] = {
    "arm": Shape(
        name="arm", fps=30.0, columns=tuple(f"{n}.pos" for n in _SO101),
        angles=(0, 1, 2, 3, 4), grippers=(5,), unit="deg", travel=70.0, quantum=360 / 4096,
        lags=(2.0, 5.0), opened=(2.0, 60.0),
    ),
    "two_arms": Shape(
        name="two_arms", fps=50.0,
        columns=tuple(f"{side}_{n}" for side in ("left", "right") for n in _ARM),
        angles=(0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12), grippers=(6, 13), unit="rad",
        travel=1.0, quantum=2 * np.pi / 4096, lags=(2.0, 5.0), opened=(0.0, 1.0),
    ),
    "pose": Shape(
        name="pose", fps=15.0, columns=("x", "y", "z", "qx", "qy", "qz", "qw", "gripper"),
        angles=(), grippers=(7,), unit="raw", travel=0.25, quantum=1e-5, lags=(1.5, 2.4),
        opened=(0.0, 1.0), places=(0, 1, 2), quaternion=3,
    ),
}  # fmt: skip
"""Like SO-101 leader and follower, like ALOHA, and hand poses like DROID and Bridge."""
