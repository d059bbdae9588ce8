"""Knobs and layout variables bound to the arrays they write.

Target strings are resolved once, when a world is made; a set-up then writes
arrays. Every bound field is rewritten at every set-up, because expanded model
fields survive a reset of the batch.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from mujoco.batch import MODEL_FIELDS, Batch

from gaploop.core import (
    Attempts,
    KnobError,
    KnobSpace,
    LayoutVariable,
    Target,
    TaskSpec,
    UnknownNameError,
)
from gaploop.sim.mj import MjModel, mj
from gaploop.sim.settings import ACTION, EFFECTS, SENSOR, Key, Settings, declaration

_OBJECTS: Final = {
    "body": ("body_",),
    "geom": ("geom_",),
    "site": ("site_",),
    "joint": ("jnt_", "dof_"),
    "actuator": ("actuator_",),
    "pair": ("pair_",),
    "tendon": ("tendon_",),
    "equality": ("eq_",),
    "camera": ("cam_",),
    "light": ("light_",),
}
"""Kind of a target to the prefixes of its model fields."""

_POSITIVE: Final = frozenset({"body_mass", "body_inertia", "geom_size"})
_NOT_NEGATIVE: Final = frozenset(
    (
        *("pair_friction", "geom_friction", "dof_damping", "dof_armature", "dof_frictionloss"),
        *("jnt_stiffness", "tendon_stiffness", "tendon_damping", "tendon_frictionloss"),
        *("actuator_armature", "actuator_damping"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where a target points: an array of the batch or of the settings, and its elements."""

    source: Literal["model", "state", "setting"]
    field: str
    """Model field, state field, or the setting's name."""
    row: int = 0
    """Row of the field; not used by settings."""
    columns: tuple[int, ...] = ()
    """Elements of the flattened row; empty for all."""
    key: Key = ("", "", "")
    yaw: bool = False
    """The value is an angle about z that becomes a quaternion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    owner: str
    column: int
    layout: bool
    target: Target
    slot: Slot


class Binding:
    """The writes of one world, in order: layout, then knobs."""

    def __init__(self, model: MjModel, spec: TaskSpec, space: KnobSpace) -> None:
        self._model, self._spec, self._space = model, spec, space
        self._writes = [
            _Write(owner=v.name, column=i, layout=isinstance(v, LayoutVariable), target=t, slot=s)
            for group in (spec.layout, space.knobs)
            for i, v in enumerate(group)
            for t, s in ((t, resolve(model, spec, t, v.name)) for t in v.targets)
        ]
        self.fields = sorted({w.slot.field for w in self._writes if w.slot.source == "model"})
        self._needs_const = any(
            f in mj.MjModel._setconst_inputs or f.startswith("opt.") for f in self.fields
        )
        self._keys = {w.slot.key for w in self._writes if w.slot.source == "setting"}

    def setting(self, kind: str) -> bool:
        """Whether any knob sets something of this kind (`action`, `sensor`, `effect`)."""
        return any(key[0] == kind for key in self._keys)

    def apply(self, batch: Batch, attempts: Attempts) -> Settings:
        """Write the start and the knobs of every attempt; return the pipelines' settings.

        Raises:
          KnobError: shapes that do not fit, values that are not finite or that
            the model cannot carry.
        """
        self._check_shapes(attempts)
        batch.reset(stage=mj.mjtStage.mjSTAGE_NONE.value)
        for field in self.fields:
            batch.expand(field)[:] = _base(self._model, field)
        n = len(attempts)
        settings = Settings(n, {key: self._neutral(key, n) for key in self._keys})
        for write in self._writes:
            values = (attempts.layout if write.layout else attempts.knobs)[:, write.column]
            self._write(batch, settings, write, values)
        for key in self._keys:
            settings.check(key)
        settings.check_delays()
        if self._needs_const:
            batch.set_const()
        return settings

    def _neutral(self, key: Key, n: int) -> np.ndarray:
        setting = declaration(key)
        return np.full((n, 1 if setting.scalar else _width(self._spec, key)), setting.neutral)

    def _write(self, batch: Batch, settings: Settings, write: _Write, values: np.ndarray) -> None:
        target, slot = write.target, write.slot
        if slot.yaw:
            half = 0.5 * target.scale * values
            quat = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
            batch.bind(slot.field)[:, slot.row] = quat
            return
        if slot.source == "setting":
            view = settings.values[slot.key]
        elif slot.source == "state":
            view = batch.bind(slot.field)
            view = view[:, slot.row] if view.ndim == 3 else view
        else:
            whole = batch.expand(slot.field)
            view = whole if slot.field.startswith("opt.") else whole[:, slot.row]
            view = view.reshape(len(whole), -1)
        columns = list(slot.columns) or slice(None)
        change = (target.scale * values)[:, None]
        if target.op == "set":
            view[:, columns] = change
        elif target.op == "add":
            view[:, columns] += change
        else:
            view[:, columns] *= change
        if slot.field in _POSITIVE | _NOT_NEGATIVE:
            self._check_sign(write, view[:, columns])

    def _check_sign(self, write: _Write, written: np.ndarray) -> None:
        strict = write.slot.field in _POSITIVE
        bad = written <= 0 if strict else written < 0
        if bad.any():
            raise KnobError(
                f"{write.owner!r} would set {write.target.path} to {written[bad][0]:g}.",
                hint=f"Expected a value {'above' if strict else 'of at least'} 0.",
            )

    def _check_shapes(self, attempts: Attempts) -> None:
        n = len(attempts)
        for what, array, names in (
            ("layout", attempts.layout, [v.name for v in self._spec.layout]),
            ("knobs", attempts.knobs, list(self._space.names)),
        ):
            if array.shape != (n, len(names)):
                raise KnobError(
                    f"The {what} of {n} attempts has shape {array.shape}.",
                    hint=f"Expected ({n}, {len(names)}): {', '.join(names)}.",
                )
            if not np.isfinite(array).all():
                row, column = np.argwhere(~np.isfinite(array))[0]
                raise KnobError(
                    f"{names[column]!r} of attempt {row} is {array[row, column]}.",
                    hint="Expected a finite number.",
                )


def resolve(model: MjModel, spec: TaskSpec, target: Target, owner: str) -> Slot:
    """The slot a target of the knob or layout variable `owner` points to.

    Raises:
      KnobError: a path that cannot be written, or an object, field, channel or
        setting that is not there; lists those that are.
    """
    try:
        return _resolve(model, spec, target)
    except UnknownNameError as error:
        raise KnobError(f"{owner!r} cannot be bound to {target.path}: {error}") from error


def _resolve(model: MjModel, spec: TaskSpec, target: Target) -> Slot:
    kind, name, field, index = target.parts()
    if kind in ("action", "sensor", "effect"):
        return _setting(spec, kind, name, field, index)
    if kind == "opt":
        full = f"opt.{name}"
        if full not in MODEL_FIELDS:
            raise UnknownNameError("option", name, _options())
        return Slot(source="model", field=full, columns=_columns(_base(model, full), index, target))
    if kind in ("qpos", "qvel"):
        joint = object_id(model, "joint", name)
        start = int((model.jnt_qposadr if kind == "qpos" else model.jnt_dofadr)[joint])
        return Slot(source="state", field=kind, columns=(start + (index or 0),))
    if kind == "mocap":
        return _mocap(model, name, field, index, target)
    if kind not in _OBJECTS:
        known = [*_OBJECTS, "opt", "qpos", "qvel", "mocap", "action", "sensor", "effect"]
        raise UnknownNameError("target kind", kind, known)
    return _model_field(model, kind, name, field, index, target)


def _model_field(
    model: MjModel, kind: str, name: str, field: str, index: int | None, target: Target
) -> Slot:
    row = object_id(model, kind, name)
    for prefix in _OBJECTS[kind]:
        full = prefix + field
        if full not in MODEL_FIELDS:
            continue
        at = int(model.jnt_dofadr[row]) if prefix == "dof_" else row
        values = getattr(model, full)
        return Slot(source="model", field=full, row=at, columns=_columns(values[at], index, target))
    known = {f.removeprefix(p) for p in _OBJECTS[kind] for f in MODEL_FIELDS if f.startswith(p)}
    raise UnknownNameError(f"{kind} field", field, known)


def _mocap(model: MjModel, name: str, field: str, index: int | None, target: Target) -> Slot:
    row = int(model.body_mocapid[object_id(model, "body", name)])
    if row < 0:
        raise KnobError(f"Body {name!r} is no mocap body, so {target.path} cannot be written.")
    if field == "yaw":
        if target.op != "set":
            raise KnobError(f"{target.path} can only be set, not changed.")
        return Slot(source="state", field="mocap_quat", row=row, yaw=True)
    if field not in ("pos", "quat"):
        raise UnknownNameError("mocap field", field, ("pos", "quat", "yaw"))
    size = np.zeros(3 if field == "pos" else 4)
    return Slot(
        source="state", field=f"mocap_{field}", row=row, columns=_columns(size, index, target)
    )


def _setting(spec: TaskSpec, kind: str, name: str, field: str, index: int | None) -> Slot:
    if kind == "action":
        owner, field, table = "", name, ACTION
    elif kind == "sensor":
        owner, table = name, SENSOR
        if name not in [c.name for c in spec.observed]:
            raise UnknownNameError("observed channel", name, [c.name for c in spec.observed])
    else:
        owner = name
        if name not in EFFECTS:
            raise UnknownNameError("effect", name, EFFECTS)
        table = EFFECTS[name]
    if field not in table:
        raise UnknownNameError(f"{kind} setting", field, table)
    key = (kind, owner, field)
    width = 1 if table[field].scalar else _width(spec, key)
    if index is not None and index >= width:
        raise KnobError(f"{kind}:{owner or field} has {width} columns, there is no [{index}].")
    columns = () if index is None else (index,)
    return Slot(source="setting", field=field, key=key, columns=columns)


def _width(spec: TaskSpec, key: Key) -> int:
    if key[0] == "sensor":
        return next(len(c.columns) for c in spec.channels if c.name == key[1])
    if key == ("effect", "nudge", "shift"):
        return len(spec.layout)
    return len(spec.command)


def object_id(model: MjModel, kind: str, name: str) -> int:
    """Id of a named object; the error lists those that exist."""
    kinds = {"joint": "JOINT", "equality": "EQUALITY"}
    code = getattr(mj.mjtObj, f"mjOBJ_{kinds.get(kind, kind.upper())}")
    found = mj.mj_name2id(model, code, name)
    if found < 0:
        counts = {"joint": "njnt", "camera": "ncam", "equality": "neq", "actuator": "nu"}
        count = getattr(model, counts.get(kind, f"n{kind}"))
        names = [mj.mj_id2name(model, code, i) for i in range(count)]
        raise UnknownNameError(kind, name, [n for n in names if n])
    return found


def _columns(values: np.ndarray, index: int | None, target: Target) -> tuple[int, ...]:
    size = int(np.size(values))
    if index is None:
        return tuple(range(size))
    if index >= size:
        raise KnobError(f"{target.path} has {size} elements, there is no [{index}].")
    return (index,)


def _base(model: MjModel, field: str) -> np.ndarray:
    if field.startswith("opt."):
        return np.asarray(getattr(model.opt, field[4:]))
    return getattr(model, field)


def _options() -> list[str]:
    return [f[4:] for f in MODEL_FIELDS if f.startswith("opt.")]
