"""A position-controlled gantry with three linear axes.

Joint zero is home on every axis, so a command of zero, a history of zeros and
the start of an attempt agree. z points up: pushing down is negative.
"""

from dataclasses import dataclass

from gaploop.core import Contract, Feature, Knob, Prior, Target, declared

AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gantry:
    """Geometry, masses and servos; all SI."""

    stiffness: float = 4000.0
    """Servo P gain, N/m, on every axis."""
    damping: float = 190.0
    """Servo D gain, N s/m."""
    force: float = 10.0
    """Largest servo force, N."""
    masses: tuple[float, float, float] = (0.35, 0.25, 0.3)
    """Moving mass each axis adds, kg: x carries y carries z."""
    reach: float = 0.06
    """Half of the travel in x and y, m."""
    stroke: float = 0.08
    """Travel below home in z, m."""

    def body(self, tool: str, *, height: float) -> str:
        """MJCF of the axes; `tool` hangs on z, its origin `height` above the world's.

        One body on three joints: what only x or y moves is inertia of that joint,
        the same motion as with three bodies at a lower cost. The axes are balanced;
        the model's gravity is what a tilt adds, zero for a level machine.
        """
        (mx, my, mz), reach = self.masses, self.reach
        # MuJoCo's dry friction creeps unless it is nearly rigid; a rail's does not
        dry = 'limited="true" solreffriction="0.0125 1" solimpfriction="0.9999 0.9999 0.001"'
        side = f'range="{-reach} {reach}" {dry}'
        return f"""
    <body name="gantry" pos="0 0 {height}">
      <inertial pos="0 0 0" mass="{mz}" diaginertia="1e-3 1e-3 1e-3"/>
      <joint name="x" type="slide" axis="1 0 0" {side} armature="{mx + my:g}"/>
      <joint name="y" type="slide" axis="0 1 0" {side} armature="{my:g}"/>
      <joint name="z" type="slide" axis="0 0 1" range="{-self.stroke} 0.01" {dry}/>
      {tool}
    </body>"""

    def actuators(self) -> str:
        """MJCF of the three position servos, named as their joints."""
        return "\n".join(
            f'<position name="{a}" joint="{a}" kp="{self.stiffness}" kv="{self.damping}"'
            f' forcerange="{-self.force} {self.force}"/>'
            for a in AXES
        )

    def limits(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """(low, high) of the three commands, m."""
        return (-self.reach, -self.reach, -self.stroke), (self.reach, self.reach, 0.01)

    # fmt: off
    def knobs(self) -> tuple[Knob, ...]:
        """How commands are executed, and where this unit's zeros are."""
        kp = [t for a in AXES for t in (
            Target(path=f"actuator:{a}.gainprm[0]"),
            Target(path=f"actuator:{a}.biasprm[1]", scale=-1.0),
        )]  # fmt: skip
        return (
            Knob(
                name="delay", gap="execution", unit="s", nominal=0.02,
                prior=Prior(low=0.0, high=0.1), targets=(Target(path="action:delay"),),
                source="fieldbus and drive latencies of industrial gantries",
            ),
            Knob(
                name="gain", gap="execution", unit="1", nominal=1.0,
                prior=Prior(low=0.85, high=1.15), targets=(Target(path="action:gain"),),
                source="belt pitch and counts-per-metre errors",
            ),
            Knob(
                name="stiffness", gap="execution", unit="N/m", nominal=self.stiffness,
                targets=tuple(kp),
                prior=Prior(
                    kind="loguniform", low=0.5 * self.stiffness, high=1.8 * self.stiffness
                ),
                source="servo tuning range",
            ),
            self._zero("x", 0), self._zero("y", 1),
        )  # fmt: skip

    def _zero(self, axis: str, column: int) -> Knob:
        """A joint zero that is off: the encoder reads too much, the servo goes too short."""
        return Knob(
            name=f"zero_{axis}", gap="mechanical", unit="m", nominal=0.0,
            prior=Prior(kind="normal", low=-5e-3, high=5e-3, mean=0.0, sd=1.5e-3),
            targets=(
                Target(path=f"sensor:q.bias[{column}]"),
                Target(path=f"action:offset[{column}]", scale=-1.0),
            ),
            source="homing by hand against a stop",
        )  # fmt: skip

    def contract(self, *extra: Feature, rate: float) -> Contract:
        """What this robot's numbers mean; `extra` features belong to the task."""
        columns = AXES
        return Contract(
            features=(
                Feature(
                    key="observation.state", columns=columns, role=declared("joint_position"),
                    unit=declared("m"), frame=declared("home"), observable=declared(True),
                ),
                *extra,
                Feature(
                    key="action", columns=columns, role=declared("joint_command"),
                    unit=declared("m"), frame=declared("home"), observable=declared(True),
                ),
            ),
            action_space=declared("joint"), action_mode=declared("absolute"),
            action_reference=declared("home"), log_rate=declared(rate),
            control_rate=declared(rate), clock=declared("seconds from the start of the episode"),
        )  # fmt: skip
