"""HDF5 files that may be cut or lie: what they claim is checked before it is read.

The format's own end-of-file address tells a cut file before the library meets the hole.
"""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core import InputError

MAGIC = b"\x89HDF\r\n\x1a\n"
_LARGEST = 4 << 30
"""Bytes of one array."""
_BLOWN_UP = 2000
"""Times a packed array may be larger than the file: more is no recording."""


def looks_like(path: Path) -> bool:
    """Whether the file begins like HDF5."""
    with path.open("rb") as stream:
        return stream.read(8) == MAGIC


def missing_bytes(path: Path) -> int:
    """How many bytes the file lacks by its own account; 0 for a whole one, or an old header.

    HDF5 file format specification, section II.A: the superblock's end-of-file address.
    """
    with path.open("rb") as stream:
        head = stream.read(64)
    if len(head) < 64 or head[:8] != MAGIC:
        return 0
    version = head[8]
    if version in (0, 1) and head[13] == 8:
        end = struct.unpack_from("<Q", head, 40 + 4 * (version == 1))[0]
    elif version in (2, 3) and head[9] == 8:
        end = struct.unpack_from("<Q", head, 28)[0]
    else:
        return 0
    return max(0, end - path.stat().st_size)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The file, read-only.

    Raises:
      InputError: when it is cut, damaged, or h5py is not installed.
    """
    try:
        import h5py
    except ImportError:
        raise InputError(
            f"{path} cannot be read: h5py is not installed.", hint="pip install 'gaploop[hdf5]'"
        ) from None
    lacking = missing_bytes(path)
    if lacking:
        raise InputError(
            f"{path} is cut: {lacking} of its bytes are missing.",
            hint="Copy the file again; the index of a cut HDF5 file cannot be trusted.",
        )
    try:
        with h5py.File(path, "r", locking=False) as file:
            yield file
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        raise InputError(f"{path} cannot be read: {_short(error)}.") from None


def array(group: Any, name: str, path: Path) -> np.ndarray | None:
    """An array of numbers, None where there is none of that name.

    Raises:
      ValueError: when it is a link out of the file, or claims more than can be there.
    """
    import h5py

    link = group.get(name, getlink=True)
    if link is None:
        return None
    if isinstance(link, h5py.ExternalLink):
        raise ValueError(f"{name} is a link into another file")
    found = group.get(name)
    if not isinstance(found, h5py.Dataset) or found.dtype.kind not in "fiub":
        return None
    if found.external or found.is_virtual:
        raise ValueError(f"{name} keeps its numbers in another file")
    if found.nbytes > min(_LARGEST, _BLOWN_UP * path.stat().st_size):
        raise ValueError(f"{name} claims {found.nbytes} bytes")
    return np.asarray(found[()])


def tables(group: Any, path: Path, prefix: str = "", depth: int = 0) -> dict[str, np.ndarray]:
    """Every array of numbers below a group, by path; pictures are left out."""
    import h5py

    found: dict[str, np.ndarray] = {}
    if depth > 8:
        raise ValueError("groups are nested too deeply")
    for name in sorted(group):
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise ValueError(f"{prefix}{name} is a link into another file")
        item = group.get(name)
        if isinstance(item, h5py.Group):
            found |= tables(item, path, f"{prefix}{name}/", depth + 1)
        elif isinstance(item, h5py.Dataset) and not _is_picture(item):
            values = array(group, name, path)
            if values is not None and values.ndim:
                found[f"{prefix}{name}"] = values.reshape(len(values), -1)
    return found


def text(attributes: Mapping[str, Any], name: str) -> str:
    """An attribute as text, empty where it is not there."""
    value = attributes.get(name, "")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _is_picture(item: Any) -> bool:
    return item.dtype == np.uint8 and len(item.shape) >= 3


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:160].rstrip(".") or type(error).__name__
