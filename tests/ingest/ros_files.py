"""ROS logs made by hand for tests: MCAP, rosbag2 in SQLite and ROS 1 bags."""

import bz2
import sqlite3
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

JOINTS = (
    "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
    "float64[] effort\n====\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\n"
    "string frame_id\n====\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
)
JOINT_TYPE = "sensor_msgs/msg/JointState"
NAMES = ("shoulder", "elbow", "wrist")
START = 1_700_000_000_000_000_000


class Cdr:
    """Writes little-endian CDR; `plain` leaves header and alignment out, as ROS 1 does."""

    def __init__(self, plain: bool = False) -> None:
        self.out = bytearray() if plain else bytearray(b"\0\1\0\0")
        self.plain = plain

    def pad(self, size: int) -> None:
        if not self.plain:
            self.out += bytes(-(len(self.out) - 4) % size)

    def number(self, form: str, value: float) -> None:
        self.pad(struct.calcsize(form))
        self.out += struct.pack("<" + form, value)

    def text(self, value: str) -> None:
        raw = value.encode() + (b"" if self.plain else b"\0")
        self.number("I", len(raw))
        self.out += raw

    def doubles(self, values: Sequence[float]) -> None:
        self.number("I", len(values))
        for v in values:
            self.number("d", v)


def joint_state(
    ticks: int, position: Sequence[float], *, plain: bool = False, names: Sequence[str] = NAMES
) -> bytes:
    """A sensor_msgs/JointState stamped at `ticks` ns."""
    w = Cdr(plain)
    if plain:
        w.number("I", 7)  # sequence number, which ROS 2 dropped
    w.number("I" if plain else "i", ticks // 10**9)
    w.number("I", ticks % 10**9)
    w.text("base")
    w.number("I", len(names))
    for name in names:
        w.text(name)
    w.doubles(position)
    w.doubles([2 * p for p in position])
    w.doubles([])
    return bytes(w.out)


def motion(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 3))


# -- MCAP ---------------------------------------------------------------------


def _text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(raw)) + raw


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("<BQ", kind, len(content)) + content


Topics = Sequence[tuple[str, str, str, str, str, Sequence[tuple[int, bytes]]]]
"""(topic, type, definition, its language, encoding of messages, (ns, content) each)"""


def mcap_bytes(topics: Topics, *, compression: str = "", a_chunk: int = 20) -> bytes:
    """A file with chunks of `a_chunk` messages; 0 for none."""
    head, messages = b"", []
    for number, (topic, kind, text, language, encoding, content) in enumerate(topics, start=1):
        head += _record(3, struct.pack("<H", number) + _text(kind) + _text(language) + _text(text))
        head += _record(
            4,
            struct.pack("<HH", number, number) + _text(topic) + _text(encoding) + _text(b""),
        )
        for i, (stamp, data) in enumerate(content):
            body = struct.pack("<HIQQ", number, i, stamp, stamp) + data
            messages.append((stamp, _record(5, body)))
    messages.sort(key=lambda m: m[0])
    out = b"\x89MCAP0\r\n" + _record(1, _text("ros2") + _text("test"))
    if not a_chunk:
        out += head + b"".join(m for _, m in messages)
    for at in range(0, len(messages) if a_chunk else 0, a_chunk or 1):
        inner = (head if at == 0 else b"") + b"".join(m for _, m in messages[at : at + a_chunk])
        packed = inner
        if compression == "zstd":
            import zstandard

            packed = zstandard.compress(inner)
        elif compression == "lz4":
            import lz4.frame

            packed = lz4.frame.compress(inner)
        chunk = struct.pack("<QQQI", 0, 0, len(inner), zlib.crc32(inner)) + _text(compression)
        out += _record(6, chunk + struct.pack("<Q", len(packed)) + packed)
    return out + _record(15, bytes(4)) + _record(2, bytes(20)) + b"\x89MCAP0\r\n"


def joint_topics(count: int = 50, late: int = 2_000_000) -> Topics:
    """Joint states and commands at 100 Hz; the recorder receives them `late` ns later."""
    states, commands = motion(count, 0), motion(count, 1)
    return [
        (name, JOINT_TYPE, JOINTS, "ros2msg", "cdr", [
            (START + i * 10**7 + late, joint_state(START + i * 10**7, p))
            for i, p in enumerate(table)
        ])
        for name, table in (("/joint_states", states), ("/arm/joint_command", commands))
    ]  # fmt: skip


# -- the others ---------------------------------------------------------------


def write_db3(path: Path, topics: Topics, *, definitions: bool = True) -> Path:
    """rosbag2's SQLite storage."""
    with sqlite3.connect(path) as bag:
        bag.execute(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT,"
            " serialization_format TEXT, offered_qos_profiles TEXT)"
        )
        bag.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER,"
            " data BLOB)"
        )
        if definitions:
            bag.execute(
                "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT,"
                " encoding TEXT, encoded_message_definition TEXT, type_description_hash TEXT)"
            )
        for number, (topic, kind, text, language, encoding, content) in enumerate(topics, start=1):
            bag.execute("INSERT INTO topics VALUES(?,?,?,?,'')", (number, topic, kind, encoding))
            if definitions:
                bag.execute(
                    "INSERT INTO message_definitions VALUES(?,?,?,?,'')",
                    (number, kind, language, text),
                )
            bag.executemany(
                "INSERT INTO messages(topic_id, timestamp, data) VALUES(?,?,?)",
                [(number, stamp, data) for stamp, data in content],
            )
    bag.close()
    return path


def bag_bytes(count: int = 50, *, compression: str = "none") -> bytes:
    """A ROS 1 bag of joint states in chunks of twenty."""

    def fields(**values: bytes) -> bytes:
        parts = (k.encode() + b"=" + v for k, v in values.items())
        return b"".join(struct.pack("<I", len(p)) + p for p in parts)

    def entry(head: bytes, data: bytes) -> bytes:
        return struct.pack("<I", len(head)) + head + struct.pack("<I", len(data)) + data

    text = JOINTS.replace("builtin_interfaces/Time stamp", "uint32 seq\ntime stamp").encode()
    number = struct.pack("<I", 0)
    connection = entry(
        fields(op=b"\x07", conn=number, topic=b"/joint_states"),
        fields(
            topic=b"/joint_states", type=b"sensor_msgs/JointState", md5sum=b"0",
            message_definition=text,
        ),
    )  # fmt: skip
    out = b"#ROSBAG V2.0\n" + entry(fields(op=b"\x03", index_pos=bytes(8)), bytes(32))
    for at in range(0, count, 20):
        inner = connection
        for i, p in list(enumerate(motion(count)))[at : at + 20]:
            ticks = START + i * 10**7
            stamp = struct.pack("<II", ticks // 10**9, ticks % 10**9)
            head = fields(op=b"\x02", conn=number, time=stamp)
            inner += entry(head, joint_state(ticks, p, plain=True))
        packed = bz2.compress(inner) if compression == "bz2" else inner
        size = struct.pack("<I", len(inner))
        out += entry(fields(op=b"\x05", compression=compression.encode(), size=size), packed)
    return out
