"""ManiSkill: traj_N in an .h5, with a .json of the same name beside.

There is one observation more than actions: observation i is what action i was chosen on,
and the last one is what the last action led to. Zipping the two from the end, or cutting
the first observation off, shifts every pair by one.
Layout: maniskill.readthedocs.io, Replaying and converting trajectories.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core import Episode, Loss, Stated, declared
from gaploop.ingest.readers.hdf5.guard import array, tables
from gaploop.ingest.readers.hdf5.parts import by_number, each, episode, observations, signal

_RATE = 20.0
"""Hz: ManiSkill's default control frequency, where the JSON does not say it."""
_LARGEST = 256 << 20


def fits(file: Any, path: Path) -> bool:
    """Whether trajectories lie at the top."""
    return any(k.startswith("traj_") for k in file)


def episodes(file: Any, path: Path) -> Iterator[Episode | Loss]:
    """In the order of their numbers."""
    about = _sidecar(path)
    told = {f"traj_{e.get('episode_id')}": e for e in about.get("episodes", [])}

    def make(group: Any, name: str) -> Episode:
        return _episode(group, name, path, about.get("env_info", {}), told.get(name, {}))

    names = by_number(k for k in file if k.startswith("traj_"))
    yield from each(file, names, path, make)


# -- inside -------------------------------------------------------------------


def _sidecar(path: Path) -> dict[str, Any]:
    beside = path.with_suffix(".json")
    try:
        if beside.stat().st_size > _LARGEST:
            return {}
        found = json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    fine = isinstance(found, dict) and all(
        isinstance(e, dict) for e in found.get("episodes", []) if isinstance(found, dict)
    )
    return found if fine else {}


def _episode(
    group: Any, name: str, path: Path, env: Mapping[str, Any], told: Mapping[str, Any]
) -> Episode:
    kwargs = env.get("env_kwargs")
    kwargs = kwargs if isinstance(kwargs, dict) else {}
    mode = str(told.get("control_mode") or kwargs.get("control_mode") or "")
    rate, stated_rate = _rate(kwargs)
    actions = array(group, "actions", path)
    if actions is None:
        raise ValueError("it has no actions")
    signals = {"action": signal("action", actions, rate)}
    if "obs" in group:
        found = tables(group["obs"], path) if hasattr(group["obs"], "keys") else {}
        plain = array(group, "obs", path)
        found |= {} if plain is None else {"state": plain}
        for key, values in found.items():
            if len(values) != len(actions) + 1:
                raise ValueError(
                    f"{key} has {len(values)} observations for {len(actions)} actions, "
                    "and one more was expected"
                )
        signals |= observations(found, rate)
    if "env_states" in group:
        states = tables(group["env_states"], path)
        for key, values in states.items():
            named = f"simulator_state.{key.replace('/', '.')}"
            signals[named] = signal(named, values, rate)
    facts: list[tuple[str, Any]] = []
    if "reset_kwargs" in told:
        facts.append(("reset", told["reset_kwargs"]))
    success = array(group, "success", path)
    if success is not None and len(success):
        facts.append(("outcome", {"success": bool(np.ravel(success)[-1]), "judge": "success"}))
    elif isinstance(told.get("success"), bool):
        facts.append(("outcome", {"success": told["success"], "judge": "json"}))
    return episode(
        signals, facts, source=f"{path}#{name}", task=str(env.get("env_id", "")),
        rate=stated_rate, **_mode(mode),
    )  # fmt: skip


def _rate(kwargs: Mapping[str, Any]) -> tuple[float, Stated]:
    told = kwargs.get("control_freq")
    sim = kwargs.get("sim_config")
    if told is None and isinstance(sim, dict):
        told = sim.get("control_freq")
    if isinstance(told, int | float) and 0 < told < 1e5:
        return float(told), declared(float(told))
    return _RATE, Stated(value=_RATE, source="assumed", confidence=0.7)


def _mode(mode: str) -> dict[str, Any]:
    """pd_ee_delta_pose: what the control mode's name says."""
    if not mode:
        return {}
    found = {"action_space": declared("end_effector" if "_ee_" in mode else "joint")}
    if "delta" in mode:
        found["action_mode"] = declared("delta")
        if "target" in mode:
            found["action_reference"] = declared("the last target")
    elif "vel" in mode:
        found["action_mode"] = declared("velocity")
    elif "pos" in mode:
        found["action_mode"] = declared("absolute")
    return found
