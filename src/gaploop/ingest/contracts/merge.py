"""Two sources in one dataset: converted to one contract, or refused by the field that hinders."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final

import numpy as np

from gaploop.core import Contract, ContractError, Episode, Feature, Label, Signal, Stated
from gaploop.ingest.contracts import convert
from gaploop.ingest.contracts.compare import reordered, same
from gaploop.ingest.contracts.convert import Conversion, Tables, refuse
from gaploop.ingest.contracts.layout import is_gripper, unit_blocks

AUTHOR: Final = "merge@1"
SURE: Final = 0.9
"""Confidence from which a statement is converted by."""
_NEVER: Final = ("action_space", "log_rate", "control_rate")
"""Fields that no arithmetic on the rows converts."""
_NEEDED: Final = ("action_space", "action_mode")
_KEPT: Final = ("lag", "clock", "gripper_force", "gripper_speed", "gripper_closed")
"""Facts about each robot that may differ in one dataset."""


def merge(
    one: Sequence[Episode], other: Sequence[Episode], *, given: Sequence[str] = (),
    sure: float = SURE,
) -> list[Episode]:  # fmt: skip
    """`one`, and `other` as `one` would have logged it.

    What differs between the contracts of the two is converted, and each converted episode says
    so: its parent is the episode it was, and a `conversion` fact lists what was done.

    Args:
      one, other: episodes of one contract each (see `infer`).
      given: fields taken to agree though nobody states them, such as `action.unit`.
      sure: confidence below which a statement counts as unknown.

    Raises:
      ContractError: naming the field that differs and cannot be converted, or that one side
        does not state.
    """
    if not one or not other:
        return [*one, *other]
    wanted = one[0].contract
    return [*one, *(converted(e, wanted, given=given, sure=sure) for e in other)]


def converted(
    episode: Episode, wanted: Contract, *, given: Sequence[str] = (), sure: float = SURE
) -> Episode:
    """The episode under the contract `wanted`; the same one where nothing differs.

    Raises:
      ContractError: as `merge`.
    """
    mine = episode.contract
    _hindered(episode, mine, wanted, given, sure)
    tables: Tables = {
        f.key: _table(episode.signals[f.key]) for f in wanted.features if f.key in episode.signals
    }
    done = [
        *_signs(tables, mine, wanted),
        *_grip(tables, mine, wanted),
        *_mode(tables, episode, mine, wanted),
    ]
    for feature in wanted.features:
        if feature.key in tables:
            done += _feature(tables, mine, feature)
    if not done:
        return episode
    signals = {**episode.signals}
    for key, table in tables.items():
        signals[key] = _signal(episode.signals[key], table, mine, wanted)
    fresh = replace(
        episode, signals=signals, contract=_contract(mine, wanted), parents=(episode.id,), facts=()
    )
    what = Label(
        subject=fresh.id, key="conversion", value=[c.record() for c in done], author=AUTHOR
    )
    facts = tuple(replace(f, subject=fresh.id) for f in episode.facts)
    return replace(fresh, facts=(*facts, what))


def _hindered(
    episode: Episode, mine: Contract, wanted: Contract, given: Sequence[str], sure: float
) -> None:
    """Raise for what nobody knows and what nothing converts."""
    for feature in wanted.features:
        own = mine.feature(feature.key)
        if own is None or feature.key not in episode.signals:
            raise refuse(feature.key, "missing", feature.columns, "one source does not log it")
        for field in ("unit", "rotation", "frame"):
            name = f"{feature.key}.{field}"
            needed = _asked(episode.signals[feature.key], field)
            _known(name, getattr(own, field), getattr(feature, field), given, sure, needed)
            a, b = getattr(own, field).value, getattr(feature, field).value
            if field == "frame" and a is not None and b is not None and a != b:
                raise refuse(name, a, b, "the transform between the frames is not known")
    action = wanted.feature("action")
    grips = action is not None and any(map(is_gripper, action.columns))
    for field in fields(Contract):
        if field.name in ("features", "joint_map", *_KEPT):
            continue
        a, b = getattr(mine, field.name), getattr(wanted, field.name)
        needed = field.name in _NEEDED or (field.name == "gripper_polarity" and grips)
        _known(field.name, a, b, given, sure, needed)
        if field.name in _NEVER and _both(a, b) and not same(field.name, a.value, b.value):
            raise refuse(field.name, a.value, b.value, "rows cannot be converted between them")
    if (mine.joint_map.value is None) != (wanted.joint_map.value is None):
        _known("joint_map", mine.joint_map, wanted.joint_map, given, sure, False)


def _asked(signal: Signal, field: str) -> bool:
    """Whether a feature means nothing without this field."""
    if field == "unit":
        return signal.name in ("action", "observation.state")
    return field == "rotation" and bool(unit_blocks(_table(signal)))


def _known(
    field: str, a: Stated, b: Stated, given: Sequence[str], sure: float, needed: bool
) -> None:
    """Raise where one side states what the other does not, or what it only guesses."""
    if field in given:
        return
    known = [s.source != "unknown" and s.confidence >= sure for s in (a, b)]
    if all(known) or (not needed and a.source == b.source == "unknown"):
        return
    if _both(a, b) and same(field, a.value, b.value):
        return
    silent = a if not known[0] else b
    guess = f" (a guess: {silent.value!r}, {silent.confidence:.2f} sure)" if silent.value else ""
    raise ContractError(
        f"These cannot be merged: {field} is {(b if silent is a else a).value!r} in one source and "
        f"not known in the other{guess}.",
        hint=f"State it in the contract, or say that they agree with given=[{field!r}].",
    )


def _both(a: Stated, b: Stated) -> bool:
    return a.source != "unknown" and b.source != "unknown"


def _signs(tables: Tables, mine: Contract, wanted: Contract) -> list[Conversion]:
    a, b = mine.joint_map, wanted.joint_map
    if not _both(a, b) or same("joint_map", a.value, b.value) or "observation.state" not in tables:
        return []
    for key in ("action", "observation.state"):
        own, other = mine.feature(key), wanted.feature(key)
        if own is not None and other is not None and own.columns != other.columns:
            raise refuse("joint_map", a.value, b.value, f"{key} has its columns in another order")
    tables["observation.state"] = convert.joint_map(tables, mine, wanted)
    how = "readings put in the place, and given the sign, that their commands have"
    return [Conversion(field="joint_map", before=a.value, after=b.value, how=how)]


def _grip(tables: Tables, mine: Contract, wanted: Contract) -> list[Conversion]:
    done: list[Conversion] = []
    a, b = mine.gripper_polarity, wanted.gripper_polarity
    if "action" not in tables:
        return done
    if _both(a, b) and a.value != b.value:
        tables["action"], how = convert.polarity(tables["action"], mine, wanted)
        done.append(Conversion(field="gripper_polarity", before=a.value, after=b.value, how=how))
    a, b = mine.gripper_range, wanted.gripper_range
    # an inferred range is what was seen, not what there is
    declared = a.source == b.source == "declared"
    if declared and not same("gripper_range", a.value, b.value):
        tables["action"], how = convert.grip_range(tables["action"], mine, wanted)
        done.append(Conversion(field="gripper_range", before=a.value, after=b.value, how=how))
    return done


def _mode(tables: Tables, episode: Episode, mine: Contract, wanted: Contract) -> list[Conversion]:
    a, b = mine.action_mode, wanted.action_mode
    one, two = mine.action_reference, wanted.action_reference
    turned = a.value == b.value == "delta" and _both(one, two) and one.value != two.value
    if not _both(a, b) or (a.value == b.value and not turned) or "action" not in tables:
        return []
    if not {a.value, b.value} <= {"absolute", "delta", "velocity"}:
        raise refuse("action_mode", a.value, b.value, "no arithmetic leads from one to the other")
    # readings stand as `wanted` has them already
    placed = replace(mine, joint_map=wanted.joint_map if _both(mine.joint_map, wanted.joint_map)
                     else mine.joint_map)  # fmt: skip
    times = episode.signals["action"].times
    tables["action"], how, exact = convert.mode(tables, times, placed, wanted)
    field = "action_reference" if turned else "action_mode"
    before, after = (one.value, two.value) if turned else (a.value, b.value)
    return [Conversion(field=field, before=before, after=after, how=how, exact=exact)]


def _feature(tables: Tables, mine: Contract, wanted: Feature) -> list[Conversion]:
    own, key, done = mine.feature(wanted.key), wanted.key, list[Conversion]()
    assert own is not None  # _hindered has seen to it
    if own.columns != wanted.columns:
        tables[key] = convert.columns(key, tables[key], own, wanted)
        done.append(_did(f"{key}.order", own.columns, wanted.columns, "columns put in order"))
        own = replace(own, columns=wanted.columns, unit=reordered(own, wanted.columns))
    if _both(own.rotation, wanted.rotation) and own.rotation.value != wanted.rotation.value:
        tables[key] = convert.rotation(key, tables[key], own.rotation.value, wanted.rotation.value)
        done.append(
            _did(f"{key}.rotation", own.rotation.value, wanted.rotation.value, "columns turned")
        )
    a, b = own.unit, wanted.unit
    if _both(a, b) and not same("unit", a.value, b.value):
        tables[key] = convert.unit(key, tables[key], a.value, b.value, wanted.columns)
        done.append(_did(f"{key}.unit", a.value, b.value, "multiplied by the factor between them"))
    return done


def _did(field: str, before: Any, after: Any, how: str) -> Conversion:
    return Conversion(field=field, before=before, after=after, how=how)


def _contract(mine: Contract, wanted: Contract) -> Contract:
    """What holds after the conversion: the wanted contract, and each robot's own facts."""
    return replace(wanted, **{name: getattr(mine, name) for name in _KEPT})


def _signal(signal: Signal, table: np.ndarray, mine: Contract, wanted: Contract) -> Signal:
    feature = wanted.feature(signal.name)
    own = mine.feature(signal.name)
    unit = signal.unit
    if feature is not None and own is not None and isinstance(feature.unit.value, str):
        unit = feature.unit.value if signal.unit not in ("raw", "1") else signal.unit
    kind = signal.values.dtype if signal.values.dtype.kind == "f" else np.float64
    return replace(
        signal,
        unit=unit,
        columns=feature.columns if feature and signal.columns else signal.columns,
        values=table.astype(kind).reshape(signal.values.shape),
    )


def _table(signal: Signal) -> np.ndarray:
    return np.asarray(signal.values, float).reshape(len(signal.times), -1)
