"""A position-controlled planar pusher: two linear axes and a round tip.

Joint zero is home on both axes, so a command of zero, a history of zeros and the
start of an attempt agree. x points over the table, y across it.
"""

from dataclasses import dataclass

from gaploop.core import Contract, Feature, Knob
from gaploop.robots.axes import execution_knobs, joint_contract, zero_knob

AXES = ("x", "y")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pusher:
    """Geometry, masses and servos; all SI."""

    stiffness: float = 4000.0
    """Servo P gain, N/m, on both axes."""
    damping: float = 110.0
    """Servo D gain, N s/m."""
    force: float = 30.0
    """Largest servo force, N."""
    masses: tuple[float, float] = (0.2, 0.6)
    """Moving mass each axis adds, kg: x carries y."""
    reach: tuple[float, float] = (0.25, 0.12)
    """Half of the travel in x and y, m."""
    smoothing: float = 0.02
    """Time constant of the drives' set-point filter, s: steps of 20 ms become a motion."""
    radius: float = 0.025
    """Of the tip, m."""

    def body(self, *, height: float) -> str:
        """MJCF of the axes and the tip, its centre `height` above the table.

        One body on two joints: what x alone moves is inertia of its joint. MuJoCo's
        dry friction creeps unless it is nearly rigid; a rail's does not.
        """
        (mx, my), (rx, ry) = self.masses, self.reach
        dry = 'limited="true" solreffriction="0.01 1" solimpfriction="0.9999 0.9999 0.001"'
        return f"""
    <body name="pusher" pos="0 0 {height}">
      <inertial pos="0 0 0" mass="{my}" diaginertia="1e-3 1e-3 1e-3"/>
      <joint name="x" type="slide" axis="1 0 0" range="{-rx} {rx}" {dry} armature="{mx}"/>
      <joint name="y" type="slide" axis="0 1 0" range="{-ry} {ry}" {dry}/>
      <geom name="tip" type="sphere" size="{self.radius}"/>
      <site name="tip" type="sphere" size="{1.2 * self.radius}"/>
    </body>"""

    def actuators(self) -> str:
        """MJCF of the two position servos, named as their joints."""
        return "\n".join(
            f'<position name="{a}" joint="{a}" kp="{self.stiffness}" kv="{self.damping}"'
            f' timeconst="{self.smoothing}" forcerange="{-self.force} {self.force}"/>'
            for a in AXES
        )

    def limits(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """(low, high) of the two commands, m."""
        return tuple(-r for r in self.reach), self.reach

    def knobs(self) -> tuple[Knob, ...]:
        """How commands are executed, and where this unit's zeros are."""
        execution = execution_knobs(
            AXES, self.stiffness, delay=0.01, latest=0.06, softest=0.6, stiffest=1.7
        )
        return (*execution, *(zero_knob(a, i, most=12e-3, sd=5e-3) for i, a in enumerate("xy")))

    def contract(self, *extra: Feature, rate: float) -> Contract:
        """What this robot's numbers mean; `extra` features belong to the task."""
        return joint_contract(AXES, *extra, rate=rate)
