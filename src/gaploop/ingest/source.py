"""A path read once, for whoever checks it: episodes or batches, and what was lost on the way."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from gaploop.core import Contract, Episode, InputError, Loss, Stated
from gaploop.core.protocols import Reader, Salvager
from gaploop.ingest.checks.batch import Batch, batches
from gaploop.ingest.findings import Finding, Seen
from gaploop.ingest.formats import find_reader


@runtime_checkable
class Columnar(Protocol):
    """A reader that gives columns of many episodes at once, with no episode made of them."""

    def batches(self, path: Path) -> Iterator[Batch | Loss]:
        """Whole episodes in order, and one Loss for each damaged place.

        Raises InputError only for a path that is not this format at all.
        """
        ...


@runtime_checkable
class Auditor(Protocol):
    """A reader that also knows what its files should look like."""

    def audit(self, path: Path) -> list[Finding]:
        """What is wrong with the files themselves; episodes by index. Never raises for it."""
        ...


@dataclass(slots=True)
class Source:
    """One path and its reader. Read it once; the lists fill as it is read."""

    path: Path
    reader: Reader
    losses: list[Loss] = field(default_factory=list[Loss])
    contract: Contract | None = None
    """Of the first episode."""
    states: list[int] = field(default_factory=list[int])
    """By episode: which of the contracts that differ, in order of appearance."""
    _known: list[Contract] = field(default_factory=list[Contract])

    def episodes(self) -> Iterator[Episode]:
        """Every whole episode.

        Raises:
          InputError: when the path is not the format, or holds no whole episode.
        """
        reader = self.reader
        found = (
            reader.salvage(self.path) if isinstance(reader, Salvager) else reader.read(self.path)
        )
        for item in found:
            if isinstance(item, Loss):
                self.losses.append(item)
                continue
            self._state(item.contract)
            yield item
        self._need()

    def batches(self) -> Iterator[Batch]:
        """The same as columns, the fastest way the reader has."""
        if not isinstance(self.reader, Columnar):
            yield from batches(self.episodes())
            return
        for item in self.reader.batches(self.path):
            if isinstance(item, Loss):
                self.losses.append(item)
                continue
            for contract in item.contracts:
                self._state(contract)
            yield item
        self._need()

    def seen(self) -> list[tuple[int, Seen]]:
        """What reading it showed, after it was read: damage, and contracts that differ."""
        found = [(-1, _damage(loss)) for loss in self.losses]
        odd = [(i, _differs(self.states)) for i, s in enumerate(self.states) if s]
        return found + odd

    def _state(self, contract: Contract) -> None:
        self.contract = self.contract or contract
        if contract.log_rate.source != "declared":
            # measured an episode at a time, it differs in the last digit
            contract = replace(contract, log_rate=Stated())
        # most sets state one contract, and the last ones are the likeliest to come again
        for i in range(len(self._known) - 1, -1, -1):
            if self._known[i] == contract:
                self.states.append(i)
                return
        self._known.append(contract)
        self.states.append(len(self._known) - 1)

    def _need(self) -> None:
        if self.states:
            return
        if self.losses:
            raise InputError(
                f"{self.path} holds no whole episode: {self.losses[0]}.",
                hint="Copy it again from the recorder.",
            )
        raise InputError(
            f"{self.path} holds no episode.", hint="Was the recorder stopped too early?"
        )


def open_source(path: Path) -> Source:
    """The path with the reader that knows it.

    Raises:
      InputError: for a path that is missing or that nobody reads.
    """
    path = Path(path)
    return Source(path, find_reader(path))


# -- inside -------------------------------------------------------------------


def _damage(loss: Loss) -> Seen:
    if not loss.damaged:
        return Seen(
            code="not_read",
            severity="warning",
            feature="",
            message=str(loss),
            fix="The file is whole, this part of it is not understood; all else was read.",
        )
    return Seen(
        code="truncated_file",
        severity="error",
        feature="",
        message=str(loss),
        fix="Copy the file again from the recorder; what is whole was read and checked.",
    )


def _differs(states: list[int]) -> Seen:
    odd = sum(s != 0 for s in states)
    return Seen(
        code="contract_differs",
        severity="warning",
        feature="",
        message=f"{odd} of {len(states)} episodes state another contract than the first",
        fix="Check them apart; do not merge them before units and columns agree.",
    )
