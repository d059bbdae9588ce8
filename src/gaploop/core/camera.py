"""A camera's pictures, decoded when they are asked for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """One stream of pictures of an episode. Holds none of them."""

    name: str
    """Feature key, as in LeRobot: `observation.images.front`."""
    times: np.ndarray
    """(T,) float64 seconds from the episode's start, one a frame."""
    height: int
    """Pixels."""
    width: int
    """Pixels."""
    encoding: str = ""
    """How it is stored: png, jpeg, h264, av1, rgb8, ...; empty when not known."""
    frames: Callable[[], Iterator[np.ndarray]]
    """Decodes anew with each call: (H, W, 3) uint8 RGB, in order, at most two in memory.

    Raises InputError naming the file and the frame where the stream is damaged."""
