"""Contract faults of a stand-in's run-time path: what stands between its sensors and a policy.

The policy is fed, and the log holds, other numbers than training had. Physics is as
it was, so no training helps; see `gaploop.policies.path` for what finds them.
"""

from collections.abc import Callable
from typing import Final

from gaploop.core import Mend, TaskSpec, UnknownNameError

STATE: Final = "observation.state"


def miswired(spec: TaskSpec, name: str) -> Mend:
    """From the robot's numbers to the path's. Raises UnknownNameError for a fault nobody declared.

    `mm`: poses of objects in mm. `swapped`: the first two joint readings exchanged.
    `flipped`: the second joint reading with the other sign.
    """
    if name not in FAULTS:
        raise UnknownNameError("fault of the run-time path", name, FAULTS)
    return FAULTS[name](spec)


def _millimetres(spec: TaskSpec) -> Mend:
    channel = next(c for c in spec.observed if c.key != STATE)
    return _path(channel.key, range(len(channel.columns)), [1e3] * len(channel.columns))


def _swapped(spec: TaskSpec) -> Mend:
    width = _width(spec)
    return _path(STATE, [1, 0, *range(2, width)], [1.0] * width)


def _flipped(spec: TaskSpec) -> Mend:
    width = _width(spec)
    return _path(STATE, range(width), [-1.0 if i == 1 else 1.0 for i in range(width)])


FAULTS: Final[dict[str, Callable[[TaskSpec], Mend]]] = {
    "mm": _millimetres, "swapped": _swapped, "flipped": _flipped,
}  # fmt: skip


def _width(spec: TaskSpec) -> int:
    return next(len(c.columns) for c in spec.observed if c.key == STATE)


def _path(key: str, order: "list[int] | range", scale: list[float]) -> Mend:
    return Mend(
        feature=key, cause="contract", order=tuple(order), scale=tuple(scale),
        offset=(0.0,) * len(scale),
    )  # fmt: skip
