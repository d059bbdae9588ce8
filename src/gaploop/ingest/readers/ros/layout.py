"""Messages to columns, many at once.

The first message of a shape is walked member by member; where each number lies, and which
bytes decide that (lengths and texts), is its layout. Every other message of the same size
with the same deciding bytes has its numbers at the same places, so all of them are read as
one array. A joint state keeps its shape over a whole log.

Encodings: CDR (OMG DDS-XTypes 1.3, section 7.4.3: values aligned to their size behind four
bytes of header) and that of ROS 1 (no alignment, no header).
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gaploop.ingest.readers.ros.schema import PRIMITIVES, Types

_DEEPEST = 32
_LONGEST = 4096
"""Numbers of one array that become columns; longer ones are pictures, scans or clouds."""


@dataclass(slots=True)
class Layout:
    """Where the numbers of one message lie."""

    size: int
    numbers: list[tuple[str, str, int, int]] = field(default_factory=list)
    """(path, NumPy type, count, offset)"""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Path to the texts that stand there."""
    shape: list[tuple[int, int]] = field(default_factory=list)
    """Stretches of bytes that must be equal for this layout to hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Messages of one layout."""

    rows: np.ndarray
    """(N,) which messages."""
    columns: dict[str, np.ndarray]
    """Path to (N, count)."""
    texts: dict[str, list[str]]


def decode(
    messages: Sequence[bytes | memoryview], types: Types, name: str, *, ros1: bool
) -> tuple[list[Decoded], list[int]]:
    """All messages, layout by layout, and the numbers of those that are damaged."""
    sizes = np.array([len(m) for m in messages])
    found: list[Decoded] = []
    bad: list[int] = []
    for size in np.unique(sizes):
        left = np.flatnonzero(sizes == size)
        joined = b"".join(messages[i] for i in left.tolist())
        table = np.frombuffer(joined, np.uint8).reshape(len(left), size)
        alive = np.arange(len(left))
        while len(alive):
            try:
                layout = _Walk(table[alive[0]].tobytes(), types, ros1).layout(name)
            except (ValueError, struct.error, RecursionError):
                bad.append(int(left[alive[0]]))
                alive = alive[1:]
                continue
            same = _alike(table[alive], layout.shape)
            found.append(_columns(table[alive[same]], left[alive[same]], layout))
            alive = alive[~same]
    return found, sorted(bad)


# -- inside -------------------------------------------------------------------


def _alike(table: np.ndarray, shape: list[tuple[int, int]]) -> np.ndarray:
    same = np.ones(len(table), dtype=bool)
    for a, b in shape:
        same &= (table[:, a:b] == table[0, a:b]).all(axis=1)
    return same


def _columns(table: np.ndarray, rows: np.ndarray, layout: Layout) -> Decoded:
    columns: dict[str, np.ndarray] = {}
    for path, kind, count, offset in layout.numbers:
        dtype = np.dtype(kind)
        part = np.ascontiguousarray(table[:, offset : offset + count * dtype.itemsize])
        columns[path] = part.view(dtype)
    return Decoded(rows=rows, columns=columns, texts=layout.texts)


class _Walk:
    """Steps through one message."""

    def __init__(self, content: bytes, types: Types, ros1: bool) -> None:
        self.content, self.types, self.ros1 = content, types, ros1
        self.start = 0 if ros1 else 4
        self.at = self.start
        self.found = Layout(len(content))
        if not ros1:
            if len(content) < 4 or content[1] not in (0, 1):
                raise ValueError("no CDR header")
            if content[1] == 0:
                raise ValueError("big-endian CDR is not read")
            self.found.shape.append((0, 2))

    def layout(self, name: str) -> Layout:
        self._message(name, "", 0)
        return self.found

    def _message(self, name: str, path: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("the type holds itself")
        fields = self.types[name]
        if not fields and not self.ros1:
            self._skip(1, 1)  # an empty structure has one byte
        for f in fields:
            here = f"{path}.{f.name}" if path else f.name
            if f.array:
                count = f.size or self._length()
                self._array(f.type, here, count, depth)
            else:
                self._one(f.type, here, depth)

    def _array(self, kind: str, path: str, count: int, depth: int) -> None:
        if kind in PRIMITIVES:
            self._numbers(kind, path, count)
            return
        if count > len(self.content):
            raise ValueError("more members than bytes")
        for i in range(count):
            self._one(kind, path if kind == "string" else f"{path}[{i}]", depth)

    def _one(self, kind: str, path: str, depth: int) -> None:
        if kind in PRIMITIVES:
            self._numbers(kind, path, 1)
        elif kind == "wstring":
            raise ValueError("wide strings are not read")
        elif kind == "string":
            length = self._length()
            text = self._skip(length, 1)
            self.found.shape.append((text, text + length))
            raw = self.content[text : text + length]
            self.found.texts.setdefault(path, []).append(
                raw.rstrip(b"\0").decode("utf-8", "replace")
            )
        elif kind in ("time", "duration"):
            self._numbers("int32", f"{path}.sec", 1)
            self._numbers("uint32", f"{path}.nanosec", 1)
        else:
            self._message(kind, path, depth + 1)

    def _numbers(self, kind: str, path: str, count: int) -> None:
        dtype = np.dtype(PRIMITIVES[kind])
        # CDR pads before the first number, and before none where the array is empty
        offset = self._skip(count * dtype.itemsize, dtype.itemsize) if count else self.at
        if 0 < count <= _LONGEST:
            self.found.numbers.append((path, dtype.str, count, offset))

    def _length(self) -> int:
        offset = self._skip(4, 4)
        self.found.shape.append((offset, offset + 4))
        return struct.unpack_from("<I", self.content, offset)[0]

    def _skip(self, size: int, align: int) -> int:
        at = self.at
        if not self.ros1:
            at += -(at - self.start) % align
        if at + size > len(self.content):
            raise ValueError("the message is cut")
        self.at = at + size
        return at
