"""ROS logs to episodes: a bag is an episode, a topic a signal or several."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gaploop.core import Contract, Episode, InputError, Label, Loss, declared
from gaploop.ingest.readers.ros import bag, mcap, sqlite
from gaploop.ingest.readers.ros.raw import Raw, Topic
from gaploop.ingest.readers.ros.topics import make
from gaploop.ingest.readers.whole import whole

_SUFFIXES = (".mcap", ".db3", ".bag", ".active")
_MAGIC = {mcap.MAGIC: mcap.read, sqlite.MAGIC: sqlite.read, bag.MAGIC: bag.read}


class RosReader:
    """Reads a bag's file; the folder of a rosbag2, split or not; or a folder of bags."""

    name = "ros"

    def sniff(self, path: Path) -> bool:
        """Whether `path` is a bag, or a folder that holds one."""
        try:
            return any(_kind(f) for files in _bags(Path(path)) for f in files)
        except OSError:
            return False

    def read(self, path: Path) -> Iterator[Episode]:
        """One episode a bag, in order of name. Stamps are the recorder's.

        Raises:
          InputError: naming the file and the byte or topic.
        """
        return whole(self.salvage(path))

    def salvage(self, path: Path) -> Iterator[Episode | Loss]:
        """What is whole of each bag, and a Loss for each damaged place or unread topic.

        Raises:
          InputError: when nothing there is a bag.
        """
        found = [files for files in _bags(Path(path)) if any(map(_kind, files))]
        if not found:
            raise InputError(
                f"{path} holds no ROS log.", hint="Expected .mcap, .db3 or .bag files."
            )
        for files in found:
            yield from _episode(files)


# -- inside -------------------------------------------------------------------


def _bags(path: Path) -> list[list[Path]]:
    """The files of each bag. A rosbag2 folder is one bag, whatever it is split into."""
    if path.is_file():
        return [[path]] if path.suffix in _SUFFIXES else []
    files = sorted(f for f in path.glob("*") if f.suffix in _SUFFIXES and f.is_file())
    if (path / "metadata.yaml").is_file():
        return [files] if files else []
    inner = [b for f in sorted(path.glob("*/metadata.yaml")) for b in _bags(f.parent)]
    return [[f] for f in files] + inner


def _kind(file: Path):
    with file.open("rb") as stream:
        head = stream.read(16)
    return next((read for magic, read in _MAGIC.items() if head.startswith(magic)), None)


def _episode(files: Sequence[Path]) -> Iterator[Episode | Loss]:
    topics: list[Topic] = []
    for file in files:
        try:
            read = _kind(file)
            if read is None:
                raise InputError(f"{file} does not begin like a bag.")
            raw: Raw = read(file)
        except (OSError, InputError) as error:
            yield Loss(
                source=str(file), kept=0, lost=None, unit="messages",
                reason=str(error).split("\n")[0].removeprefix(f"{file} ").rstrip("."),
            )  # fmt: skip
            continue
        yield from raw.losses
        topics = _joined(topics, raw.topics)
    topics = [t for t in topics if t.messages]
    if topics:
        yield from _made(topics, " + ".join(str(f) for f in files))


def _joined(topics: list[Topic], more: list[Topic]) -> list[Topic]:
    """Topics of a split bag go on in the next file."""
    known = {(t.name, t.type): t for t in topics}
    for topic in more:
        before = known.get((topic.name, topic.type))
        if before is None:
            topics.append(topic)
        else:
            before.times += topic.times
            before.messages += topic.messages
    return topics


def _made(topics: Sequence[Topic], source: str) -> Iterator[Episode | Loss]:
    start = min(min(t.times) for t in topics)
    taken: set[str] = set()
    # joint states first: the first of each side get the usual keys
    ordered = sorted(topics, key=lambda t: (not t.type.endswith("JointState"), t.name))
    made = [make(topic, start, source, taken) for topic in ordered]
    contract = Contract(
        features=tuple(f for m in made for f in m.features),
        clock=declared("the recorder's, at reception"),
    )
    episode = Episode(
        signals={s.name: s for m in made for s in m.signals}, contract=contract, source=source
    )
    facts = tuple(
        Label(subject=episode.id, key=key, value=value, author="gaploop ros reader", span=span)
        for m in made
        for key, value, span in m.facts
    )
    for one in made:
        yield from one.losses
    yield replace(episode, facts=facts)
