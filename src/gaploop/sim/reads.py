"""Channel reads: paths into the simulation's state and outputs, bound once a batch.

Positions and velocities are current. What the physics step computes on the way
(`site`, `body`, `geom`, `sensor`, `actuator`) is one physics step older, as in
MuJoCo itself; at the start of an attempt all is current.
"""

from typing import Final

import numpy as np
from mujoco.batch import Batch

from gaploop.core import Channel, InputError, Target, UnknownNameError
from gaploop.sim.binding import object_id
from gaploop.sim.mj import MjModel

_OUTPUTS: Final = {
    "site": {"pos": "site_xpos", "mat": "site_xmat"},
    "body": {"pos": "xpos", "quat": "xquat"},
    "geom": {"pos": "geom_xpos", "mat": "geom_xmat"},
    "actuator": {"force": "actuator_force", "length": "actuator_length"},
}


class Reader:
    """Copies one channel out of a batch."""

    def __init__(self, batch: Batch, channel: Channel) -> None:
        if len(channel.reads) != len(channel.columns):
            raise InputError(
                f"Channel {channel.name!r} has {len(channel.columns)} columns"
                f" and {len(channel.reads)} reads."
            )
        found = [locate(batch.model, path) for path in channel.reads]
        self._parts: list[tuple[np.ndarray, list[int], list[int]]] = []
        for field in dict.fromkeys(f for f, _ in found):
            array = batch.bind(field)
            flat = array.reshape(len(array), -1)
            to = [i for i, (f, _) in enumerate(found) if f == field]
            self._parts.append((flat, [found[i][1] for i in to], to))
        self._whole = len(self._parts) == 1

    def read(self, out: np.ndarray) -> None:
        """Write the channel's (N, d) current values to `out`."""
        for flat, source, to in self._parts:
            if self._whole:
                np.take(flat, source, axis=1, out=out, mode="clip")
            else:
                out[:, to] = flat[:, source]


def locate(model: MjModel, path: str) -> tuple[str, int]:
    """(bindable field, flat index) of a read path.

    Raises UnknownNameError for a kind, object or field that is not there.
    """
    kind, name, field, index = Target(path=path).parts()
    at = index or 0
    if kind in ("qpos", "qvel"):
        joint = object_id(model, "joint", name)
        start = (model.jnt_qposadr if kind == "qpos" else model.jnt_dofadr)[joint]
        return kind, int(start) + at
    if kind == "mocap":
        row = int(model.body_mocapid[object_id(model, "body", name)])
        if row < 0 or field not in ("pos", "quat"):
            raise UnknownNameError("mocap read", path, ("mocap:BODY.pos[i]", "mocap:BODY.quat[i]"))
        return f"mocap_{field}", row * (3 if field == "pos" else 4) + at
    if kind == "sensor":
        return "sensordata", int(model.sensor_adr[object_id(model, "sensor", name)]) + at
    if kind not in _OUTPUTS:
        raise UnknownNameError("read", kind, [*_OUTPUTS, "qpos", "qvel", "mocap", "sensor"])
    if field not in _OUTPUTS[kind]:
        raise UnknownNameError(f"{kind} read", field, _OUTPUTS[kind])
    size = {"pos": 3, "quat": 4, "mat": 9}.get(field, 1)
    return _OUTPUTS[kind][field], object_id(model, kind, name) * size + at
