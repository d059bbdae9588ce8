"""robomimic and robosuite: data/demo_N with actions, states and, if extracted, obs.

States are the simulator's own (time, qpos, qvel) and go with the model they were recorded
in, inline or beside, so that a demonstration can be set again exactly. Do not replay its
actions in another version: set the states.
Layout: robomimic.github.io/docs/datasets/overview.html.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core import Episode, Loss, Signal, Stated, declared
from gaploop.ingest.readers.hdf5.guard import array, tables, text
from gaploop.ingest.readers.hdf5.parts import by_number, each, episode, observations, signal

_RATE = 20.0
"""Hz: robosuite's default control frequency, where the file does not say it."""
_POSE = ("x", "y", "z", "ax", "ay", "az", "gripper")
_LARGEST_MODEL = 32 << 20


def fits(file: Any, path: Path) -> bool:
    """Whether demonstrations lie under data/."""
    data = file.get("data")
    return hasattr(data, "keys") and any("actions" in data[k] for k in list(data)[:1])


def episodes(file: Any, path: Path) -> Iterator[Episode | Loss]:
    """In the order of their numbers."""
    data = file["data"]
    about = _about(data.attrs)
    splits = _splits(file)

    def make(group: Any, name: str) -> Episode:
        return _episode(group, name, path, about, splits.get(name, ""))

    yield from each(data, by_number(data), path, make)


# -- inside -------------------------------------------------------------------


def _about(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """env_args (robomimic) or env_info (robosuite), and the environment's name."""
    for name in ("env_args", "env_info"):
        try:
            found = json.loads(text(attributes, name) or "{}")
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found:
            inner = found.get("env_kwargs")
            return {**(inner if isinstance(inner, dict) else {}), **found}
    return {"env_name": text(attributes, "env")}


def _splits(file: Any) -> dict[str, str]:
    """Demonstration to the filter key (train, valid, ...) that lists it."""
    found: dict[str, str] = {}
    mask = file.get("mask")
    for key in by_number(mask) if hasattr(mask, "keys") else []:
        if mask[key].size > 1_000_000:
            continue
        for name in np.ravel(mask[key][()]).tolist():
            name = name.decode() if isinstance(name, bytes) else str(name)
            if key in ("train", "valid", "test"):
                found[name] = key
    return found


def _episode(group: Any, name: str, path: Path, about: Mapping[str, Any], split: str) -> Episode:
    rate, source = _rate(about)
    signals: dict[str, Signal] = {}
    actions = array(group, "actions", path)
    if actions is None:
        raise ValueError("it has no actions")
    controller = about.get("controller_configs")
    kind = str(controller.get("type", "")) if isinstance(controller, dict) else ""
    delta = isinstance(controller, dict) and controller.get("control_delta", True)
    signals["action"] = signal("action", actions, rate, columns=_POSE if kind == "OSC_POSE" else ())
    states = array(group, "states", path)
    if states is not None and len(states):
        signals["simulator_state"] = signal("simulator_state", states, rate)
    if "obs" in group:
        signals |= observations(tables(group["obs"], path), rate)
    for key in ("joint_torques", "rewards", "dones"):
        values = array(group, key, path)
        if values is not None and len(values):
            unit = "N m" if key == "joint_torques" else "1"
            named = "observation.joint_torques" if key == "joint_torques" else key
            signals[named] = signal(named, values, rate, unit=unit)
    stated: dict[str, Any] = {}
    if kind:
        space = "end_effector" if kind.startswith(("OSC", "IK")) else "joint"
        stated = {
            "action_space": declared(space),
            "action_mode": declared("delta" if delta else "absolute"),
            "gripper_polarity": Stated(value="+1 = close", source="assumed", confidence=0.9),
        }
    return episode(
        signals, _facts(group, path, signals, controller, split), source=f"{path}#{name}",
        robot=_robot(about), task=str(about.get("env_name", "")), rate=source, **stated,
    )  # fmt: skip


def _rate(about: Mapping[str, Any]) -> tuple[float, Stated]:
    told = about.get("control_freq")
    if isinstance(told, int | float) and 0 < told < 1e5:
        return float(told), declared(float(told))
    return _RATE, Stated(value=_RATE, source="assumed", confidence=0.8)


def _robot(about: Mapping[str, Any]) -> str:
    told = about.get("robots", "")
    return " + ".join(map(str, told)) if isinstance(told, list) else str(told)


def _facts(
    group: Any, path: Path, signals: Mapping[str, Signal], controller: Any, split: str
) -> Iterator[tuple[str, Any]]:
    if split:
        yield "split", split
    model = _model(group, path)
    if model:
        yield "model", {"mjcf": model, "state": "time, qpos, qvel"}
    if isinstance(controller, dict):
        yield "controller", controller
    rewards = signals.get("rewards")
    if rewards is not None and np.isfinite(rewards.values).all():
        yield "outcome", {"success": bool(np.any(rewards.values > 0)), "judge": "rewards"}


def _model(group: Any, path: Path) -> str:
    """The MJCF the states belong to: inline, or a file beside, never one elsewhere."""
    told = text(group.attrs, "model_file")
    if not told or told.lstrip().startswith("<"):
        return told
    for folder in (path.parent, path.parent / "models"):
        file = folder / Path(told).name
        if file.is_file() and file.stat().st_size <= _LARGEST_MODEL:
            return file.read_text(encoding="utf-8", errors="replace")
    return ""
