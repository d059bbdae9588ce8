"""LeRobot's processor configuration as a contract, and back, where it says what a contract does.

`policy_preprocessor.json` and `policy_postprocessor.json` list steps, each with a
`registry_name`, a `config` and, where it has tensors, a `state_file` in safetensors; beside them
`config.json` has the policy's horizons. They state feature keys and widths, the normaliser and
its statistics, whether actions are relative to the state, and the names of action columns.
Units, frames and rates they do not state. Layout as of lerobot 0.4 to 0.6.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from gaploop.core import (
    UNKNOWN,
    Contract,
    Feature,
    InputError,
    PolicyContract,
    Stated,
    declared,
    digest,
)
from gaploop.ingest.contracts.tensors import read_tensors, write_tensors

PRE: Final = "policy_preprocessor.json"
POST: Final = "policy_postprocessor.json"
_CONFIG: Final = "config.json"
_STATE: Final = "policy_preprocessor_step_{step}_normalizer_processor.safetensors"
_LARGEST: Final = 4 * 2**20
_WIDEST: Final = 100_000


def sniff(path: Path) -> bool:
    """Whether `path` is such a folder, or one of its two files."""
    return path.name in (PRE, POST) or (path.is_dir() and (path / PRE).is_file())


def read_processors(path: Path) -> PolicyContract:
    """The contract that a folder with processor configurations states.

    Raises:
      InputError: for JSON or tensors that are damaged, too large, or of another form.
    """
    folder = path if path.is_dir() else path.parent
    pre = _steps(folder / PRE)
    config = _json(folder / _CONFIG) if (folder / _CONFIG).is_file() else {}
    normal = next((s for s in pre if s["registry_name"] == "normalizer_processor"), None)
    shapes = _shapes(normal["config"].get("features"), folder / PRE) if normal else {}
    tensors = _tensors(folder, normal)
    relative = next((s for s in pre if s["registry_name"] == "relative_actions_processor"), None)
    names = relative["config"].get("action_names") if relative else None
    action = shapes.get("action", ("ACTION", 0))[1]
    labels = {k: _labels(k, n, names if k == "action" else None) for k, (_, n) in shapes.items()}
    inputs = tuple(k for k, (kind, _) in shapes.items() if kind in ("STATE", "ENV"))
    mode, reference, provenance = _mode(folder, relative)
    contract = Contract(
        features=tuple(
            Feature(key=k, columns=labels[k]) for k, (kind, _) in shapes.items() if kind != "VISUAL"
        ),
        action_mode=mode,
        action_reference=reference,
    )
    columns = tuple(c for k in inputs for c in labels[k]) or ("",)
    chunk = _count(config, ("chunk_size", "horizon"), folder)
    return PolicyContract(
        contract=contract,
        inputs=inputs,
        columns=columns,
        history=_count(config, ("n_obs_steps",), folder),
        chunk=chunk,
        execute=min(_count(config, ("n_action_steps",), folder, chunk), chunk),
        normaliser=digest({k: np.asarray(v) for k, v in sorted(tensors.items())})
        if tensors
        else "",
        input_mean=_statistic(tensors, inputs, "mean", len(columns)),
        input_std=_statistic(tensors, inputs, "std", len(columns)),
        action_low=_row(tensors.get("action.min"), action),
        action_high=_row(tensors.get("action.max"), action),
        image_path=_image_path(pre, normal, shapes),
        provenance=provenance,
    )


def write_processors(folder: Path, contract: PolicyContract) -> tuple[Path, ...]:
    """Pre- and postprocessor configuration of a policy that is normalised outside its graph.

    Writes what LeRobot can say: keys, widths, mean and standard deviation of inputs, bounds of
    actions, names of action columns. Returns the files written.

    Raises:
      InputError: when one of the files is there already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / _STATE.format(step=2)
    there = next((p for p in (folder / PRE, folder / POST, state) if p.exists()), None)
    if there is not None:
        raise InputError(f"{there} exists already.", hint="Choose another folder.")
    features = {
        key: {"type": "ACTION" if key == "action" else "STATE", "shape": [len(feature.columns)]}
        for key in dict.fromkeys((*contract.inputs, "action"))
        if (feature := contract.contract.feature(key)) is not None
    }
    config = {
        "eps": 1e-8,
        "features": features,
        "norm_map": {"STATE": "MEAN_STD", "ACTION": "MIN_MAX"},
    }
    action = contract.contract.feature("action")
    # the names of action columns have no other place; the step itself does nothing
    relative = {
        "registry_name": "relative_actions_processor",
        "config": {
            "enabled": False,
            "exclude_joints": [],
            "action_names": list(action.columns) if action else None,
        },
    }
    absolute = {"registry_name": "absolute_actions_processor", "config": {"enabled": False}}
    normal = {"registry_name": "normalizer_processor", "config": config, "state_file": state.name}
    back = {
        "registry_name": "unnormalizer_processor",
        "config": {**config, "features": {k: v for k, v in features.items() if k == "action"}},
        "state_file": state.name,
    }
    batch = {"registry_name": "to_batch_processor", "config": {}}
    pre = {"name": "policy_preprocessor", "steps": [relative, batch, normal]}
    post = {"name": "policy_postprocessor", "steps": [back, absolute]}
    write_tensors(state, _statistics(contract))
    for path, content in ((folder / PRE, pre), (folder / POST, post)):
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return folder / PRE, folder / POST, state


def _statistics(contract: PolicyContract) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    at = 0
    for key in contract.inputs:
        feature = contract.contract.feature(key)
        width = len(feature.columns) if feature else 0
        for name, row in (("mean", contract.input_mean), ("std", contract.input_std)):
            # the last command among the inputs has the statistics of an input
            if row and key != "action":
                found[f"{key}.{name}"] = np.array(row[at : at + width], "<f4")
        at += width
    if contract.action_low:
        found["action.min"] = np.array(contract.action_low, "<f4")
        found["action.max"] = np.array(contract.action_high, "<f4")
    return found


def _steps(path: Path) -> list[dict[str, Any]]:
    data = _json(path)
    steps = data.get("steps")
    if not isinstance(steps, list):
        raise InputError(f"{path} lists no `steps`, so it is no processor configuration.")
    found = []
    for i, step in enumerate(steps):
        if not isinstance(step, dict) or not isinstance(step.get("config", {}), dict):
            raise InputError(f"{path}, step {i}: expected an object with a `config`.")
        name = step.get("registry_name") or str(step.get("class", "")).rsplit(".", 1)[-1]
        found.append({**step, "registry_name": str(name), "config": step.get("config", {})})
    return found


def _mode(
    folder: Path, relative: Mapping[str, Any] | None
) -> tuple[Stated, Stated, dict[str, str]]:
    """(mode, reference, provenance) of the actions that leave the postprocessor.

    Steps before the policy take the reading off; unless one behind it adds it again, the robot
    is sent deltas.
    """
    if relative is None or not relative["config"].get("enabled"):
        return UNKNOWN, UNKNOWN, {}
    post = _steps(folder / POST) if (folder / POST).is_file() else []
    added = any(
        s["registry_name"] == "absolute_actions_processor" and s["config"].get("enabled")
        for s in post
    )
    if added:
        return declared("absolute"), UNKNOWN, {"predicts": "deltas to the current state"}
    return declared("delta"), declared("current state"), {}


def _shapes(features: Any, path: Path) -> dict[str, tuple[str, int]]:
    """Key to (type, width) of the normaliser's features."""
    if not isinstance(features, dict):
        raise InputError(f"{path}: the normaliser states no features.")
    found: dict[str, tuple[str, int]] = {}
    for key, one in features.items():
        shape = one.get("shape") if isinstance(one, dict) else None
        good = isinstance(shape, list) and all(
            isinstance(n, int) and 0 < n < _WIDEST for n in shape
        )
        if not good or not shape or math.prod(shape) > 1e9:
            raise InputError(f"{path}: feature {key!r} has no usable shape: {shape!r}."[:300])
        kind = str(one.get("type", ""))
        found[str(key)] = (kind, int(shape[0]) if kind != "VISUAL" else 0)
    return found


def _labels(key: str, width: int, names: Any) -> tuple[str, ...]:
    if isinstance(names, list) and len(names) == width:
        return tuple(str(n) for n in names)
    return tuple(f"{key}[{i}]" for i in range(width))


def _tensors(folder: Path, step: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    name = step.get("state_file") if step else None
    if not isinstance(name, str):
        return {}
    if Path(name).name != name:
        raise InputError(f"{folder / PRE} names a state file outside its folder: {name!r}."[:300])
    if not (folder / name).is_file():
        raise InputError(
            f"{folder / PRE} names the state file {name}, which is not there.",
            hint="Without its statistics nothing is normalised; copy the whole folder.",
        )
    return read_tensors(folder / name)


def _statistic(
    tensors: Mapping[str, np.ndarray], inputs: tuple[str, ...], name: str, width: int
) -> tuple[float, ...]:
    rows = [tensors.get(f"{key}.{name}") for key in inputs]
    if not rows or any(r is None for r in rows):
        return ()
    joined = np.concatenate([np.ravel(r) for r in rows if r is not None])
    return tuple(float(v) for v in joined) if len(joined) == width else ()


def _row(values: np.ndarray | None, width: int) -> tuple[float, ...]:
    if values is None or np.size(values) != width:
        return ()
    return tuple(float(v) for v in np.ravel(values))


def _image_path(
    steps: list[dict[str, Any]], normal: Mapping[str, Any] | None, shapes: Mapping[str, Any]
) -> str:
    """How pixels reach the policy, as far as the steps say; empty without pixels."""
    pictures = sorted(k for k, (kind, _) in shapes.items() if kind == "VISUAL")
    if not pictures:
        return ""
    said = list(_picture_steps(steps))
    norm = (normal or {}).get("config", {}).get("norm_map", {})
    how = norm.get("VISUAL", "IDENTITY") if isinstance(norm, dict) else "IDENTITY"
    return "; ".join([", ".join(pictures), *said, f"normalised {how}"])


def _picture_steps(steps: list[dict[str, Any]]) -> Iterator[str]:
    for step in steps:
        words = {k: v for k, v in step["config"].items() if "resize" in k or "crop" in k}
        if words:
            yield f"{step['registry_name']} {json.dumps(words, sort_keys=True)}"


def _count(config: Mapping[str, Any], names: tuple[str, ...], folder: Path, other: int = 1) -> int:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            if not 0 < value < _WIDEST:
                raise InputError(f"{folder / _CONFIG}: {name} is {value}, which no policy has.")
            return value
    return other


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is larger than any processor configuration.")
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no {path.name} in {path.parent}.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}."[:300]) from None
    if not isinstance(data, dict):
        raise InputError(f"{path} holds no JSON object.")
    return data
