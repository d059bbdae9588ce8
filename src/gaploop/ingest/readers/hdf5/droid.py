"""DROID, as it is recorded: trajectory.h5 with metadata beside, under success/ or failure/.

15 Hz. A gripper at 0 is open and at 1 closed. Layout: github.com/droid-dataset/droid.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gaploop.core import Episode, Loss, declared
from gaploop.ingest.readers.hdf5.guard import tables
from gaploop.ingest.readers.hdf5.parts import each, episode, observations, signal

_RATE = 15.0
_ARM = tuple(f"joint_{i}" for i in range(7))
_POSE = ("x", "y", "z", "roll", "pitch", "yaw")
_COLUMNS = {
    "robot_state/joint_positions": (_ARM, "rad"),
    "robot_state/joint_velocities": (_ARM, "rad/s"),
    "robot_state/cartesian_position": (_POSE, "raw"),
    "joint_position": (_ARM, "rad"),
    "joint_velocity": (_ARM, "rad/s"),
    "cartesian_position": (_POSE, "raw"),
    "gripper_position": (("gripper",), "1"),
    "robot_state/gripper_position": (("gripper",), "1"),
}
_LARGEST = 1 << 20


def fits(file: Any, path: Path) -> bool:
    """Whether the top holds `action` and `observation`."""
    return all(hasattr(file.get(k), "keys") for k in ("action", "observation"))


def episodes(file: Any, path: Path) -> Iterator[Episode | Loss]:
    """The one episode of the file."""
    yield from each({"trajectory": file}, ["trajectory"], path, lambda g, _: _episode(g, path))


# -- inside -------------------------------------------------------------------


def _episode(file: Any, path: Path) -> Episode:
    commands, found = tables(file["action"], path), tables(file["observation"], path)
    main = "joint_position" if "joint_position" in commands else next(iter(commands), "")
    if not main:
        raise ValueError("it has no actions")
    found = {k: v for k, v in found.items() if k.startswith("robot_state/")}
    signals = observations(found, _RATE) | {
        key: signal(key, values, _RATE)
        for name, values in commands.items() if len(values)
        for key in ["action" if name == main else f"action.{name.replace('/', '.')}"]
    }  # fmt: skip
    signals = {k: _named(k, s) for k, s in signals.items()}
    about = _metadata(path)
    facts: list[tuple[str, Any]] = []
    folders = {p.name for p in path.parents}
    success = about.get("success")
    if not isinstance(success, bool) and ("success" in folders) != ("failure" in folders):
        success = "success" in folders
    if isinstance(success, bool):
        facts.append(("outcome", {"success": success, "judge": "operator"}))
    return episode(
        signals, facts, source=str(path), robot="DROID Panda",
        task=str(about.get("current_task", "")), rate=declared(_RATE), demonstration=True,
        action_space=declared("joint" if main.startswith("joint") else "end_effector"),
        action_mode=declared("absolute"), gripper_polarity=declared("1 = closed"),
        gripper_range=declared([0.0, 1.0]),
    )  # fmt: skip


def _named(key: str, found: Any) -> Any:
    name = key.removeprefix("observation.").removeprefix("action.").replace("robot_state.", "")
    name = "joint_position" if key == "action" else name
    for told, (columns, unit) in _COLUMNS.items():
        if told.split("/")[-1] == name and found.values.shape[1] == len(columns):
            return signal(key, found.values, _RATE, unit=unit, columns=columns)
    return found


def _metadata(path: Path) -> dict[str, Any]:
    for file in sorted(path.parent.glob("metadata*.json")):
        try:
            if file.stat().st_size <= _LARGEST:
                found = json.loads(file.read_text(encoding="utf-8"))
                if isinstance(found, dict):
                    return found
        except (OSError, ValueError, RecursionError):
            continue
    return {}
