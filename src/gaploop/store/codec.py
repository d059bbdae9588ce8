"""Core types as JSON and back, bit for bit.

Dataclasses and mappings are objects, and what JSON cannot say is tagged:
`{"$tuple": [...]}`, `{"$float": "nan"}`, `{"$array": ...}`, `{"$dict": [[k, v], ...]}`.
A dataclass is decoded by the type that is asked for; below `Any` it comes back as a dict.
"""

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec
import numpy as np

T = TypeVar("T")

SaveArray = Callable[[np.ndarray], str]
LoadArray = Callable[[str], np.ndarray]

SMALL = 4096
"""Arrays of at most this many bytes stay inside the JSON: thousands of tiny files help nobody."""


def dumps(value: Any, save: SaveArray | None = None) -> bytes:
    """`value` as canonical JSON; `save` stores a large array and returns its name.

    Raises:
      TypeError: for a value that has no place in JSON (a set, bytes, a path, objects).
    """
    text = json.dumps(encode(value, save), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode()


def loads(content: bytes | str, cls: type[T], load: LoadArray | None = None) -> T:
    """The inverse of `dumps`.

    Raises:
      ValueError: when the content is no such JSON or does not fit `cls`.
    """
    try:
        data = json.loads(content)
    except RecursionError as error:
        raise ValueError(str(error)) from error
    return decode(data, cls, load)


def encode(value: Any, save: SaveArray | None = None) -> Any:
    """`value` as JSON data."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, np.generic):
        return encode(value.item(), save)
    if isinstance(value, np.ndarray):
        return {"$array": _array(cast(np.ndarray, value), save)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name), save) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return _mapping(cast(Mapping[Any, Any], value), save)
    if isinstance(value, tuple):
        return {"$tuple": [encode(v, save) for v in cast(tuple[Any, ...], value)]}
    if isinstance(value, list):
        return [encode(v, save) for v in cast(list[Any], value)]
    raise TypeError(f"a {type(value).__name__} cannot be stored")


def decode(data: Any, cls: type[T], load: LoadArray | None = None) -> T:
    """JSON data as `cls`; ValueError where it does not fit."""
    try:
        return msgspec.convert(_untag(data, load), type=cls)
    except (msgspec.MsgspecError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _mapping(value: Mapping[Any, Any], save: SaveArray | None) -> Any:
    if all(isinstance(k, str) and not k.startswith("$") for k in value):
        return {k: encode(v, save) for k, v in value.items()}
    return {"$dict": [[encode(k, save), encode(v, save)] for k, v in value.items()]}


def _array(array: np.ndarray, save: SaveArray | None) -> Any:
    if array.dtype.hasobject or array.dtype.names:
        raise TypeError("an array of objects or records cannot be stored")
    if save is not None and array.nbytes > SMALL:
        return save(array)
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "data": base64.b64encode(array.tobytes()).decode(),
    }


def _untag(data: Any, load: LoadArray | None) -> Any:
    if isinstance(data, list):
        return [_untag(v, load) for v in cast(list[Any], data)]
    if not isinstance(data, dict):
        return data
    items = cast(dict[str, Any], data)
    if len(items) == 1:
        (key, inner) = next(iter(items.items()))
        if key == "$tuple":
            return tuple(_untag(v, load) for v in inner)
        if key == "$float":
            return float(inner)
        if key == "$dict":
            return {_untag(k, load): _untag(v, load) for k, v in inner}
        if key == "$array":
            return _load_array(inner, load)
    return {k: _untag(v, load) for k, v in items.items()}


def _load_array(stored: Any, load: LoadArray | None) -> np.ndarray:
    if isinstance(stored, str):
        if load is None:
            raise ValueError("an array is stored apart, and nothing loads it")
        return load(stored)
    dtype = np.dtype(stored["dtype"])
    if dtype.hasobject:
        raise ValueError("an array of objects is refused")
    flat = np.frombuffer(base64.b64decode(stored["data"], validate=True), dtype=dtype)
    return flat.reshape(stored["shape"]).copy()
