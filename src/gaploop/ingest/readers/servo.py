"""Servo test-bench logs: one JSON file an attempt, as the BAM rig writes them.

A file is an object with the rig (`mass` kg, `length` m, `kp`, `vin` V, `motor`,
`trajectory`) and `entries`, one object a sample. Angle 0 is the arm hanging down.
Format: github.com/Rhoban/bam (Apache-2.0), logs of its pendulum bench.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core import Contract, Episode, Feature, InputError, Label, Signal, Stated, declared

RIG = ("mass", "length", "kp", "vin", "motor", "trajectory")
"""What a file states about the rig; kept as the episode's `rig` fact."""

# entry key: (feature key, column, unit, role, required)
_ENTRIES = {
    "goal_position": ("action", "joint", "rad", "joint_command", True),
    "position": ("observation.state", "joint", "rad", "joint_position", True),
    "speed": ("observation.velocity", "joint", "rad/s", "joint_velocity", False),
    "load": ("observation.load", "joint", "raw", "load", False),
    "input_volts": ("observation.voltage", "supply", "V", "supply_voltage", False),
    "temp": ("observation.temperature", "motor", "C", "temperature", False),
    "torque_enable": ("observation.torque_enable", "joint", "1", "torque_enable", False),
}
_HEAD = 65536
_LARGEST = 1e300  # an integer beyond float range would raise further down
_LONGEST = 3600.0  # s between two samples; more is another unit or no period


class ServoReader:
    """Reads one JSON log, or every JSON log of a folder in order of name."""

    name = "servo"

    def sniff(self, path: Path) -> bool:
        """Whether `path` is such a log, whole or cut, or a folder that holds one."""
        try:
            files = sorted(path.glob("*.json")) if path.is_dir() else [path]
            return any(_looks(file) for file in files)
        except OSError:
            return False

    def read(self, path: Path) -> Iterator[Episode]:
        """One episode a file.

        Raises:
          InputError: naming the file and, inside it, the entry (counted from 0).
        """
        files = [f for f in sorted(path.glob("*.json")) if _looks(f)] if path.is_dir() else [path]
        if not files:
            raise InputError(
                f"{path} holds no servo log.",
                hint="Expected *.json files with `entries`, each sample with goal_position and "
                "position in rad.",
            )
        for file in files:
            yield read_servo_log(file)


def read_servo_log(file: Path) -> Episode:
    """One JSON log as an episode; NaN and infinite readings stay, for the screen to judge.

    Raises:
      InputError: a file that is missing, cut, no such log, or has a cell that is no number.
    """
    data = _load(file)
    entries = data.get("entries") if isinstance(data, Mapping) else None
    if not isinstance(entries, list) or not entries:
        raise InputError(
            f"{file} is no servo log: it has no list `entries` with samples.",
            hint='Expected {"kp": ..., "entries": [{"timestamp": ..., "position": ...}, ...]}.',
        )
    times = _times(file, data, entries)
    present = {k for k in _ENTRIES if k in _object(file, entries[0], 0)}
    signals = {}
    for key, (feature, column, unit, _, required) in _ENTRIES.items():
        if key in present or required:
            values = _column(file, entries, key)
            signals[feature] = Signal(
                name=feature, unit=unit, columns=(column,), times=times, values=values[:, None]
            )
    rig = _rig(file, data)
    episode = Episode(
        signals=signals,
        contract=_contract(tuple(k for k in _ENTRIES if k in present), times),
        robot=str(rig.get("motor", "servo")),
        task=str(rig.get("trajectory", "")),
        source=str(file),
    )
    return _with_rig(episode, rig, file)


def _looks(file: Path) -> bool:
    if file.suffix.lower() != ".json" or not file.is_file():
        return False
    with file.open("rb") as stream:
        head = stream.read(_HEAD)
    return b'"entries"' in head and b'"goal_position"' in head


def _load(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"There is no file {file}.", hint="Give a servo log in JSON.") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{file} is cut or damaged: its JSON breaks off at line {error.lineno}, column "
            f"{error.colno} ({error.msg}).",
            hint="Copy the file again from the recorder; a cut JSON log cannot be used in part.",
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read as text: {error}.") from None
    except RecursionError:
        raise InputError(f"{file} is nested too deeply for a log.") from None


def _object(file: Path, entry: Any, row: int) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise InputError(
            f"{file}, entry {row}: expected an object with readings, found {entry!r}."[:300]
        )
    return entry


def _column(file: Path, entries: list[Any], key: str) -> np.ndarray:
    """(T,) float64 of one reading."""
    values = np.empty(len(entries))
    for row, entry in enumerate(entries):
        cell = _object(file, entry, row).get(key, _MISSING)
        if cell is _MISSING:
            raise InputError(
                f"{file}, entry {row}: `{key}` is missing.",
                hint="Every entry of a servo log needs the readings of the first one, among them "
                "goal_position, position (rad) and timestamp (s).",
            )
        if cell is None:  # what JSON writers put where a reading was NaN
            cell = math.nan
        if not isinstance(cell, (int, float)) or (
            abs(cell) > _LARGEST and cell not in (math.inf, -math.inf)
        ):
            raise InputError(
                f"{file}, entry {row}: `{key}` is {cell!r}, expected a number."[:300],
                hint="Mend the cell or drop the log.",
            )
        values[row] = cell
    return values


_MISSING = object()


def _times(file: Path, data: Mapping[str, Any], entries: list[Any]) -> np.ndarray:
    """(T,) stamps in s from the start; made from `dt` where no entry is stamped."""
    if "timestamp" in _object(file, entries[0], 0):
        times = _column(file, entries, "timestamp")
        bad = np.flatnonzero(~np.isfinite(times))
        if len(bad):
            raise InputError(
                f"{file}, entry {bad[0]}: `timestamp` is no finite number.",
                hint="A sample without a time cannot be placed; drop it or the log.",
            )
        return times - times[0]
    dt = data.get("dt")
    if not isinstance(dt, (int, float)) or not 0 < dt < _LONGEST:
        raise InputError(
            f"{file}: entries have no `timestamp` and the file states no period `dt`"
            f"{'' if dt is None else f', but {dt!r}'}."[:300],
            hint="Add one of them, in s.",
        )
    return np.arange(len(entries)) * float(dt)


def _rig(file: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    rig = {k: data[k] for k in RIG if k in data}
    for key in ("mass", "length", "kp", "vin"):
        value = rig.get(key)
        if value is not None and not (isinstance(value, (int, float)) and abs(value) < _LARGEST):
            raise InputError(f"{file}: `{key}` is {value!r}, expected a number."[:300])
    return rig


def _with_rig(episode: Episode, rig: dict[str, Any], file: Path) -> Episode:
    label = Label(subject=episode.id, key="rig", value=rig, author=f"log {file.name}")
    return Episode(
        signals=episode.signals,
        contract=episode.contract,
        robot=episode.robot,
        task=episode.task,
        source=episode.source,
        facts=(label,),
    )


def _contract(keys: tuple[str, ...], times: np.ndarray) -> Contract:
    features = tuple(
        Feature(
            key=feature,
            columns=(column,),
            role=declared(role),
            unit=declared(unit),
            observable=declared(True),
        )
        for feature, column, unit, role, _ in (_ENTRIES[k] for k in keys)
    )
    steps = np.diff(times)
    rate = float(round(1 / np.median(steps), 3)) if len(steps) and np.median(steps) > 0 else None
    return Contract(
        features=features,
        action_space=declared("joint"),
        action_mode=declared("absolute"),
        log_rate=Stated(value=rate, source="inferred", confidence=0.99) if rate else Stated(),
        clock=Stated(value="resampled log clock", source="assumed", confidence=0.7),
    )
