"""JSON and Protobuf messages of MCAP files, as columns."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gaploop.core import InputError
from gaploop.ingest.readers.ros.layout import Decoded

_DEEPEST = 32
_LONGEST = 4096

Flat = tuple[dict[str, list[float]], dict[str, list[str]]]
"""Path to numbers, and path to texts."""


def from_json(messages: Sequence[bytes | memoryview]) -> tuple[list[Decoded], list[int]]:
    """Every message that is JSON; numbers of the others."""
    return _gathered(_parsed(messages))


def from_protobuf(
    messages: Sequence[bytes | memoryview], definition: bytes, name: str
) -> tuple[list[Decoded], list[int]]:
    """Messages by the descriptor that stands in the file.

    Raises:
      ValueError: when the descriptor is damaged or lacks the type.
      InputError: when protobuf is not installed.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        from google.protobuf.message import DecodeError
    except ImportError:
        raise InputError(
            "Protobuf messages cannot be read: protobuf is not installed.",
            hint="pip install 'gaploop[ros]'",
        ) from None
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(definition)
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.Add(file)
        cls: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except (DecodeError, TypeError, KeyError) as error:
        raise ValueError(f"the descriptor of {name} cannot be used ({error})") from error

    def parsed() -> Iterator[Flat | None]:
        for content in messages:
            try:
                found = cls.FromString(bytes(content))
                flat: Flat = ({}, {})
                _walk_protobuf(found, "", flat, 0)
                yield flat
            except (DecodeError, ValueError):
                yield None

    return _gathered(parsed())


# -- inside -------------------------------------------------------------------


def _parsed(messages: Sequence[bytes | memoryview]) -> Iterator[Flat | None]:
    for content in messages:
        try:
            flat: Flat = ({}, {})
            _walk_json(json.loads(bytes(content)), "", flat, 0)
            yield flat
        except (ValueError, RecursionError):
            yield None


def _walk_json(node: Any, path: str, flat: Flat, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(node, int | float):  # bool is an int
        flat[0][path] = [float(node)]
    elif isinstance(node, str):
        flat[1][path] = [node]
    elif isinstance(node, dict):
        for key, inner in node.items():
            _walk_json(inner, f"{path}.{key}".lstrip("."), flat, depth + 1)
    elif isinstance(node, list):
        if all(isinstance(v, int | float) for v in node):
            if 0 < len(node) <= _LONGEST:
                flat[0][path] = [float(v) for v in node]
        elif all(isinstance(v, str) for v in node):
            flat[1][path] = node
        else:
            for i, inner in enumerate(node[:_LONGEST]):
                _walk_json(inner, f"{path}[{i}]", flat, depth + 1)


def _walk_protobuf(message: Any, path: str, flat: Flat, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    for field in message.DESCRIPTOR.fields:
        here = f"{path}.{field.name}".lstrip(".")
        value = getattr(message, field.name)
        repeated = hasattr(value, "__len__") and not isinstance(value, str | bytes)
        if field.message_type is not None:
            inner = list(value) if repeated else [value]
            for i, item in enumerate(inner[:_LONGEST]):
                _walk_protobuf(item, f"{here}[{i}]" if repeated else here, flat, depth + 1)
            continue
        items: list[Any] = list(value) if repeated else [value]
        if items and isinstance(items[0], str):
            flat[1][here] = items
        elif items and not isinstance(items[0], bytes) and len(items) <= _LONGEST:
            flat[0][here] = [float(v) for v in items]


def _gathered(found: Iterator[Flat | None]) -> tuple[list[Decoded], list[int]]:
    """Messages of one shape side by side."""
    groups: dict[tuple[object, ...], list[tuple[int, Flat]]] = {}
    bad: list[int] = []
    for row, flat in enumerate(found):
        if flat is None:
            bad.append(row)
            continue
        shape = tuple((k, len(v)) for k, v in flat[0].items())
        groups.setdefault(shape, []).append((row, flat))
    return [_decoded(members) for members in groups.values()], bad


def _decoded(members: list[tuple[int, Flat]]) -> Decoded:
    first = members[0][1]
    return Decoded(
        rows=np.array([row for row, _ in members]),
        columns={k: np.array([flat[0][k] for _, flat in members]) for k in first[0]},
        texts=first[1],
    )
