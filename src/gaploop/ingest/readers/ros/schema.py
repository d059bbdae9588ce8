"""Message definitions as ROS writes them: `float64[] position`, one type after another.

Grammar: docs.ros.org, Interfaces; the concatenated form is that of MCAP's `ros2msg` and of
ROS 1 bags: the type itself, then `MSG: package/Name` sections between lines of `=`.
"""

import re
from dataclasses import dataclass

PRIMITIVES = {
    "bool": "?", "byte": "u1", "char": "u1", "int8": "i1", "uint8": "u1", "int16": "<i2",
    "uint16": "<u2", "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8",
    "float32": "<f4", "float64": "<f8",
}  # fmt: skip
"""Name to NumPy type."""
_FIELD = re.compile(
    r"^(?P<type>[A-Za-z][\w/]*)(<=\d+)?(?P<array>\[(<=)?(?P<size>\d*)\])?\s+(?P<name>\w+)"
)
_CONSTANT = re.compile(r"^[A-Za-z][\w/]*(<=\d+)?(\[.*?\])?\s+\w+\s*=")
_MOST = 4096


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a message."""

    name: str
    type: str
    """A primitive, `string`, `time`, `duration`, or the full name of another type."""
    array: bool = False
    size: int = 0
    """Of a fixed array; 0 for any length."""


Types = dict[str, tuple[Field, ...]]


def parse(name: str, text: str, *, ros1: bool = False) -> Types:
    """The type and all it is made of, by full name without `msg/`.

    Raises:
      ValueError: for text that is no message definition.
    """
    parts = re.split(r"(?m)^=+\s*$", text)
    if len(parts) > _MOST:
        raise ValueError("the definition has too many parts")
    found: Types = {}
    for number, part in enumerate(parts):
        lines = part.strip().split("\n")
        own = plain(name)
        if number:
            own = plain(lines[0].removeprefix("MSG:").strip())
            lines = lines[1:]
        found[own] = tuple(_fields(lines, own.split("/")[0], ros1))
    return _closed(found)


def plain(name: str) -> str:
    """`sensor_msgs/msg/JointState` as `sensor_msgs/JointState`."""
    return name.replace("/msg/", "/").replace("/srv/", "/").replace("/action/", "/")


_BUILT_IN = ("string", "wstring", "time", "duration")


def _closed(found: Types) -> Types:
    """Every type that is mentioned has an entry."""
    again = True
    while again:
        again = False
        for fields in list(found.values()):
            for f in fields:
                if f.type in PRIMITIVES or f.type in (*_BUILT_IN, *found):
                    continue
                known = next((k for k in found if k.split("/")[-1] == f.type.split("/")[-1]), None)
                if known is None:
                    raise ValueError(f"type {f.type!r} is not defined")
                found[f.type] = found[known]
                again = True
    return found


def _fields(lines: list[str], package: str, ros1: bool) -> list[Field]:
    found: list[Field] = []
    for line in lines:
        text = line.split("#")[0].strip()
        if not text or (_CONSTANT.match(text) and "=" in re.sub(r"<=", "", text)):
            continue
        match = _FIELD.match(text)
        if match is None:
            raise ValueError(f"the line {text[:60]!r} is no member of a message")
        kind = plain(match["type"])
        if ros1 and kind == "Header":
            kind = "std_msgs/Header"
        if kind not in PRIMITIVES and kind not in _BUILT_IN and "/" not in kind:
            kind = f"{package}/{kind}"
        size = int(match["size"] or 0) if match["array"] and "<=" not in match["array"] else 0
        found.append(Field(match["name"], kind, match["array"] is not None, size))
    return found
