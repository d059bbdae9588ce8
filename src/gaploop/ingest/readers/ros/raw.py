"""Messages as they lie in a file, topic by topic, before anything is decoded."""

from dataclasses import dataclass, field

from gaploop.core import Loss


@dataclass(slots=True, kw_only=True)
class Topic:
    """One topic of one file."""

    name: str
    type: str
    """`sensor_msgs/msg/JointState`, as the file names it."""
    encoding: str
    """Of the messages: cdr, ros1, json, protobuf, ..."""
    definition: bytes = b""
    """Text (or descriptor) of the type, where the file has it."""
    definition_encoding: str = ""
    """ros2msg, ros1msg, protobuf, jsonschema, ..."""
    times: list[int] = field(default_factory=list[int])
    """Nanoseconds at which the recorder received each message."""
    messages: list[bytes | memoryview] = field(default_factory=list[bytes | memoryview])


@dataclass(slots=True, kw_only=True)
class Raw:
    """What one file holds."""

    topics: list[Topic]
    losses: list[Loss]
