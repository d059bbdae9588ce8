"""A puck is struck once and must come to rest at a goal out of the pusher's reach.

The distance it slides is v^2 / (2 mu g): speed is all that decides, and nothing can
be corrected after release, because the pusher may not pass a line. Neither the
friction nor a bias of the puck's pose shows in what a policy sees before it strikes.

All SI. The puck slides without turning: one sphere on the table and against the tip,
which is the cheapest contact there is.
"""

from dataclasses import dataclass, field

import numpy as np

from gaploop.core import (
    Channel,
    Feature,
    Judgement,
    Knob,
    KnobSpace,
    LayoutVariable,
    Prior,
    Recording,
    Target,
    TaskSpec,
    declared,
)
from gaploop.core.protocols import Controller
from gaploop.robots.pusher import AXES, Pusher

RADIUS = 0.035
"""Of the puck, m."""
TOLERANCE = 0.035
"""Largest distance from the goal, m."""
LINE = 0.18
"""The tip's centre may not pass this x, m."""
STILL = 0.01
"""Speed below which the puck rests, m/s."""
HOLD = 5
"""Control steps that the puck must rest at the goal, to the end."""
TOUCH = 0.05
"""Contact force that counts as touch, N."""

SOFT = 'solref="0.02 1" solimp="0.2 0.95 0.005"'
"""The tip is soft: a hard blow would depend on where in a physics step it falls."""

LEAD, WIDTH, BUMP = 3, 5.0, 8.0
"""Frames by which a command is ahead of what it causes, width of the swing in frames, weight."""

STAGES = ("approach", "strike", "release", "slide", "rest")


@dataclass(frozen=True, slots=True)
class Slide:
    """The task. The goal lies 26 to 38 cm from the puck; 100 steps at 50 Hz."""

    robot: Pusher = field(default_factory=Pusher)

    @property
    def spec(self) -> TaskSpec:
        low, high = self.robot.limits()
        return TaskSpec(
            name="slide",
            robot="pusher",
            instruction="Strike the puck so that it comes to rest at the goal.",
            control_dt=0.02,
            horizon=100,
            channels=_channels(),
            command=AXES,
            command_unit="m",
            command_low=low,
            command_high=high,
            layout=(
                _start("puck_x", 0.07, 0.09, "qpos:puck_x"),
                _start("puck_y", -0.025, 0.025, "qpos:puck_y"),
                _start("goal_x", 0.355, 0.44, "mocap:goal.pos[0]"),
                _start("goal_y", -0.04, 0.04, "mocap:goal.pos[1]"),
            ),
            knobs=KnobSpace(knobs=(*_table_knobs(), *self.robot.knobs(), *_pose_knobs())),
            stages=STAGES,
            contract=self.robot.contract(
                _feature("observation.environment_state", ("puck_x", "puck_y"), "object_pose"),
                _feature("observation.goal", ("goal_x", "goal_y"), "goal"),
                rate=50.0,
            ),
        )

    def mjcf(self) -> str:
        return f"""
<mujoco model="slide">
  <option timestep="0.005" integrator="implicitfast" cone="elliptic" iterations="10"
    ls_iterations="10"/>
  <size memory="1M"/>
  <default>
    <geom contype="0" conaffinity="0"/>
    <pair condim="3" solref="0.01 1" solimp="0.95 0.99 0.0005"/>
  </default>
  <worldbody>
    <geom name="table" type="plane" size="1 1 0.1"/>
    <body name="goal" mocap="true" pos="0.4 0 0"><site name="goal" size="0.005"/></body>
    <body name="puck" pos="0 0 {RADIUS}">
      <inertial pos="0 0 0" mass="0.2" diaginertia="1e-4 1e-4 1e-4"/>
      <joint name="puck_x" type="slide" axis="1 0 0"/>
      <joint name="puck_y" type="slide" axis="0 1 0"/>
      <joint name="puck_z" type="slide" axis="0 0 1"/>
      <geom name="puck" type="sphere" size="{RADIUS}"/>
      <site name="puck" size="0.005"/>
    </body>
    {self.robot.body(height=RADIUS)}
  </worldbody>
  <contact>
    <pair name="table" geom1="table" geom2="puck" friction="0.13 0.13 0 0 0"/>
    <pair name="strike" geom1="tip" geom2="puck" friction="0.06 0.06 0 0 0" {SOFT}/>
  </contact>
  <actuator>{self.robot.actuators()}</actuator>
  <sensor><touch name="touch" site="tip"/></sensor>
</mujoco>"""

    def judge(self, recording: Recording) -> Judgement:
        return _judge(recording)

    def expert(self) -> Controller:
        from gaploop.tasks.experts.slide import SlideExpert

        return SlideExpert(self.spec, reach=RADIUS + self.robot.radius)


def _start(name: str, low: float, high: float, path: str) -> LayoutVariable:
    return LayoutVariable(name=name, unit="m", low=low, high=high, targets=(Target(path=path),))


def _feature(key: str, columns: tuple[str, ...], role: str) -> Feature:
    return Feature(
        key=key, columns=columns, role=declared(role), unit=declared("m"),
        frame=declared("home"), observable=declared(True),
    )  # fmt: skip


def _channels() -> tuple[Channel, ...]:
    return (
        Channel(
            name="q", key="observation.state", columns=AXES, unit="m",
            reads=tuple(f"qpos:{a}" for a in AXES),
        ),
        Channel(
            name="puck", key="observation.environment_state", columns=("puck_x", "puck_y"),
            unit="m", reads=("qpos:puck_x", "qpos:puck_y"),
        ),
        Channel(
            name="goal", key="observation.goal", columns=("goal_x", "goal_y"), unit="m",
            reads=("mocap:goal.pos[0]", "mocap:goal.pos[1]"),
        ),
        Channel(
            name="speed", key="truth.speed", columns=("puck_vx", "puck_vy"), unit="m/s",
            observed=False, reads=("qvel:puck_x", "qvel:puck_y"),
        ),
        Channel(
            name="places", key="truth.places", unit="m", observed=False,
            columns=tuple(f"{b}_{a}" for b in ("puck", "goal", "tip") for a in "xy"),
            reads=tuple(f"site:{b}.pos[{i}]" for b in ("puck", "goal", "tip") for i in (0, 1)),
        ),
        Channel(
            name="touch", key="truth.touch", unit="N", observed=False, columns=("force",),
            reads=("sensor:touch",),
        ),
    )  # fmt: skip


def _table_knobs() -> tuple[Knob, ...]:
    return (
        Knob(
            # the strike that is right for the prior's mean is right for hardly any table
            name="puck_friction", gap="dynamics", unit="1", nominal=0.13,
            prior=Prior(kind="loguniform", low=0.08, high=0.36),
            targets=tuple(Target(path=f"pair:table.friction[{i}]") for i in (0, 1)),
            source="plastic on laminate, polished to dusty",
        ),
        Knob(
            name="puck_mass", gap="dynamics", unit="kg", nominal=0.2,
            prior=Prior(low=0.12, high=0.3), targets=(Target(path="body:puck.mass"),),
            source="a scale was not at hand",
        ),
        Knob(
            # a tip that grips pulls the puck along, and an aim that is off costs nothing
            name="tip_friction", gap="dynamics", unit="1", nominal=0.06,
            prior=Prior(kind="loguniform", low=0.02, high=0.2),
            targets=tuple(Target(path=f"pair:strike.friction[{i}]") for i in (0, 1)),
            source="PTFE and acetal on plastic",
        ),
    )  # fmt: skip


def _pose_knobs() -> tuple[Knob, ...]:
    return (
        *(
            Knob(
                name=f"puck_bias_{a}", gap="sensor", unit="m", nominal=0.0,
                prior=Prior(low=-15e-3, high=15e-3),
                targets=(Target(path=f"sensor:puck.bias[{i}]"),),
                source="a fixed camera over the table, calibrated once",
            )
            for i, a in enumerate("xy")
        ),
        Knob(
            name="puck_latency", gap="sensor", unit="s", nominal=0.02,
            prior=Prior(low=0.0, high=0.1), targets=(Target(path="sensor:puck.latency"),),
            source="exposure, transfer and detection of a camera",
        ),
        Knob(
            name="puck_noise", gap="sensor", unit="m", nominal=0.3e-3,
            prior=Prior(low=0.1e-3, high=1.2e-3), targets=(Target(path="sensor:puck.noise"),),
            source="repeatability of a marker pose",
        ),
        Knob(
            name="puck_rolls_in", gap="task", unit="m/s", nominal=0.0,
            prior=Prior(low=-0.08, high=0.08), targets=(Target(path="qvel:puck_y"),),
            source="how gently people put it down",
        ),
    )  # fmt: skip


def _judge(recording: Recording) -> Judgement:
    """At rest near the goal, never past the line; the second check asks sites and force."""
    puck, goal = recording.truth["puck"], recording.truth["goal"]
    speed = np.linalg.norm(recording.truth["speed"], axis=2)
    tip, force = recording.truth["q"], recording.truth["touch"][:, :, 0]
    ok = ~recording.void
    miss = np.linalg.norm(puck - goal, axis=2)
    crossed = np.any(tip[:, :, 0] > LINE, axis=0)
    still = speed < STILL
    rested = still[-HOLD:].all(axis=0)
    near = miss[-HOLD:].max(axis=0)
    held = rested & (near < TOLERANCE) & ~crossed & ok
    touching = force > TOUCH
    hit = np.any(touching, axis=0)
    first = np.where(hit, touching.argmax(axis=0), len(force) - 1)
    last = np.where(hit, len(force) - 1 - touching[::-1].argmax(axis=0), len(force) - 1)
    away = np.linalg.norm(puck - puck[0], axis=2)
    released = hit & (away[-1] > 0.02) & ~touching[-HOLD:].any(axis=0)
    close = np.linalg.norm(tip - puck, axis=2).min(axis=0) < 2 * RADIUS
    reached = np.stack([close | hit, hit, released, released & rested, held])
    stage = np.cumprod(reached, axis=0).sum(axis=0) - 1
    over = np.where(crossed, (tip[:, :, 0] > LINE).argmax(axis=0), len(force) - 1)
    # after release it is decided; without a strike only the end is sure
    onset = np.where(crossed, np.minimum(over, last), last) * recording.dt
    return Judgement(
        success=held,
        second=_second(recording) & ok,
        stage=stage,
        margin=np.where(crossed, -np.abs(TOLERANCE - near), TOLERANCE - near)
        - np.where(rested, 0.0, TOLERANCE),
        onset=np.where(held, np.nan, onset),
        weights=_weights(first, hit, recording.steps),
        tags=_tags(recording, puck[-1], goal[-1], puck[0], held, hit, crossed, rested),
        extra={
            "miss": near,
            "release_speed": speed.max(axis=0),
            "peak_force": force.max(axis=0),
        },
    )


def _second(recording: Recording) -> np.ndarray:
    """(N,) whether the puck was struck and lies still at the goal, from sites and force alone.

    No joint, no velocity: stillness is what the site moved in the last steps.
    """
    places = recording.truth["places"]
    puck, goal, tip = places[:, :, 0:2], places[:, :, 2:4], places[:, :, 4:6]
    moved = np.linalg.norm(puck[-1] - puck[-HOLD], axis=1)
    there = np.linalg.norm(puck[-1] - goal[-1], axis=1) < TOLERANCE + 1e-3
    struck = recording.truth["touch"].max(axis=(0, 2)) > TOUCH
    kept = tip[:, :, 0].max(axis=0) < LINE + 1e-3
    return there & struck & kept & (moved < 1.5 * STILL * HOLD * recording.dt)


def _tags(
    recording: Recording,
    end: np.ndarray,
    goal: np.ndarray,
    start: np.ndarray,
    held: np.ndarray,
    hit: np.ndarray,
    crossed: np.ndarray,
    rested: np.ndarray,
) -> tuple[str, ...]:
    """(N,) words: where the puck came to lie, seen along the line from its start to the goal."""
    along = goal - start
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    off = end - goal
    ahead = (off * along).sum(axis=1)
    left = along[:, 0] * off[:, 1] - along[:, 1] * off[:, 0]
    sideways = np.abs(left) > np.abs(ahead)
    tags = np.select(
        [recording.void, held, ~hit, crossed, ~rested, sideways & (left > 0), sideways, ahead < 0],
        ["void", "at_goal", "missed", "passed_line", "moving", "left", "right", "short"],
        default="long",
    )
    return tuple(tags.tolist())


def _weights(first: np.ndarray, hit: np.ndarray, steps: int) -> np.ndarray:
    """(T, N): the swing decides; the commands that act at contact are some frames older."""
    t = np.arange(steps)[:, None]
    bump = np.where(hit, np.exp(-0.5 * ((t - first + LEAD) / WIDTH) ** 2), 0.0)
    weights = 1.0 + BUMP * bump
    return (weights / weights.mean(axis=0)).astype(np.float32)
