"""Content digests: equal content, equal digest, on any machine.

A dataclass is its type name and fields; a mapping is sorted by key; an array is
its dtype, shape and little-endian bytes. Fields marked `metadata={"digest":
False}` (facts, wall times) do not count, nor do those marked "set" that stand at their
default: a field added later leaves the digests of what was stored before it.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence, Set
from pathlib import PurePath
from typing import Any, cast

import numpy as np


def digest(*values: Any) -> str:
    """SHA-256 over `values` in canonical form, as 64 hex digits.

    Raises:
      TypeError: for a value that has no canonical form.
    """
    h = hashlib.sha256()
    for value in values:
        h.update(json.dumps(canonical(value), sort_keys=True, separators=(",", ":")).encode())
        h.update(b"\n")
    return h.hexdigest()


def canonical(value: Any) -> Any:
    """`value` as JSON data; arrays become their own digest."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        # JSON has no NaN or infinity; repr is exact for the rest
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.generic):
        return canonical(value.item())
    if isinstance(value, np.ndarray):
        return {"$array": array_digest(cast(Any, value))}
    if isinstance(value, bytes):
        return {"$bytes": hashlib.sha256(value).hexdigest()}
    if isinstance(value, PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            f.name: canonical(getattr(value, f.name))
            for f in dataclasses.fields(value)
            if _counts(value, f)
        }
        return {"$type": type(value).__name__, **fields}
    if isinstance(value, Mapping):
        mapping = cast(Mapping[Any, Any], value)
        return {str(k): canonical(v) for k, v in mapping.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(v) for v in cast(Sequence[Any], value)]
    if isinstance(value, (set, frozenset)):
        return sorted(canonical(v) for v in cast(Set[Any], value))
    raise TypeError(f"no canonical form for {type(value).__name__}")


def _counts(value: Any, field: "dataclasses.Field[Any]") -> bool:
    how = field.metadata.get("digest", True)
    return bool(how) and (how != "set" or getattr(value, field.name) != field.default)


def array_digest(array: np.ndarray) -> str:
    """SHA-256 of an array's dtype, shape and bytes (little-endian, C order)."""
    if array.dtype.hasobject:
        raise TypeError("object arrays have no canonical form")
    plain = np.ascontiguousarray(array)
    if plain.dtype.byteorder == ">":
        plain = plain.astype(plain.dtype.newbyteorder("<"))
    h = hashlib.sha256(f"{plain.dtype.str}{plain.shape}".encode())
    h.update(plain.tobytes())
    return h.hexdigest()


def short(full: str) -> str:
    """The first eight digits, as people type them."""
    return full[:8]
