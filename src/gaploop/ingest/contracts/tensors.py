"""Small float tensors in safetensors files: a length, a JSON header, plain bytes.

Format: huggingface/safetensors, README. Only what statistics need: F64, F32, F16, I64, I32.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from gaploop.core import InputError

_KINDS: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}
_LARGEST: Final = 256 * 2**20
_HEADER: Final = 2**20


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Name to array.

    Raises:
      InputError: for a file that is cut, damaged, too large, or has a kind nobody reads here.
    """
    try:
        size = path.stat().st_size
        if size > _LARGEST:
            raise InputError(f"{path} has {size} bytes, more than statistics ever have.")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(_HEADER, len(data) - 8):
        raise InputError(f"{path} is cut or no safetensors file: its header does not fit.")
    try:
        header = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError):
        raise InputError(f"{path} has a header that is no JSON (byte 8 to {8 + length}).") from None
    if not isinstance(header, dict):
        raise InputError(f"{path} has a header that is no JSON object.")
    body = data[8 + length :]
    return {str(k): _one(path, str(k), v, body) for k, v in header.items() if k != "__metadata__"}


def _one(path: Path, name: str, entry: Any, body: bytes) -> np.ndarray:
    try:
        kind, shape = _KINDS[entry["dtype"]], [int(n) for n in entry["shape"]]
        start, stop = (int(n) for n in entry["data_offsets"])
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"{path}: tensor {name!r} is described in a way nobody reads."[:300]
        ) from None
    width = np.dtype(kind).itemsize
    if min([start, *shape], default=0) < 0 or not start <= stop <= len(body):
        raise InputError(f"{path}: tensor {name!r} lies outside the file; is it cut?"[:300])
    if math.prod(shape) * width != stop - start:
        raise InputError(
            f"{path}: tensor {name!r} has shape {shape} and {stop - start} bytes."[:300]
        )
    return np.frombuffer(body[start:stop], kind).reshape(shape)


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Write float32 tensors; the file appears only when it is complete."""
    header: dict[str, Any] = {}
    parts, at = [], 0
    for name in sorted(tensors):
        data = np.ascontiguousarray(tensors[name], "<f4").tobytes()
        shape = list(np.shape(tensors[name]))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(parts))
    os.replace(draft, path)
