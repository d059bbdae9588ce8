"""One `tf.train.Example` message: a map from names to lists of bytes, floats or integers.

Wire format: protobuf.dev/programming-guides/encoding. Only what the message can hold is
decoded, packed numbers as arrays; unknown fields are skipped, as the format demands.
"""

import numpy as np

Value = list[bytes] | np.ndarray
"""Texts and pictures as bytes; (N,) float32; (N,) int64."""


def parse(content: bytes) -> dict[str, Value]:
    """Name to values.

    Raises:
      ValueError: when the content is no such message.
    """
    view = memoryview(content)
    found: dict[str, Value] = {}
    for number, features in _fields(view):
        if number != 1:
            continue
        for inner, entry in _fields(_block(features)):
            if inner == 1:
                name, value = _entry(_block(entry))
                found[name] = value
    return found


# -- inside -------------------------------------------------------------------

_Field = memoryview | int | bytes


def _entry(view: memoryview) -> tuple[str, Value]:
    name, value = "", []
    for number, field in _fields(view):
        if number == 1:
            name = bytes(_block(field)).decode("utf-8", "replace")
        elif number == 2:
            value = _feature(_block(field))
    return name, value


def _feature(view: memoryview) -> Value:
    for number, field in _fields(view):
        inner = _block(field)
        if number == 1:
            return [bytes(_block(f)) for n, f in _fields(inner) if n == 1]
        if number == 2:
            return _floats(inner)
        if number == 3:
            return _integers(inner)
    return []


def _floats(view: memoryview) -> np.ndarray:
    parts: list[np.ndarray] = []
    for number, field in _fields(view):
        if number == 1 and not isinstance(field, int):
            if len(field) % 4:
                raise ValueError("a list of floats is cut")
            parts.append(np.frombuffer(field, "<f4"))
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _integers(view: memoryview) -> np.ndarray:
    parts: list[np.ndarray] = []
    for number, field in _fields(view):
        if number == 1:
            packed = not isinstance(field, int)
            parts.append(_varints(field) if packed else np.array([field], np.uint64))
    joined = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    return joined.view(np.int64)


def _varints(field: memoryview | bytes) -> np.ndarray:
    """All base-128 numbers side by side, as uint64."""
    raw = np.frombuffer(field, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    if not len(raw):
        return np.zeros(0, np.uint64)
    if not len(ends) or ends[-1] != len(raw) - 1:
        raise ValueError("a list of integers is cut")
    starts = np.concatenate([[0], ends[:-1] + 1])
    place = np.arange(len(raw)) - np.repeat(starts, ends - starts + 1)
    if place.max() > 9:
        raise ValueError("an integer has more than ten bytes")
    parts = (raw & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.bitwise_or.reduceat(parts, starts)


def _block(field: _Field) -> memoryview:
    if isinstance(field, int):
        raise ValueError("a number stands where a block was expected")
    return memoryview(field)


def _fields(view: memoryview) -> list[tuple[int, _Field]]:
    """(field number, content) of one message: blocks as views, numbers as int."""
    found: list[tuple[int, _Field]] = []
    at, size = 0, len(view)
    while at < size:
        key, at = _varint(view, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(view, at)
            found.append((number, value))
            continue
        if kind == 2:
            length, at = _varint(view, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind} is not known")
        if at + length > size:
            raise ValueError("a block reaches past the end")
        found.append((number, view[at : at + length]))
        at += length
    return found


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(view) or shift > 63:
            raise ValueError("a number is cut")
        byte = view[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
