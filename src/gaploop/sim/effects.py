"""Effects that change during an attempt, written into the batch once a control step.

They are what stand-in worlds have and a fitted model lacks.
"""

import numpy as np
from mujoco.batch import Batch

from gaploop.core import KnobError, TaskSpec
from gaploop.sim.binding import resolve
from gaploop.sim.mj import MjModel, mj
from gaploop.sim.settings import EFFECTS, Settings


class Effects:
    """The time-varying effects of one run; does nothing where all are neutral."""

    def __init__(
        self, settings: Settings, batch: Batch, spec: TaskSpec, bound: tuple[str, ...]
    ) -> None:
        """bound names the model fields the knobs write, which the effects build on."""
        self._get = {
            (e, f): settings.values.get(("effect", e, f)) for e in EFFECTS for f in EFFECTS[e]
        }
        self._on = {
            "stribeck": any(settings.active("effect", "stribeck", f) is not None
                            for f in ("coulomb", "static")),
            "push": settings.active("effect", "push", "force") is not None,
            "nudge": settings.active("effect", "nudge", "shift") is not None,
        }  # fmt: skip
        if not self.on:
            return
        self._batch, self._dofs = batch, command_dofs(batch.model, spec)
        self._places = _places(batch, spec) if self._on["nudge"] else []
        self._dt = spec.control_dt
        self._friction = batch.expand("dof_frictionloss")
        if "dof_frictionloss" not in bound:
            self._friction[:] = batch.model.dof_frictionloss
        self._base = self._friction[:, self._dofs].copy()

    @property
    def on(self) -> bool:
        return any(self._on.values())

    def step(self, t: float) -> None:
        """Write the effects for the control step that starts at t seconds."""
        if self._on["stribeck"]:
            coulomb, static = self._of("stribeck", "coulomb"), self._of("stribeck", "static")
            speed = self._of("stribeck", "speed")
            v = self._batch.bind("qvel")[:, self._dofs]
            level = coulomb + np.maximum(static - coulomb, 0.0) * np.exp(-np.square(v / speed))
            self._friction[:, self._dofs] = self._base + level
        if self._on["push"]:
            start, length = self._of("push", "start"), self._of("push", "length")
            now = (t >= start) & (t < start + length)
            self._batch.bind("qfrc_applied")[:, self._dofs] = now * self._of("push", "force")
        if self._on["nudge"]:
            start = np.broadcast_to(self._of("nudge", "start"), (self._batch.nsim, 1))
            # the step in which it falls; half a period of slack for rounding
            now = (start > t - 0.5 * self._dt) & (start <= t + 0.5 * self._dt)
            shift = np.where(now, self._of("nudge", "shift"), 0.0)
            for column, field, at in self._places:
                self._batch.bind(field).reshape(self._batch.nsim, -1)[:, at] += shift[:, column]

    def _of(self, effect: str, field: str) -> np.ndarray | float:
        value = self._get[effect, field]
        return EFFECTS[effect][field].neutral if value is None else value

    def __enter__(self) -> "Effects":
        return self

    def __exit__(self, *_: object) -> None:
        # put back what was written into a field that survives a reset
        if self.on:
            self._friction[:, self._dofs] = self._base


def _places(batch: Batch, spec: TaskSpec) -> list[tuple[int, str, int]]:
    """(layout column, state field, flat index) of what a nudge can move."""
    found = []
    for column, variable in enumerate(spec.layout):
        for target in variable.targets:
            slot = resolve(batch.model, spec, target, variable.name)
            if slot.source == "state" and not slot.yaw:
                width = batch.bind(slot.field)[0].shape[-1]
                row = slot.row * width if batch.bind(slot.field).ndim == 3 else 0
                found += [(column, slot.field, row + i) for i in slot.columns]
    return found


def command_dofs(model: MjModel, spec: TaskSpec) -> np.ndarray:
    """(a,) degree of freedom behind each command; KnobError where there is none."""
    dofs = []
    for name in spec.command:
        actuator = model.actuator(name)
        joint = int(actuator.trnid[0])
        if int(model.actuator_trntype[actuator.id]) != mj.mjtTrn.mjTRN_JOINT:
            raise KnobError(f"Actuator {name!r} drives no single joint, so joint effects fail.")
        dofs.append(int(model.jnt_dofadr[joint]))
    return np.array(dofs)
