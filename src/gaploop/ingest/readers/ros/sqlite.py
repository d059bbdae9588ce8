"""rosbag2's SQLite storage, opened read-only; nothing beside the file is made or touched."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from gaploop.core import InputError, Loss
from gaploop.ingest.readers.ros.raw import Raw, Topic

MAGIC = b"SQLite format 3\0"


def read(path: Path) -> Raw:
    """Every whole message of the file.

    Raises:
      InputError: when it cannot be opened, or is no bag.
    """
    uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    topics: dict[int, Topic] = {}
    losses: list[Loss] = []
    kept = 0
    try:
        with closing(sqlite3.connect(uri, uri=True)) as bag:
            known = _definitions(bag)
            for number, name, kind, encoding in bag.execute(
                "SELECT id, name, type, serialization_format FROM topics ORDER BY id"
            ):
                text, language = known.get(kind, ("", ""))
                topics[number] = Topic(
                    name=str(name), type=str(kind), encoding=str(encoding),
                    definition=text.encode(), definition_encoding=language,
                )  # fmt: skip
            try:
                for number, stamp, data in bag.execute(
                    "SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id"
                ):
                    topic = topics.get(number)
                    if topic is None or not isinstance(stamp, int) or not isinstance(data, bytes):
                        continue
                    topic.times.append(stamp)
                    topic.messages.append(data)
                    kept += 1
            except sqlite3.DatabaseError as error:
                losses.append(_loss(path, kept, error))
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise InputError(f"{path} is no rosbag2 that can be read: {error}.") from None
    return Raw(topics=[t for t in topics.values() if t.messages], losses=losses)


def _definitions(bag: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Type to (text, language); bags before 2023 hold none."""
    try:
        rows = bag.execute(
            "SELECT topic_type, encoded_message_definition, encoding FROM message_definitions"
        )
        return {str(kind): (str(text), str(language)) for kind, text, language in rows}
    except sqlite3.OperationalError:
        return {}


def _loss(path: Path, kept: int, error: sqlite3.Error) -> Loss:
    return Loss(
        source=str(path), kept=kept, lost=None, unit="messages",
        reason=f"the table of messages is damaged ({error})",
    )  # fmt: skip
