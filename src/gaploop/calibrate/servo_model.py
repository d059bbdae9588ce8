"""A position-controlled servo that lifts a pendulum, for many candidates and logs at once.

    duty    = clip(firmware gain * P gain * (goal(t - delay) - q), -1, 1)
    tau     = kt / R * (volts * duty - kt * w)            0 with torque switched off
    J w'    = tau - m g l sin(q + offset) - friction      J = m l^2 + armature
    friction <= coulomb + stribeck * s(w) + load terms,   s(w) = exp(-|w| / speed)

The ladder of friction models follows Duclusaud et al., "Extended Friction Models for the
Physics Simulation of Servo Actuators" (arXiv 2410.08650): Coulomb and viscous, Stribeck,
load-dependent, both, and a gear that loses more when the load drives it than when the
motor does.
"""

from collections.abc import Mapping
from typing import Final, Literal

import numpy as np

from gaploop.calibrate.servo_logs import ServoLogs
from gaploop.core import Knob, KnobSpace, Prior, Target

GRAVITY: Final = 9.81
DUTY_PER_TICK: Final = 4096 / (2 * np.pi) / 256 / 885
"""Duty per rad and unit of P gain of a Dynamixel XL330: 4096 steps a turn, gain / 256, 885 units
of PWM. The logged load of the bench's own logs agrees within 0.5 %."""

# name: (gap, unit, prior kind, low, high, nominal, target)
_Spec = tuple[str, str, Literal["uniform", "loguniform"], float, float, float, str]
_KNOBS: Final[Mapping[str, _Spec]] = {
    "torque_constant": ("execution", "N m/A", "loguniform", 0.1, 1.0, 0.4, "motor.kt"),
    "resistance": ("execution", "ohm", "loguniform", 1.0, 15.0, 4.5, "motor.resistance"),
    "armature": ("dynamics", "kg m^2", "loguniform", 2e-4, 6e-3, 1.5e-3, "joint.armature"),
    "angle_offset": ("mechanical", "rad", "uniform", -0.08, 0.08, 0.0, "joint.offset"),
    "coulomb": ("dynamics", "N m", "uniform", 0.0, 0.06, 0.01, "joint.frictionloss"),
    "viscous": ("dynamics", "N m s/rad", "uniform", 0.0, 0.03, 0.005, "joint.damping"),
    "stribeck": ("dynamics", "N m", "uniform", 0.0, 0.08, 0.005, "joint.stribeck"),
    "stribeck_speed": ("dynamics", "rad/s", "loguniform", 0.03, 3.0, 0.3, "joint.stribeck_speed"),
    "load_friction": ("dynamics", "1", "uniform", 0.0, 0.4, 0.15, "gear.load"),
    "load_stribeck": ("dynamics", "1", "uniform", 0.0, 0.4, 0.1, "gear.load_stribeck"),
    "motor_friction": ("dynamics", "1", "uniform", 0.0, 0.6, 0.1, "gear.motor"),
    "external_friction": ("dynamics", "1", "uniform", 0.0, 0.8, 0.2, "gear.external"),
    "motor_stribeck": ("dynamics", "1", "uniform", 0.0, 0.8, 0.1, "gear.motor_stribeck"),
    "external_stribeck": ("dynamics", "1", "uniform", 0.0, 0.8, 0.2, "gear.external_stribeck"),
    "delay": ("execution", "s", "uniform", 0.0, 0.03, 0.005, "command.delay"),
}  # fmt: skip

_BASE = (
    "torque_constant", "resistance", "armature", "angle_offset", "coulomb", "viscous", "delay",
)  # fmt: skip
_STRIBECK = ("stribeck", "stribeck_speed")

LADDER: Final[Mapping[str, tuple[str, ...]]] = {
    "M1": _BASE,
    "M2": (*_BASE, *_STRIBECK),
    "M3": (*_BASE, "load_friction"),
    "M4": (*_BASE, "stribeck_speed", "load_friction", "load_stribeck"),
    "M5": (*_BASE, "motor_friction", "external_friction"),
    "M6": (
        *_BASE, "stribeck_speed", "motor_friction", "external_friction", "motor_stribeck",
        "external_stribeck",
    ),
}  # fmt: skip
"""Rung to its knobs, simplest first. M1 Coulomb and viscous, M2 and Stribeck, M3 load-dependent,
M4 load-dependent with Stribeck, M5 directional, M6 directional with Stribeck; all with delay."""


def servo_space(rung: str) -> KnobSpace:
    """The knobs of one rung with their priors."""
    return KnobSpace(knobs=tuple(_knob(name) for name in LADDER[rung]))


def _knob(name: str) -> Knob:
    gap, unit, kind, low, high, nominal, target = _KNOBS[name]
    return Knob(
        name=name,
        gap=gap,
        unit=unit,
        prior=Prior(kind=kind, low=low, high=high),
        nominal=nominal,
        targets=(Target(path=f"servo:{target}"),),
        source="wide range around published hobby servo models",
    )


def simulate_servo(
    logs: ServoLogs, space: KnobSpace, values: np.ndarray, *, gain: float = DUTY_PER_TICK
) -> np.ndarray:
    """Open-loop rollouts of every log under every candidate, from each log's first sample.

    Semi-implicit Euler at the log's own period; friction is an impulse that can stop the
    joint but not push it.

    Args:
      logs: L logs of T samples.
      space: names of the columns of `values`.
      values: (M, P) candidates in the knobs' units.
      gain: duty per rad of error and unit of P gain.

    Returns:
      (T, M, L) angles in rad.
    """
    at = {n: values[:, i, None] for i, n in enumerate(space.names)}
    zero = np.zeros((len(values), 1))

    def knob(name: str) -> np.ndarray:
        return at.get(name, zero)

    h, frames = logs.dt, len(logs.goal)
    inertia = logs.mass * logs.length**2 + knob("armature")
    weight = logs.mass * GRAVITY * logs.length
    per_volt = knob("torque_constant") / knob("resistance")
    back = per_volt * knob("torque_constant")
    coulomb, viscous = knob("coulomb"), 1.0 / (1.0 + h * knob("viscous") / inertia)
    stribeck, slow = knob("stribeck"), -1.0 / np.maximum(at.get("stribeck_speed", zero + 1.0), 1e-9)
    offset, scale = knob("angle_offset"), h / inertia
    # M3, M4 are M5, M6 with the same loss either way, on the torque through the gear
    through, through_s = knob("load_friction"), knob("load_stribeck")
    motor, motor_s = knob("motor_friction"), knob("motor_stribeck")
    outer, outer_s = knob("external_friction"), knob("external_stribeck")
    sticky = any(n in at for n in ("stribeck", "load_stribeck", "motor_stribeck"))
    directional = "motor_friction" in at
    loaded = "load_friction" in at

    whole, part = _delay(knob("delay"), h)
    column = np.arange(len(logs))[None, :]
    stiffness = gain * logs.gain
    q = np.repeat(logs.position[:1], len(values), axis=0)
    w = np.repeat(logs.start_speed[None, :], len(values), axis=0)
    out = np.empty((frames, *q.shape))
    for t in range(frames):
        out[t] = q
        near = logs.goal[np.maximum(t - whole, 0), column]
        goal = near + part * (logs.goal[np.maximum(t - whole - 1, 0), column] - near)
        duty = np.clip((goal - q) * stiffness, -1.0, 1.0)
        drive = (per_volt * logs.volts[t] * duty - back * w) * logs.on[t]
        pull = -weight * np.sin(q + offset)
        limit = coulomb
        if sticky:
            s = np.exp(np.abs(w) * slow)
            limit = limit + stribeck * s
            if loaded:
                limit = limit + (through + through_s * s) * np.abs(drive - pull)
            if directional:
                limit = limit + (motor + motor_s * s) * np.abs(drive)
                limit = limit + (outer + outer_s * s) * np.abs(pull)
        elif loaded:
            limit = limit + through * np.abs(drive - pull)
        elif directional:
            limit = limit + motor * np.abs(drive) + outer * np.abs(pull)
        free = w + scale * (drive + pull)
        w = np.copysign(np.maximum(np.abs(free) - scale * limit, 0.0), free) * viscous
        q = q + h * w
    return out


def _delay(seconds: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Whole frames and the rest of a delay, (M, 1) each."""
    frames = seconds / h
    whole = np.floor(frames).astype(int)
    return whole, frames - whole
