"""ROS 1 bags, version 2.0, read from front to back without their index.

Format: wiki.ros.org/Bags/Format/2.0. A bag whose recorder died (`.bag.active`) has no
index; its chunks are whole all the same.
"""

import bz2
import struct
from pathlib import Path

from gaploop.core import InputError, Loss
from gaploop.ingest.readers.ros.mcap import unpack_lz4
from gaploop.ingest.readers.ros.raw import Raw, Topic

MAGIC = b"#ROSBAG V2.0\n"
_MESSAGE, _CHUNK, _CONNECTION = 2, 5, 7
_LARGEST = 1 << 31


def read(path: Path) -> Raw:
    """Every whole message of the file.

    Raises:
      InputError: when the file cannot be opened, or is no bag.
    """
    try:
        content = memoryview(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    if bytes(content[: len(MAGIC)]) != MAGIC:
        raise InputError(f"{path} is no ROS 1 bag of version 2.0.")
    found = _Found(path)
    found.walk(content, len(MAGIC), "")
    return Raw(topics=[t for t in found.topics.values() if t.messages], losses=found.losses)


class _Found:
    """Connections and messages, as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics: dict[int, Topic] = {}
        self.losses: list[Loss] = []
        self.kept = 0

    def walk(self, view: memoryview, at: int, where: str) -> None:
        """Records up to the end, or to where they break off."""
        while at < len(view):
            try:
                head, data, after = _record(view, at)
                self._take(head, data, at)
            except (struct.error, ValueError, KeyError) as error:
                self.losses.append(
                    Loss(
                        source=f"{self.path}, byte {at}{where}",
                        kept=self.kept,
                        lost=None,
                        unit="messages",
                        lost_bytes=len(view) - at,
                        reason=f"a record is cut or damaged ({error})",
                    )
                )
                return
            at = after

    def _take(self, head: dict[str, bytes], data: memoryview, at: int) -> None:
        kind = head["op"][0]
        if kind == _CONNECTION:
            (number,) = struct.unpack("<I", head["conn"])
            told = _header(data)
            self.topics.setdefault(
                number,
                Topic(
                    name=head["topic"].decode("utf-8", "replace"),
                    type=told["type"].decode("utf-8", "replace"), encoding="ros1",
                    definition=told["message_definition"], definition_encoding="ros1msg",
                ),
            )  # fmt: skip
        elif kind == _MESSAGE:
            (number,) = struct.unpack("<I", head["conn"])
            seconds, rest = struct.unpack("<II", head["time"])
            topic = self.topics[number]
            topic.times.append(seconds * 1_000_000_000 + rest)
            topic.messages.append(data)
            self.kept += 1
        elif kind == _CHUNK:
            (size,) = struct.unpack("<I", head["size"])
            inner = _unpacked(data, head["compression"].decode(), size)
            self.walk(memoryview(inner), 0, f" (chunk at byte {at})")


def _record(view: memoryview, at: int) -> tuple[dict[str, bytes], memoryview, int]:
    head, at = _block(view, at)
    data, at = _block(view, at)
    return _header(head), data, at


def _block(view: memoryview, at: int) -> tuple[memoryview, int]:
    (length,) = struct.unpack_from("<I", view, at)
    if at + 4 + length > len(view):
        raise ValueError("it reaches past the end")
    return view[at + 4 : at + 4 + length], at + 4 + length


def _header(view: memoryview) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    at = 0
    while at < len(view):
        part, at = _block(view, at)
        name, _, value = bytes(part).partition(b"=")
        found[name.decode("ascii", "replace")] = value
    return found


def _unpacked(data: memoryview, compression: str, size: int) -> bytes | memoryview:
    if size > _LARGEST:
        raise ValueError(f"a chunk claims {size} bytes")
    if compression == "none":
        return data
    if compression == "bz2":
        unpacker = bz2.BZ2Decompressor()
        try:
            found = unpacker.decompress(bytes(data), size)
        except OSError as error:
            raise ValueError(f"a chunk cannot be unpacked: {error}") from error
    elif compression == "lz4":
        found = unpack_lz4(data, size)
    else:
        raise ValueError(f"compression {compression!r} is not known")
    if len(found) != size:
        raise ValueError(f"a chunk unpacks to {len(found)} bytes instead of {size}")
    return found
