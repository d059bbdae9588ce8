"""MCAP files, read from front to back: what a cut file still holds is found on the way.

Format: mcap.dev/spec. No index is used, since a file whose recorder died has none.
"""

import struct
import zlib
from pathlib import Path
from typing import Any

from gaploop.core import InputError, Loss
from gaploop.ingest.readers.ros.raw import Raw, Topic

MAGIC = b"\x89MCAP0\r\n"
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END, _FOOTER = 3, 4, 5, 6, 15, 2
_RECORD = struct.Struct("<BQ")
_HEAD = struct.Struct("<HIQQ")
_CHUNKED = struct.Struct("<QQQI")
_LARGEST = 1 << 31


def read(path: Path) -> Raw:
    """Every whole message of the file.

    Raises:
      InputError: when the file cannot be opened, or is no MCAP file.
    """
    try:
        content = memoryview(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    if bytes(content[:8]) != MAGIC:
        raise InputError(f"{path} is no MCAP file: it does not begin like one.")
    found = _Found(path)
    found.walk(content, 8, len(content), "")
    return Raw(topics=[t for t in found.topics.values() if t.messages], losses=found.losses)


class _Found:
    """Schemas, channels and messages, as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.schemas: dict[int, tuple[str, str, bytes]] = {}
        self.topics: dict[int, Topic] = {}
        self.losses: list[Loss] = []
        self.kept = 0

    def walk(self, view: memoryview, at: int, end: int, where: str) -> bool:
        """The records in [at, end); False where they break off."""
        while at < end:
            if at + 9 > end:
                self._lose(at, end, where, "the file is cut")
                return False
            kind, length = _RECORD.unpack_from(view, at)
            start = at + 9
            stop = start + length
            if kind == _MESSAGE and stop <= end and length >= 22:
                channel, _, logged, _ = _HEAD.unpack_from(view, start)
                topic = self.topics.get(channel)
                if topic is not None:
                    topic.times.append(logged)
                    topic.messages.append(view[start + 22 : stop])
                    self.kept += 1
            elif kind in (_DATA_END, _FOOTER) and stop <= end:
                return True
            elif kind == _CHUNK and stop > end:
                self._lose(at, end, where, "a chunk is cut")
                self._chunk(view[start:end], at, cut=True)
                return False
            elif stop > end or not kind:
                self._lose(at, end, where, "the file is cut or a length is damaged")
                return False
            else:
                try:
                    self._other(kind, view[start:stop], at)
                except (struct.error, ValueError, IndexError) as error:
                    self._lose(at, stop, where, f"a record cannot be understood ({error})")
            at = stop
        return True

    # -- inside -------------------------------------------------------------

    def _other(self, kind: int, record: memoryview, at: int) -> None:
        if kind == _SCHEMA:
            number, name, encoding, text = _fields(record, "HSSB")
            self.schemas[number] = (name, encoding, text)
        elif kind == _CHANNEL:
            number, schema, topic, encoding = _fields(record, "HHSS")
            name, kind_, text = self.schemas.get(schema, ("", "", b""))
            self.topics.setdefault(
                number,
                Topic(
                    name=topic, type=name, encoding=encoding, definition=text,
                    definition_encoding=kind_,
                ),
            )  # fmt: skip
        elif kind == _CHUNK:
            self._chunk(record, at, cut=False)

    def _chunk(self, record: memoryview, at: int, *, cut: bool) -> None:
        where = f" (chunk at byte {at})"
        try:
            _, _, size, checksum = _CHUNKED.unpack_from(record, 0)
            (compression,) = _fields(record[28:], "S")
            start = 28 + 4 + len(compression.encode()) + 8
            packed = record[start:]
            if size > _LARGEST:
                raise ValueError(f"it claims {size} bytes")
            inner = _unpacked(packed, compression, size, cut=cut)
            if not cut and len(inner) != size:
                raise ValueError(f"{len(inner)} bytes instead of {size}")
            if not cut and checksum and zlib.crc32(inner) != checksum:
                raise ValueError("its checksum is wrong")
        except (struct.error, ValueError, IndexError, MemoryError) as error:
            if not cut:
                self._lose(at, at + 9 + len(record), "", f"a chunk is damaged: {error}")
            return
        known = len(self.losses)
        self.walk(inner, 0, len(inner), where)
        if cut:  # said once already
            del self.losses[known:]

    def _lose(self, at: int, end: int, where: str, reason: str) -> None:
        self.losses.append(
            Loss(
                source=f"{self.path}, byte {at}{where}",
                kept=self.kept,
                lost=None,
                unit="messages",
                lost_bytes=end - at,
                reason=reason,
            )
        )


def _fields(view: memoryview, form: str) -> list[Any]:
    """Numbers (H), texts (S) and blocks (B) at the start of a record."""
    found: list[Any] = []
    at = 0
    for kind in form:
        if kind == "H":
            found.append(struct.unpack_from("<H", view, at)[0])
            at += 2
            continue
        (length,) = struct.unpack_from("<I", view, at)
        at += 4
        if at + length > len(view):
            raise ValueError("a text reaches past its end")
        block = bytes(view[at : at + length])
        found.append(block.decode("utf-8", "replace") if kind == "S" else block)
        at += length
    return found


def unpack_lz4(packed: memoryview, size: int, *, cut: bool = False) -> bytes:
    """At most `size` bytes of an LZ4 frame.

    Raises:
      ValueError: when it is damaged; InputError: when lz4 is not installed.
    """
    try:
        import lz4.frame as lz4  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise _lacking("lz4") from None
    unpacker: Any = lz4.LZ4FrameDecompressor()
    return _some(unpacker, packed, size, cut=cut)


def _unpacked(packed: memoryview, compression: str, size: int, *, cut: bool) -> memoryview:
    """The records of a chunk; of a cut one, what can still be unpacked."""
    if compression in ("", "none"):
        return packed
    if compression == "lz4":
        return memoryview(unpack_lz4(packed, size, cut=cut))
    if compression != "zstd":
        raise ValueError(f"compression {compression!r} is not known")
    try:
        import zstandard
    except ImportError:
        raise _lacking("zstandard") from None
    unpacker = zstandard.ZstdDecompressor(max_window_size=_LARGEST).decompressobj()
    return memoryview(_some(unpacker, packed, size, cut=cut))


def _lacking(name: str) -> InputError:
    return InputError(
        f"A chunk is packed, and {name} is not installed.", hint="pip install 'gaploop[ros]'"
    )


def _some(unpacker: Any, packed: memoryview, size: int, *, cut: bool) -> bytes:
    """At most `size` bytes, piece by piece, so that a lying header costs no memory."""
    parts: list[bytes] = []
    total = 0
    step = 1 << 16
    for at in range(0, len(packed), step):
        try:
            part = unpacker.decompress(bytes(packed[at : at + step]))
        except Exception as error:  # each library has errors of its own
            if cut:
                break
            raise ValueError(f"it cannot be unpacked ({error})") from error
        total += len(part)
        if total > size:
            raise ValueError(f"it unpacks to more than its {size} bytes")
        parts.append(part)
    return b"".join(parts)
