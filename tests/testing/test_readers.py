"""The conformance check finds the faults it is for."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import Contract, Episode, Feature, InputError, Label, Signal
from gaploop.testing.readers import check_reader


class Good:
    """Reads {"values": [...]}; the others each do one thing wrong."""

    name = "good"

    def sniff(self, path: Path) -> bool:
        return path.suffix == ".json" and path.is_file()

    def read(self, path: Path) -> Iterator[Episode]:
        try:
            values = np.array(json.loads(path.read_text())["values"], dtype=float)
            times = np.arange(len(values)) / 10
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path} cannot be read: {error}.") from error
        signal = Signal(name="action", unit="rad", times=times, values=values)
        yield Episode(signals={"action": signal}, source=str(path))


class Sloppy(Good):
    def read(self, path: Path) -> Iterator[Episode]:
        values = np.array(json.loads(path.read_text())["values"], dtype=float)
        signal = Signal(name="a", unit="rad", times=np.arange(len(values)) / 10, values=values)
        yield Episode(signals={"action": signal}, source=str(path))


class Greedy(Good):
    def sniff(self, path: Path) -> bool:
        return True


class Nameless(Good):
    name = ""


class Sourceless(Good):
    def read(self, path: Path) -> Iterator[Episode]:
        yield from (replace(e, source="") for e in super().read(path))


class Moody(Good):
    calls = 0

    def read(self, path: Path) -> Iterator[Episode]:
        self.calls += 1
        for e in super().read(path):
            signal = replace(e.signals["action"], values=e.signals["action"].values + self.calls)
            yield replace(e, signals={"action": signal})


class Twice(Good):
    def read(self, path: Path) -> Iterator[Episode]:
        yield from super().read(path)
        yield from super().read(path)


class Backwards(Good):
    def read(self, path: Path) -> Iterator[Episode]:
        for e in super().read(path):
            signal = replace(e.signals["action"], times=e.signals["action"].times[::-1].copy())
            yield replace(e, signals={"action": signal})


class Furlongs(Good):
    def read(self, path: Path) -> Iterator[Episode]:
        for e in super().read(path):
            yield replace(e, signals={"action": replace(e.signals["action"], unit="furlong")})


class Boastful(Good):
    def read(self, path: Path) -> Iterator[Episode]:
        contract = Contract(features=(Feature(key="force", columns=()),))
        yield from (replace(e, contract=contract) for e in super().read(path))


class Gossip(Good):
    def read(self, path: Path) -> Iterator[Episode]:
        fact = Label(subject="someone else", key="outcome", value=1, author="x")
        yield from (replace(e, facts=(fact,)) for e in super().read(path))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"values": [0.0, 1.0, 2.0]}))
    return path


def test_a_good_reader_passes(log: Path) -> None:
    assert len(check_reader(Good(), log)) == 1


@pytest.mark.parametrize(
    ("reader", "match"),
    [
        (Sloppy(), "no InputError"),
        (Greedy(), "takes missing for a log"),
        (Nameless(), "name is empty"),
        (Sourceless(), "does not say where"),
        (Moody(), "second reading"),
        (Twice(), "share an id"),
        (Backwards(), "run backwards"),
        (Furlongs(), "'furlong' is not known"),
        (Boastful(), "speaks of 'force'"),
        (Gossip(), "about something else"),
        (object(), "lacks name"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_each_fault_is_found(log: Path, reader: Good, match: str) -> None:
    with pytest.raises(AssertionError, match=match):
        check_reader(reader, log)
