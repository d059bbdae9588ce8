"""Pendulum logs as CSV: `NAME_desired.csv` and `NAME_measured.csv`, each with its own stamps.

Columns `time` (s), `position` (rad), `velocity` (rad/s), `torque` (N m); desired is
what was commanded, measured what the drive reports. Angle 0 is the arm hanging down.
Format: github.com/dfki-ric-underactuated-lab/torque_limited_simple_pendulum (BSD-3).
"""

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from gaploop.core import (
    Contract,
    Episode,
    Feature,
    InputError,
    Label,
    Signal,
    Stated,
    declared,
)

_COLUMNS = ("time", "position", "velocity", "torque")
_UNITS = {"position": "rad", "velocity": "rad/s", "torque": "N m"}
_SIDES = ("_desired", "_measured")

# (side, column): (feature key, role)
_FEATURES = {
    ("_desired", "torque"): ("action", "torque_command"),
    ("_desired", "position"): ("action.position", "joint_command"),
    ("_desired", "velocity"): ("action.velocity", "joint_velocity_command"),
    ("_measured", "position"): ("observation.state", "joint_position"),
    ("_measured", "velocity"): ("observation.velocity", "joint_velocity"),
    ("_measured", "torque"): ("observation.torque", "torque"),
}


class PendulumReader:
    """Reads a CSV, the pair it belongs to, or every pair of a folder in order of name."""

    name = "pendulum"

    def sniff(self, path: Path) -> bool:
        """Whether `path` is such a CSV, or a folder that holds one."""
        try:
            files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
            return any(_looks(file) for file in files)
        except OSError:
            return False

    def read(self, path: Path) -> Iterator[Episode]:
        """One episode a pair, or a lone file. The missing side is simply absent.

        Raises:
          InputError: naming the file and the line (the header is line 1).
        """
        if path.is_dir():
            stems = {_stem(f): f for f in sorted(path.glob("*.csv")) if _looks(f)}
            if not stems:
                raise InputError(
                    f"{path} holds no pendulum log.",
                    hint="Expected *_desired.csv or *_measured.csv with the columns "
                    f"{', '.join(_COLUMNS)}.",
                )
            files = list(stems.values())
        else:
            files = [path]
        for file in files:
            yield read_pendulum_log(file)


def read_pendulum_log(file: Path) -> Episode:
    """The attempt that `file` belongs to, both sides where both exist; NaN stays.

    Raises:
      InputError: a file that is missing, empty, lacks a column, or has a cell that is no number.
    """
    stem = _stem(file)
    sides = {s: file.with_name(f"{stem}{s}.csv") for s in _SIDES}
    if file not in sides.values():  # neither _desired nor _measured: a drive's own report
        sides = {"_measured": file}
    found = {s: f for s, f in sides.items() if f.is_file() or f == file}
    tables = {s: _table(f) for s, f in found.items()}
    # one clock for the attempt: both sides count from the earlier of the two starts
    start = min(float(t["time"][0]) for t in tables.values())
    signals: dict[str, Signal] = {}
    features: list[Feature] = []
    for (side, column), (key, role) in _FEATURES.items():
        if side not in tables or _silent(key, tables[side][column]):
            continue
        table = tables[side]
        signals[key] = Signal(
            name=key,
            unit=_UNITS[column],
            columns=("joint",),
            times=table["time"] - start,
            values=table[column][:, None],
        )
        features.append(
            Feature(
                key=key,
                columns=("joint",),
                role=declared(role),
                unit=declared(_UNITS[column]),
                observable=declared(True),
            )
        )
    episode = Episode(
        signals=signals,
        contract=_contract(tuple(features), tables),
        robot="simple pendulum",
        task=stem,
        source=" + ".join(str(f) for f in found.values()),
    )
    return _judged(episode, stem)


def _judged(episode: Episode, stem: str) -> Episode:
    """Failures of this bench are marked in the file's name and nowhere else."""
    if not {"failure", "failed"} & set(stem.lower().split("_")):
        return episode
    outcome = Label(
        subject=episode.id,
        key="outcome",
        value={"success": False, "tag": "failure", "judge": "file name"},
        author="file name",
        confidence=0.8,
    )
    return replace(episode, facts=(outcome,))


def _silent(key: str, values: np.ndarray) -> bool:
    # a torque-controlled run writes zeros as its desired position and velocity
    return key in ("action.position", "action.velocity") and not np.any(values)


def _stem(file: Path) -> str:
    name = file.name.removesuffix(".csv")
    for side in _SIDES:
        name = name.removesuffix(side)
    return name


def _looks(file: Path) -> bool:
    if file.suffix.lower() != ".csv" or not file.is_file():
        return False
    with file.open("r", encoding="utf-8-sig", errors="replace") as stream:
        header = [c.strip().lower() for c in stream.readline(4096).split(",")]
    named = any(file.name.endswith(f"{side}.csv") for side in _SIDES)
    return "time" in header and "position" in header and (named or set(_COLUMNS) <= set(header))


def _table(file: Path) -> dict[str, np.ndarray]:
    """Column name to (T,) float64."""
    try:
        with file.open("r", encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.reader(stream))
    except FileNotFoundError:
        raise InputError(f"There is no file {file}.", hint="Give a pendulum log (CSV).") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} cannot be read as CSV: {error}.") from None
    header = [c.strip().lower() for c in rows[0]] if rows else []
    missing = [c for c in _COLUMNS if c not in header]
    if missing:
        raise InputError(
            f"{file}, line 1: the column {missing[0]!r} is missing; found "
            f"{', '.join(c for c in header if c) or 'no header'}.",
            hint=f"Expected the columns {', '.join(_COLUMNS)} (s, rad, rad/s, N m).",
        )
    body = [(line, row) for line, row in enumerate(rows[1:], start=2) if row]
    if len(body) < 2:
        raise InputError(f"{file} has {len(body)} rows of data.", hint="Expected two or more.")
    places = [header.index(c) for c in _COLUMNS]
    values = np.array([[_cell(file, line, row, p) for p in places] for line, row in body])
    table = {c: values[:, i] for i, c in enumerate(_COLUMNS)}
    bad = np.flatnonzero(~np.isfinite(table["time"]))
    if len(bad):
        raise InputError(
            f"{file}, line {body[bad[0]][0]}: `time` is no finite number.",
            hint="A sample without a time cannot be placed; drop the row.",
        )
    return table


def _cell(file: Path, line: int, row: list[str], place: int) -> float:
    if place >= len(row):
        raise InputError(
            f"{file}, line {line}: the row has {len(row)} cells, expected at least {place + 1}.",
            hint="The file looks cut; copy it again from the recorder.",
        )
    text = row[place].strip()
    try:
        return float(text) if text else float("nan")
    except ValueError:
        raise InputError(
            f"{file}, line {line}: cell {place + 1} is {text!r}, expected a number."[:300],
            hint="Mend the cell or drop the row.",
        ) from None


def _contract(features: tuple[Feature, ...], tables: dict[str, dict[str, np.ndarray]]) -> Contract:
    times = tables["_measured" if "_measured" in tables else "_desired"]["time"]
    step = float(np.median(np.diff(times)))
    keys = {f.key for f in features}
    return Contract(
        features=features,
        action_space=declared("joint"),
        action_mode=declared("torque") if "action" in keys else Stated(),
        log_rate=Stated(value=round(1 / step, 3), source="inferred", confidence=0.99)
        if step > 0
        else Stated(),
        clock=Stated(
            value="desired on the planner's clock, measured on the host's",
            source="assumed",
            confidence=0.7,
        ),
    )
