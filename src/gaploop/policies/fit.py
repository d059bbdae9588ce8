"""Does a policy's contract fit a robot or a task? One sentence a mismatch, none if it fits.

What one side does not state cannot disagree and is passed over.
"""

import math
from typing import Any

from gaploop.core import Contract, ContractError, Feature, PolicyContract, Stated, TaskSpec
from gaploop.core.units import FACTORS

_STATED = (
    ("action_space", "action space"),
    ("action_mode", "action mode"),
    ("action_reference", "action reference"),
    ("gripper_polarity", "gripper polarity"),
    ("gripper_range", "gripper range"),
)


def check_fit(policy: PolicyContract, other: TaskSpec | Contract) -> tuple[str, ...]:
    """Mismatches between what a policy expects and what a task or robot gives.

    Against a TaskSpec: columns of a frame and their order, inputs, history, command
    bounds, rate, and everything its contract states. Against a Contract: features,
    columns and their order, units, frames, rotations, action mode, rate, gripper.
    """
    found: list[str] = []
    contract = other.contract if isinstance(other, TaskSpec) else other
    if isinstance(other, TaskSpec):
        found += _names("inputs", policy.inputs, other.inputs)
        found += _names("frame columns", policy.columns, other.frame_columns)
        found += _history(policy, other)
        found += _bounds(policy, other)
        found += _rate(policy.contract.control_rate, 1.0 / other.control_dt)
    else:
        found += _rate(policy.contract.control_rate, contract.control_rate.value)
    found += _features(policy, contract)
    for field, words in _STATED:
        mine, theirs = getattr(policy.contract, field), getattr(contract, field)
        if _differ(mine, theirs):
            found.append(f"The policy's {words} is {mine.value!r}, the robot's {theirs.value!r}.")
    return tuple(found)


def require_fit(policy: PolicyContract, other: TaskSpec | Contract) -> None:
    """Raise when `check_fit` finds anything.

    Raises:
      ContractError: with every mismatch.
    """
    found = check_fit(policy, other)
    if found:
        name = f"task {other.name!r}" if isinstance(other, TaskSpec) else "robot"
        raise ContractError(
            f"The policy does not fit the {name}: {' '.join(found)}",
            hint="Mend the contract on one side before running it.",
        )


def _names(what: str, mine: tuple[str, ...], theirs: tuple[str, ...]) -> list[str]:
    if mine == theirs:
        return []
    if sorted(mine) == sorted(theirs):
        i = next(i for i, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
        return [
            f"The {what} stand in another order: at place {i} the policy expects {mine[i]!r}, "
            f"the robot gives {theirs[i]!r}."
        ]
    missing = [n for n in mine if n not in theirs]
    extra = [n for n in theirs if n not in mine]
    parts = []
    if missing:
        parts.append(f"the policy expects {', '.join(missing)}, which the robot does not give")
    if extra:
        parts.append(f"the robot gives {', '.join(extra)}, which the policy does not know")
    if not parts:
        parts.append(f"the policy expects {', '.join(mine)}, the robot gives {', '.join(theirs)}")
    return [f"The {what} differ: {'; '.join(parts)}."]


def _history(policy: PolicyContract, spec: TaskSpec) -> list[str]:
    if policy.history == spec.history:
        return []
    return [f"The policy reads {policy.history} frames of history, the task feeds {spec.history}."]


def _bounds(policy: PolicyContract, spec: TaskSpec) -> list[str]:
    """A policy that may ask for more than the robot accepts, or has another width."""
    if not policy.action_low:
        return []
    if len(policy.action_low) != len(spec.command):
        return [
            f"The policy commands {len(policy.action_low)} actuators, "
            f"the robot has {len(spec.command)}."
        ]
    found = []
    rows = zip(
        spec.command, policy.action_low, policy.action_high, spec.command_low, spec.command_high,
        strict=True,
    )  # fmt: skip
    for name, low, high, least, most in rows:
        slack = 1e-6 * max(abs(least), abs(most))
        if low < least - slack or high > most + slack:
            found.append(
                f"The policy commands {name} from {low:g} to {high:g}, the robot takes "
                f"{least:g} to {most:g} {spec.command_unit}{_factor(high - low, most - least)}."
            )
    return found


def _features(policy: PolicyContract, contract: Contract) -> list[str]:
    found = []
    for mine in policy.contract.features:
        if mine.key not in policy.inputs and mine.key != "action":
            continue
        theirs = contract.feature(mine.key)
        if theirs is None:
            if contract.features:
                found.append(f"The policy expects the feature {mine.key!r}, the robot has none.")
            continue
        found += _names(f"columns of {mine.key!r}", mine.columns, theirs.columns)
        found += _meaning(mine, theirs)
    return found


def _meaning(mine: Feature, theirs: Feature) -> list[str]:
    found = []
    if _differ(mine.unit, theirs.unit):
        found.append(
            f"The unit of {mine.key!r} is {_say(mine.unit)} for the policy and "
            f"{_say(theirs.unit)} for the robot{_unit_factor(mine.unit.value, theirs.unit.value)}."
        )
    for field, words in (("role", "role"), ("frame", "frame"), ("rotation", "rotation form")):
        a, b = getattr(mine, field), getattr(theirs, field)
        if _differ(a, b):
            found.append(
                f"The {words} of {mine.key!r} is {_say(a)} for the policy and "
                f"{_say(b)} for the robot."
            )
    if theirs.observable.value is False and mine.key != "action":
        found.append(f"The policy reads {mine.key!r}, which the robot cannot observe.")
    return found


def _rate(mine: Stated, theirs: float | None) -> list[str]:
    if mine.value is None or theirs is None:
        return []
    if not isinstance(mine.value, (int, float)) or not isinstance(theirs, (int, float)):
        return [f"The policy's control rate is {mine.value!r}, the robot's {theirs!r}."]
    if math.isclose(mine.value, theirs, rel_tol=1e-3):
        return []
    return [f"The policy was trained at {mine.value:g} Hz, the robot runs at {theirs:g} Hz."]


def _differ(mine: Stated, theirs: Stated) -> bool:
    if mine.value is None or theirs.value is None:
        return False
    return _plain(mine.value) != _plain(theirs.value)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _say(stated: Stated) -> str:
    value = _plain(stated.value)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _unit_factor(mine: Any, theirs: Any) -> str:
    known = all(isinstance(u, str) and u in FACTORS for u in (mine, theirs))
    return f" (a factor of {FACTORS[theirs] / FACTORS[mine]:.4g})" if known else ""


def _factor(mine: float, theirs: float) -> str:
    """Name a factor that a wrong unit would leave."""
    if theirs <= 0 or mine <= 0:
        return ""
    ratio = mine / theirs
    for factor, words in ((57.2958, "radians and degrees"), (1000.0, "m and mm"), (100.0, "m, cm")):
        if any(math.isclose(r, factor, rel_tol=0.05) for r in (ratio, 1 / ratio)):
            return f" (a factor near {factor:g}: {words}?)"
    return ""
