"""A position-controlled gantry with three linear axes.

Joint zero is home on every axis, so a command of zero, a history of zeros and
the start of an attempt agree. z points up: pushing down is negative.
"""

from dataclasses import dataclass

from gaploop.core import Contract, Feature, Knob
from gaploop.robots.axes import execution_knobs, joint_contract, zero_knob

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

    def knobs(self) -> tuple[Knob, ...]:
        """How commands are executed, and where this unit's zeros are."""
        execution = execution_knobs(
            AXES, self.stiffness, delay=0.02, latest=0.1, softest=0.5, stiffest=1.8
        )
        return (*execution, *(zero_knob(a, i, most=5e-3, sd=1.5e-3) for i, a in enumerate("xy")))

    def contract(self, *extra: Feature, rate: float) -> Contract:
        """What this robot's numbers mean; `extra` features belong to the task."""
        return joint_contract(AXES, *extra, rate=rate)
