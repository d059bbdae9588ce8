"""Records of a TFRecord file: length, its checksum, content, its checksum."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gaploop.core import InputError, Loss
from gaploop.ingest.readers.rlds.crc import masked

_HEAD, _TAIL = 12, 4
_LARGEST = 1 << 31


@dataclass(frozen=True, slots=True)
class Record:
    """The content of one record and where it stands."""

    content: bytes
    offset: int
    """Byte of the file at which its length stands."""
    number: int


def records(path: Path) -> Iterator[Record | Loss]:
    """Every whole record, and one Loss for each damaged place, in order.

    A record whose content is damaged is left out and the next one is read; behind a
    damaged length nothing can be found again, so the rest of the file is one Loss.

    Raises:
      InputError: when the file cannot be opened.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            yield from _records(path, file, size)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None


def record_at(path: Path, offset: int) -> bytes:
    """The content of the record that starts at `offset`, as it was found before.

    Raises:
      InputError: when it is no longer there.
    """
    with path.open("rb") as file:
        file.seek(offset)
        head = file.read(_HEAD)
        length = struct.unpack_from("<Q", head)[0] if len(head) == _HEAD else 0
        content = file.read(length) if 0 < length <= path.stat().st_size else b""
    if len(content) != length or not content:
        raise InputError(f"{path}, byte {offset}: the record is no longer there.")
    return content


def looks_like(path: Path) -> bool:
    """Whether the file begins with a length and its right checksum."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return len(head) == _HEAD and _length(head) is not None


# -- inside -------------------------------------------------------------------


def _records(path: Path, file, size: int) -> Iterator[Record | Loss]:
    at = number = kept = 0

    def lost(reason: str, records: int | None, gone: int) -> Loss:
        return Loss(
            source=f"{path}, byte {at}", kept=kept, lost=records, unit="records",
            lost_bytes=gone, reason=reason,
        )  # fmt: skip

    while at < size:
        head = file.read(_HEAD)
        length = _length(head) if len(head) == _HEAD else None
        if length is None:
            reason = "the length of a record is damaged" if len(head) == _HEAD else "cut"
            yield lost(f"{reason}, so the rest of the file cannot be told apart", None, size - at)
            return
        if at + _HEAD + length + _TAIL > size:
            yield lost(f"record {number} is cut", 1, size - at)
            return
        content, tail = file.read(length), file.read(_TAIL)
        if masked(content) == struct.unpack("<I", tail)[0]:
            kept += 1
            yield Record(content, at, number)
        else:
            yield lost(f"the checksum of record {number} is wrong", 1, length)
        at += _HEAD + length + _TAIL
        number += 1


def _length(head: bytes) -> int | None:
    length, checksum = struct.unpack("<QI", head)
    fine = length <= _LARGEST and masked(head[:8]) == checksum
    return length if fine else None
