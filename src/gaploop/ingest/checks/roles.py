"""Which column is which, by name: grippers, quaternions, and who commands whom."""

import re
from collections.abc import Sequence

_GRIPPER = re.compile(r"grip|finger|jaw|claw|effector", re.IGNORECASE)
_PREFIX = re.compile(r"^(action|state|observation|obs|cmd|command|goal|target|leader|follower)[._]")
_SUFFIX = re.compile(r"[._](pos|position|cmd|command|goal|target)$")
_QUATERNION = re.compile(r"(^|[._ ])(q|quat|rot|ori|orientation|rotation)?[._]?(?P<part>[wxyz])$")


def grippers(columns: Sequence[str]) -> list[int]:
    """Columns that open and close."""
    return [i for i, name in enumerate(columns) if _GRIPPER.search(name)]


def quaternions(columns: Sequence[str]) -> list[tuple[int, str]]:
    """(first column, order as named) of each four columns named as a quaternion.

    Order is `wxyz` or `xyzw`. Four names that end in w, x, y, z side by side and are the
    same before that are one.
    """
    found: list[tuple[int, str]] = []
    parts = [_part(name) for name in columns]
    for i in range(len(columns) - 3):
        four = parts[i : i + 4]
        order = "".join(letter for _, letter in four)
        if order in ("wxyz", "xyzw") and len({stem for stem, _ in four}) == 1:
            found.append((i, order))
    return found


def commanded(action: Sequence[str], reading: Sequence[str]) -> list[tuple[int, int]]:
    """(column of the action, column of the reading) that should follow one another.

    By name, less the words that only say which side it is; by place where neither side
    has names and both are as wide.
    """
    if all(n.isdigit() for n in (*action, *reading)):
        return [(i, i) for i in range(len(action))] if len(action) == len(reading) else []
    at = {_plain(n): j for j, n in enumerate(reading)}
    found = [(i, at[_plain(n)]) for i, n in enumerate(action) if _plain(n) in at]
    if not found and len(action) == len(reading):
        return [(i, i) for i in range(len(action))]
    return found


def _plain(name: str) -> str:
    name = name.lower()
    while (shorter := _PREFIX.sub("", name)) != name:
        name = shorter
    return _SUFFIX.sub("", name)


def _part(name: str) -> tuple[str, str]:
    """What stands before the letter, and the letter."""
    found = _QUATERNION.search(name.lower())
    # x, y and z alone are a position: a quaternion needs its w beside them
    return ("", "-") if found is None else (name.lower()[: found.start("part")], found["part"])
