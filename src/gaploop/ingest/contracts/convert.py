"""Conversions of one episode from one contract to another, a field at a time.

Each takes and returns an episode's tables, and says what it did. What would need a guess (an
encoder's zero, a turn added to a turn) is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gaploop.core import Contract, ContractError, Feature
from gaploop.core.units import FACTORS
from gaploop.ingest.contracts.gripper import CLOSED_HIGH, OPEN_HIGH
from gaploop.ingest.contracts.layout import is_gripper, unit_blocks
from gaploop.ingest.contracts.turns import ORDERS, stored

_QUANTITY: Final = {
    "rad": "angle", "deg": "angle", "mrad": "angle", "m": "length", "cm": "length",
    "mm": "length", "um": "length", "rad/s": "spin", "deg/s": "spin", "m/s": "speed",
    "mm/s": "speed", "s": "time", "ms": "time", "us": "time", "1": "share", "%": "share",
}  # fmt: skip
Tables = dict[str, np.ndarray]
"""Feature key to (T, d) float64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What was done to one field of one episode."""

    field: str
    before: Any
    after: Any
    how: str
    exact: bool = True
    """False where something had to be taken for granted; `how` says what."""

    def record(self) -> dict[str, Any]:
        return {
            "field": self.field, "from": self.before, "to": self.after, "how": self.how,
            "exact": self.exact,
        }  # fmt: skip


def refuse(field: str, a: Any, b: Any, why: str) -> ContractError:
    """The error that names the field."""
    return ContractError(
        f"These cannot be merged: {field} is {a!r} in one and {b!r} in the other, and {why}.",
        hint="Convert one side by hand, or keep them apart.",
    )


def columns(key: str, table: np.ndarray, mine: Feature, wanted: Feature) -> np.ndarray:
    """(T, d) in the wanted order of columns.

    Raises:
      ContractError: when the columns are not the same ones.
    """
    if sorted(mine.columns) != sorted(wanted.columns) or len(set(mine.columns)) < len(mine.columns):
        raise refuse(f"{key}.columns", mine.columns, wanted.columns, "they are not the same ones")
    return table[:, [mine.columns.index(c) for c in wanted.columns]]


def unit(key: str, table: np.ndarray, a: Any, b: Any, names: tuple[str, ...]) -> np.ndarray:
    """(T, d) in the units `b`: a name for all columns, or one a column."""
    width = table.shape[1]
    have, want = _each(a, width), _each(b, width)
    if have is None or want is None:
        raise refuse(f"{key}.unit", a, b, f"the feature has {width} columns")
    factors = np.ones(width)
    for i, (x, y) in enumerate(zip(have, want, strict=True)):
        if x == y:
            continue
        if _QUANTITY.get(x) is None or _QUANTITY.get(x) != _QUANTITY.get(y):
            where = f" (column {names[i]})" if i < len(names) else ""
            raise refuse(f"{key}.unit{where}", x, y, "no factor is known between them")
        # a gripper or a quaternion beside joints has no angle to convert
        named = names[i] if i < len(names) and isinstance(a, str) else ""
        if named and _QUANTITY[x] in ("angle", "length") and (is_gripper(named) or _bare(named)):
            continue
        factors[i] = FACTORS[x] / FACTORS[y]
    blocks = {c for s in unit_blocks(table) for c in range(s, s + 4)} if isinstance(a, str) else ()
    factors[list(blocks)] = 1.0
    return table * factors


def _bare(name: str) -> bool:
    tail = name.lower().rsplit(".", 1)[-1]
    return tail in ("qw", "qx", "qy", "qz", "quat_w", "quat_x", "quat_y", "quat_z")


def _each(units: Any, width: int) -> list[str] | None:
    if isinstance(units, str):
        return [units] * width
    found = list(units) if isinstance(units, (tuple, list)) else []
    return found if len(found) == width else None


def rotation(key: str, table: np.ndarray, a: Any, b: Any) -> np.ndarray:
    """(T, d) with its quaternion in the order `b`."""
    if a not in ORDERS or b not in ORDERS:
        raise refuse(f"{key}.rotation", a, b, "only the two orders of a quaternion are converted")
    starts = unit_blocks(table)
    if len(starts) != 1:
        raise refuse(
            f"{key}.rotation", a, b, f"{len(starts)} blocks of four columns look like a quaternion"
        )
    out = table.copy()
    block = slice(starts[0], starts[0] + 4)
    out[:, block] = stored(table[:, block][:, ORDERS[a]], b)
    return out


def mode(
    tables: Mapping[str, np.ndarray], times: np.ndarray, mine: Contract, wanted: Contract
) -> tuple[np.ndarray, str, bool]:
    """(actions, how, exact): joint commands as absolute, delta or velocity."""
    a, b = str(mine.action_mode.value), str(wanted.action_mode.value)
    if mine.action_space.value != "joint":
        raise refuse("action_mode", a, b, "turns of a tool do not add up column by column")
    action, names = tables["action"], _names(mine, "action")
    moved = [i for i in range(action.shape[1]) if not (i < len(names) and is_gripper(names[i]))]
    dt = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
    at, how, exact = _absolute(tables, action, moved, mine, dt)
    if b == "absolute":
        return at, how, exact
    out = at.copy()
    if b == "delta" and wanted.action_reference.value == "current state":
        out[:, moved] = at[:, moved] - _state(tables, mine, moved)
        return out, f"{how}; reading taken off", exact
    steps = np.diff(at[:, moved], axis=0, prepend=at[:1, moved])
    out[:, moved] = steps / dt if b == "velocity" else steps
    # a first step from a place nobody logged is lost
    return out, f"{how}; step from the last command{' a second' if b == 'velocity' else ''}", False


def _absolute(
    tables: Mapping[str, np.ndarray],
    action: np.ndarray,
    moved: list[int],
    mine: Contract,
    dt: float,
) -> tuple[np.ndarray, str, bool]:
    a = mine.action_mode.value
    if a == "absolute":
        return action, "absolute", True
    out = action.copy()
    state = _state(tables, mine, moved)
    if a == "delta" and mine.action_reference.value == "current state":
        out[:, moved] = action[:, moved] + state
        return out, "reading added", True
    steps = action[:, moved] * (dt if a == "velocity" else 1.0)
    out[:, moved] = state[:1] + np.cumsum(steps, axis=0)
    return (
        out,
        "steps summed from the first reading, where the first command is taken to start",
        False,
    )


def _state(tables: Mapping[str, np.ndarray], mine: Contract, moved: list[int]) -> np.ndarray:
    """(T, m) the readings that the moved commands drive."""
    state = tables.get("observation.state")
    if state is None or state.shape[1] < len(moved):
        raise refuse(
            "action_mode", mine.action_mode.value, "another",
            "there is no joint reading to start from",
        )  # fmt: skip
    units = [f.unit.value for k in ("action", "observation.state") if (f := mine.feature(k))]
    if len({str(u) for u in units}) > 1:
        raise refuse("action_mode", mine.action_mode.value, "another",
                     f"action and reading are in different units {units}")  # fmt: skip
    if mine.joint_map.value is not None:
        order, signs = mine.joint_map.value["order"], mine.joint_map.value["signs"]
        if len(order) == len(moved):
            return state[:, list(order)] * np.array(signs)
    return state[:, moved]


def joint_map(tables: Mapping[str, np.ndarray], mine: Contract, wanted: Contract) -> np.ndarray:
    """(T, d) joint readings put where, and signed as, the wanted map has them."""
    a, b = mine.joint_map.value, wanted.joint_map.value
    state = tables["observation.state"]
    if sorted(a["order"]) != sorted(b["order"]) or max(a["order"], default=0) >= state.shape[1]:
        raise refuse("joint_map", a, b, "they are not maps of the same joints")
    out = state.copy()
    for i, (j, k) in enumerate(zip(a["order"], b["order"], strict=True)):
        out[:, k] = a["signs"][i] * b["signs"][i] * state[:, j]
    return out


def polarity(action: np.ndarray, mine: Contract, wanted: Contract) -> tuple[np.ndarray, str]:
    """Actions with the gripper's command turned over and put into the wanted range."""
    names = _names(mine, "action")
    found = [i for i, n in enumerate(names) if is_gripper(n)]
    a, b = mine.gripper_polarity.value, wanted.gripper_polarity.value
    if len(found) != 1:
        raise refuse(
            "gripper_polarity", a, b, f"{len(found)} columns of action are named a gripper"
        )
    if {a, b} != {OPEN_HIGH, CLOSED_HIGH}:
        raise refuse("gripper_polarity", a, b, "these words are not known")
    if mine.gripper_range.value is None:
        raise refuse("gripper_polarity", a, b, "the range of the gripper is not known")
    low, high = (float(v) for v in mine.gripper_range.value)
    out = action.copy()
    out[:, found[0]] = low + high - action[:, found[0]]
    return out, f"{names[found[0]]} turned over in [{low:g}, {high:g}]"


def grip_range(action: np.ndarray, mine: Contract, wanted: Contract) -> tuple[np.ndarray, str]:
    """Actions with the gripper's command scaled from its range to the wanted one."""
    names = _names(mine, "action")
    found = [i for i, n in enumerate(names) if is_gripper(n)]
    a, b = mine.gripper_range.value, wanted.gripper_range.value
    if len(found) != 1 or not float(a[1]) > float(a[0]):
        raise refuse("gripper_range", a, b, "the column of the gripper is not known")
    out = action.copy()
    share = (action[:, found[0]] - float(a[0])) / (float(a[1]) - float(a[0]))
    out[:, found[0]] = float(b[0]) + share * (float(b[1]) - float(b[0]))
    return out, f"{names[found[0]]} scaled"


def _names(contract: Contract, key: str) -> tuple[str, ...]:
    feature = contract.feature(key)
    return feature.columns if feature else ()
