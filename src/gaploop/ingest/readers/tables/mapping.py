"""What the columns of a table mean: a TOML file beside it, or one of the well-known ones.

A file `log.csv` is described by `log.csv.map.toml`, a folder by `gaploop.map.toml` in it.
"""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from gaploop.core import InputError
from gaploop.core.units import FACTORS

FOLDER = "gaploop.map.toml"
SUFFIX = ".map.toml"
_LARGEST = 1 << 20
_Rate = Annotated[float, msgspec.Meta(gt=0, le=1e6)]


class SignalMap(msgspec.Struct, forbid_unknown_fields=True):
    """One signal of the episodes."""

    columns: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Columns or arrays of the table, side by side."""
    names: list[str] = []
    """What they are to be called; the table's own names by default."""
    unit: str = "raw"
    role: str = ""
    """joint_position, joint_command, object_pose, torque, ..."""
    frame: str = ""
    rotation: str = ""
    """wxyz, xyzw, rpy, axis_angle, rot6d."""
    slice: list[int] = []
    """[first, one after the last] of an array's columns; all by default."""


class Outcome(msgspec.Struct, forbid_unknown_fields=True):
    """Which column says whether an attempt succeeded."""

    column: str
    """Read in the last row of an episode: nonzero is success."""


class Mapping(msgspec.Struct, forbid_unknown_fields=True):
    """What the numbers of one table mean."""

    signals: dict[str, SignalMap]
    """By feature key: `action`, `observation.state`, ..."""
    match: list[str] = []
    """Columns by which a well-known table is recognised."""
    robot: str = ""
    task: str = ""
    time: str = ""
    """Column of stamps; without one, rows stand 1 / `rate` apart."""
    time_unit: Literal["s", "ms", "us", "ns"] = "s"
    rate: _Rate | None = None
    """Rows a second."""
    episode: str = ""
    """Column that changes from one episode to the next."""
    lengths: str = ""
    """Array of the rows of each episode, in order."""
    outcome: Outcome | None = None
    contract: dict[str, Any] = {}
    """Fields of a contract as the source declares them: action_mode = "torque", ..."""
    facts: dict[str, Any] = {}
    """What else is known of the rig, kept as the fact `rig`."""

    @property
    def wanted(self) -> list[str]:
        """Every column or array that is read."""
        outcome = [self.outcome.column] if self.outcome else []
        named = [c for s in self.signals.values() for c in s.columns]
        rest = [n for n in (self.time, self.episode, self.lengths) if n]
        return list(dict.fromkeys([*named, *rest, *outcome]))


def beside(path: Path) -> Path | None:
    """The mapping file of a table or of its folder, if there is one."""
    for file in (path.with_name(path.name + SUFFIX), path.parent / FOLDER):
        if file.is_file():
            return file
    return None


def load(file: Path) -> Mapping:
    """A mapping file.

    Raises:
      InputError: saying what is wrong in it.
    """
    try:
        if file.stat().st_size > _LARGEST:
            raise InputError(f"{file} is larger than {_LARGEST >> 20} MiB.")
        return _checked(file, tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{file} is no mapping: {str(error).rstrip('.')}.",
            hint="See docs/reference/log-formats.md for a whole one.",
        ) from None


def known(columns: list[str]) -> Mapping | None:
    """The well-known mapping whose columns are all there."""
    for file in sorted(
        resources.files("gaploop.ingest.readers.tables").joinpath("known").iterdir(), key=str
    ):
        found = _checked(Path(file.name), tomllib.loads(file.read_text(encoding="utf-8")))
        if set(found.match) <= set(columns):
            return found
    return None


# -- inside -------------------------------------------------------------------


def _checked(file: Path, raw: dict[str, Any]) -> Mapping:
    found = msgspec.convert(raw, Mapping)
    if not found.time and found.rate is None:
        raise ValueError("it states neither `time` nor `rate`")
    for key, signal in found.signals.items():
        if signal.unit not in FACTORS:
            raise ValueError(f"signal {key!r}: unit {signal.unit!r} is not known")
        if signal.slice and not (len(signal.slice) == 2 and 0 <= signal.slice[0] < signal.slice[1]):
            raise ValueError(f"signal {key!r}: slice is {signal.slice}, expected [first, end]")
    return found
