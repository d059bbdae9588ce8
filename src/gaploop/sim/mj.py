"""MuJoCo's names. Its compiled modules carry no type information for a checker."""

from typing import Any

import mujoco

mj: Any = mujoco
MjModel = Any
"""`mujoco.MjModel`."""

__all__ = ["MjModel", "mj"]
