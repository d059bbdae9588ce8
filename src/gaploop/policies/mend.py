"""Mends beside a policy: reading them, applying them to a batch, telling a log in other numbers.

`mends.json` lies in a policy's folder beside the same `policy.onnx`. The folder's digest
changes with it, so an exam and a release speak of the mended policy; the graph, its
normalisation and its golden pairs do not. A mend of the feature `action` says what the
policy's command is to the robot, and is undone on the way out.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from gaploop.core import ContractError, Episode, InputError, KnobSpace, PolicyContract, TaskSpec
from gaploop.core.mend import Mend

FORMAT: Final = "gaploop.mends/1"
MENDS: Final = "mends.json"


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    mends: tuple[Mend, ...]


def read_mends(folder: Path) -> tuple[Mend, ...]:
    """The mends of a policy folder, none where it holds no `mends.json`.

    Raises InputError for a file that is no such.
    """
    path = folder / MENDS if folder.is_dir() else folder.parent / MENDS
    if not path.is_file():
        return ()
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File)
    except (msgspec.MsgspecError, ContractError) as error:
        raise InputError(f"{path} holds no mends: {error}.") from error
    if found.format != FORMAT:
        raise InputError(f"{path} has format {found.format!r}; this version reads {FORMAT!r}.")
    return found.mends


def write_mends(folder: Path, mends: Sequence[Mend]) -> None:
    """Puts mends into a policy folder, in place of those it had; none at all removes the file."""
    path = folder / MENDS
    if not mends:
        path.unlink(missing_ok=True)
        return
    data = msgspec.json.encode(_File(FORMAT, tuple(mends)))
    path.write_bytes(msgspec.json.format(data, indent=1) + b"\n")


def mended(folder: Path, mends: Sequence[Mend], out: Path) -> Path:
    """A copy of a policy folder with these mends instead of its own."""
    shutil.copytree(folder, out)
    write_mends(out, mends)
    return out


def compose(first: Sequence[Mend], then: Sequence[Mend]) -> tuple[Mend, ...]:
    """What `first` does and then `then`: one mend a unit and feature.

    A mend for every unit comes before one for a single unit, as a unit of measure comes
    before an encoder's zero.
    """
    found = {(m.unit, m.feature): m for m in first}
    for mend in then:
        key = (mend.unit, mend.feature)
        if not mend.unit:
            # what single units mend is now told in the new numbers
            for (unit, feature), old in list(found.items()):
                if unit and feature == mend.feature:
                    found[unit, feature] = replace(
                        mend.inverse().then(old).then(mend), unit=unit, cause=old.cause,
                        knobs=old.knobs, sentence=old.sentence,
                    )  # fmt: skip
        found[key] = found[key].then(mend) if key in found else mend
    return tuple(found[key] for key in sorted(found))


def zero_mends(
    space: KnobSpace, values: np.ndarray, spec: TaskSpec, unit: str, sentence: str = ""
) -> tuple[Mend, ...]:
    """Mends that take mechanical knobs at `values` (P,) out of the readings and the commands.

    Only knobs that shift readings and commands and nothing else can be mended by
    numbers; the others need a person.
    """
    offsets: dict[str, np.ndarray] = {}
    taken: dict[str, float] = {}
    keys = {c.name: (c.key, len(c.columns)) for c in spec.observed}
    for knob, value in zip(space.knobs, values, strict=True):
        if not mendable(space, knob.name) or value == 0.0:
            continue
        taken[knob.name] = float(value)
        for target in knob.targets:
            kind, name, _, column = target.parts()
            key, width = keys[name] if kind == "sensor" else ("action", len(spec.command))
            shift = offsets.setdefault(key, np.zeros(width))
            where = slice(None) if column is None else column
            # a reading shows too much, so it is taken off; the servo adds `scale * value` to
            # what is sent, so the policy's command is that much more than the robot's
            shift[where] += (-1.0 if kind == "sensor" else 1.0) * target.scale * value
    return tuple(
        Mend(
            unit=unit, feature=key, cause="mechanical", order=tuple(range(len(shift))),
            scale=(1.0,) * len(shift), offset=tuple(float(x) for x in shift),
            knobs=taken, sentence=sentence,
        )
        for key, shift in sorted(offsets.items())
    )  # fmt: skip


def mendable(space: KnobSpace, name: str) -> bool:
    """Whether a knob is mechanical, nominally zero, and shifts readings and commands alone."""
    knob = space.knobs[space.index(name)]
    paths = [t.path.split("[")[0] for t in knob.targets]
    shifts = all(p == "action:offset" or (p[:7] == "sensor:" and p[-5:] == ".bias") for p in paths)
    return knob.gap == "mechanical" and knob.nominal == 0.0 and bool(paths) and shifts


def taken_out(mends: Iterable[Mend], unit: str) -> dict[str, float]:
    """Knob to what the mends take out of it for one unit."""
    found: dict[str, float] = {}
    for mend in mends:
        if mend.unit in ("", unit):
            found |= mend.knobs
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Episode):
    """An episode in other numbers. It is the same attempt, so it keeps its id."""

    original: str
    """Id of the episode as it was logged."""

    @property
    def id(self) -> str:
        return self.original


def told(episode: Episode, mends: Sequence[Mend]) -> Episode:
    """The log as a policy behind these mends met it."""
    mine = [m for m in mends if m.unit in ("", episode.unit) and m.feature in episode.signals]
    if not mine:
        return episode
    signals = dict(episode.signals)
    for mend in sorted(mine, key=lambda m: m.unit):
        signal = signals[mend.feature]
        values = mend.read(np.asarray(signal.values, dtype=float))
        signals[mend.feature] = replace(signal, values=values.astype(np.float32))
    given = _fields(episode)
    given["signals"] = signals
    return Told(**given, original=episode.id)


def as_new(episode: Episode) -> Episode:
    """A told episode as one of its own, to be kept: its id is that of its numbers."""
    if not isinstance(episode, Told):
        return episode
    given = _fields(episode)
    given |= {"parents": (episode.original,), "source": ""}
    return Episode(**given)


def _fields(episode: Episode) -> dict[str, Any]:
    return {f.name: getattr(episode, f.name) for f in fields(Episode)}


class Between:
    """Stands between a batch of robots and a policy, each robot with its unit's mends."""

    def __init__(
        self, contract: PolicyContract, mends: Sequence[Mend], units: str | Sequence[str]
    ) -> None:
        """units: of every attempt, or one for all."""
        self._contract, self._mends, self._units = contract, tuple(mends), units
        self._columns: dict[str, slice] = {}
        at = 0
        for key in contract.inputs:
            feature = contract.contract.feature(key)
            width = len(feature.columns) if feature else 0
            self._columns[key] = slice(at, at + width)
            at += width
        if at != len(contract.columns):
            raise ContractError(
                "The policy's contract does not say how wide its features are, so it cannot be "
                "mended.",
                hint="Declare every input's columns.",
            )

    def read(self, step: int, observation: np.ndarray) -> np.ndarray:
        """(n, history * frame) of the robots to the policy's numbers."""
        history, width = self._contract.history, len(self._contract.columns)
        out = np.array(observation, dtype=np.float32).reshape(len(observation), history, width)
        for rows, mend in self._rows(len(observation)):
            columns = self._columns.get(mend.feature)
            if columns is not None:
                part = mend.read(out[rows, :, columns].astype(float))
                if mend.feature == "action":
                    # before the first command there was none, on either side
                    part[:, : max(0, history - step)] = 0.0
                out[rows, :, columns] = part
        return out.reshape(len(observation), -1)

    def send(self, chunk: np.ndarray) -> np.ndarray:
        """(n, H, a) of the policy to the robots' commands."""
        out = np.array(chunk, dtype=np.float32)
        for rows, mend in reversed(list(self._rows(len(chunk)))):
            if mend.feature == "action":
                out[rows] = mend.send(out[rows].astype(float))
        return out

    def _rows(self, n: int) -> Iterable[tuple[np.ndarray, Mend]]:
        units = np.array([self._units] * n if isinstance(self._units, str) else self._units)
        if len(units) != n:
            raise ContractError(f"{len(units)} units were named for {n} attempts.")
        for mend in sorted(self._mends, key=lambda m: m.unit):
            rows = np.arange(n) if not mend.unit else np.flatnonzero(units == mend.unit)
            if len(rows):
                yield rows, mend
