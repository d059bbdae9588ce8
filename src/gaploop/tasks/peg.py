"""A square peg into a square hole with a millimetre to spare.

A gantry lowers a peg into a hole whose measured pose may be biased. The window
is narrow (clearance plus the rounding of the peg's corners), and nothing the
policy observes before contact reveals the bias.

Heights are above the rim of the hole, so depth is the negative height of the
peg's bottom. All SI.
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
from gaploop.robots.gantry import AXES, Gantry

HALF = 0.010
"""Half of the peg's side."""
ROUNDING = 0.00125
"""Radius of the peg's corners and of their lower ends."""
HEIGHT = 0.030
"""Height of the peg's bottom above the rim, at home."""
WALL = 0.020
"""Half thickness of a wall of the hole."""
HOLE = 0.030
"""Depth of the hole."""
DEPTH = 0.012
"""Depth that counts as seated."""
HOLD = 5
"""Control steps that the peg must stay seated, to the end."""

WALLS = ("px", "nx", "py", "ny")
CORNERS = ("pp", "pn", "np", "nn")
STAGES = ("approach", "align", "insert", "seat", "hold")


@dataclass(frozen=True, slots=True)
class Peg:
    """The task. Hole within 25 mm of home in x and y; 44 steps at 20 Hz."""

    robot: Gantry = field(default_factory=Gantry)

    @property
    def spec(self) -> TaskSpec:
        low, high = self.robot.limits()
        hole = Feature(
            key="observation.environment_state", columns=("hole_x", "hole_y"),
            role=declared("object_pose"), unit=declared("m"), frame=declared("home"),
            observable=declared(True),
        )  # fmt: skip
        return TaskSpec(
            name="peg",
            robot="gantry",
            instruction="Insert the square peg into the hole.",
            control_dt=0.05,
            horizon=44,
            channels=_channels(),
            command=AXES,
            command_unit="m",
            command_low=low,
            command_high=high,
            layout=tuple(
                LayoutVariable(
                    name=f"hole_{a}",
                    unit="m",
                    low=-0.025,
                    high=0.025,
                    targets=(Target(path=f"mocap:hole.pos[{i}]"),),
                )
                for i, a in enumerate("xy")
            ),
            knobs=KnobSpace(knobs=(*_contact_knobs(), *self.robot.knobs(), *_pose_knobs())),
            stages=STAGES,
            contract=self.robot.contract(hole, rate=20.0),
        )

    def mjcf(self) -> str:
        return f"""
<mujoco model="peg">
  <option timestep="0.00625" gravity="0 0 0" integrator="implicitfast" iterations="20"/>
  <size memory="1M"/>
  <default>
    <geom contype="0" conaffinity="0"/>
    <pair condim="3" solref="0.0125 1" solimp="0.95 0.99 0.0005" friction="0.2 0.2 0 0 0"/>
  </default>
  <worldbody>
    <body name="hole" mocap="true">{_walls()}</body>
    {self.robot.body(_peg(), height=HEIGHT)}
  </worldbody>
  <contact>{_pairs()}</contact>
  <actuator>{self.robot.actuators()}</actuator>
  <sensor><touch name="touch" site="sole"/></sensor>
</mujoco>"""

    def judge(self, recording: Recording) -> Judgement:
        return _judge(recording)

    def expert(self) -> Controller:
        from gaploop.tasks.experts.peg import PegExpert

        return PegExpert(self.spec)


def _channels() -> tuple[Channel, ...]:
    return (
        Channel(
            name="q", key="observation.state", columns=AXES, unit="m",
            reads=tuple(f"qpos:{a}" for a in AXES),
        ),
        Channel(
            name="hole", key="observation.environment_state", columns=("hole_x", "hole_y"),
            unit="m", reads=("mocap:hole.pos[0]", "mocap:hole.pos[1]"),
        ),
        Channel(
            name="corners", key="truth.corners", unit="m", observed=False,
            columns=tuple(f"{c}_{a}" for c in CORNERS for a in "xyz"),
            reads=tuple(f"site:{c}.pos[{i}]" for c in CORNERS for i in range(3)),
        ),
        Channel(
            name="walls", key="truth.walls", unit="m", observed=False,
            columns=tuple(f"{w}_{a}" for w in WALLS for a in "xy"),
            reads=tuple(f"geom:{w}.pos[{i}]" for w in WALLS for i in range(2)),
        ),
        Channel(
            name="touch", key="truth.touch", unit="N", observed=False, columns=("force",),
            reads=("sensor:touch",),
        ),
    )  # fmt: skip


def _contact_knobs() -> tuple[Knob, ...]:
    return (
        Knob(
            name="clearance", gap="dynamics", unit="m", nominal=1.0e-3,
            prior=Prior(low=0.6e-3, high=2.0e-3),
            # the walls stand at zero clearance in the model and are moved outward
            targets=tuple(
                Target(path=f"geom:{w}.pos[{'xy'.index(w[1])}]", op="add", scale=_side(w))
                for w in WALLS
            ),
            source="tolerance class of the mating parts",
        ),
        Knob(
            name="wall_friction", gap="dynamics", unit="1", nominal=0.2,
            prior=Prior(low=0.05, high=0.6),
            targets=tuple(
                Target(path=f"pair:{c}_{w}.friction[{i}]") for c, w in _touching() for i in (0, 1)
            ),
            source="plastic and metal, dry to greased",
        ),
    )  # fmt: skip


def _pose_knobs() -> tuple[Knob, ...]:
    return (
        *(
            Knob(
                name=f"hole_bias_{a}", gap="sensor", unit="m", nominal=0.0,
                prior=Prior(low=-3.5e-3, high=3.5e-3),
                targets=(Target(path=f"sensor:hole.bias[{i}]"),),
                source="hand-eye calibration of a fixed camera",
            )
            for i, a in enumerate("xy")
        ),
        Knob(
            name="hole_noise", gap="sensor", unit="m", nominal=0.2e-3,
            prior=Prior(low=0.0, high=1.0e-3), targets=(Target(path="sensor:hole.noise"),),
            source="repeatability of a marker pose",
        ),
        Knob(
            name="hole_yaw", gap="task", unit="rad", nominal=0.0,
            prior=Prior(low=-0.03, high=0.03), targets=(Target(path="mocap:hole.yaw"),),
            source="how a part lies in its tray",
        ),
    )  # fmt: skip


def _side(wall: str) -> int:
    return 1 if wall[0] == "p" else -1


def _walls() -> str:
    side, span = HALF + WALL, HALF + 2 * WALL
    boxes = []
    for wall in WALLS:
        sign = _side(wall)
        pos = (sign * side, 0) if wall[1] == "x" else (0, sign * side)
        size = (WALL, span) if wall[1] == "x" else (span, WALL)
        boxes.append(
            f'<geom name="{wall}" type="box" pos="{pos[0]} {pos[1]} {-HOLE / 2}"'
            f' size="{size[0]} {size[1]} {HOLE / 2}"/>'
        )
    return "".join(boxes)


def _peg() -> str:
    # the gantry cannot tilt, so the rounded lower corners are all that ever touches
    at, parts = HALF - ROUNDING, []
    for corner in CORNERS:
        x, y = ((1 if s == "p" else -1) * at for s in corner)
        parts.append(
            f'<geom name="{corner}" type="sphere" size="{ROUNDING}" pos="{x} {y} {ROUNDING}"/>'
            f'<site name="{corner}" pos="{x} {y} 0"/>'
        )
    return "".join(parts) + f'<site name="sole" type="sphere" size="{3 * HALF}"/>'


def _pairs() -> str:
    return "".join(f'<pair name="{c}_{w}" geom1="{c}" geom2="{w}"/>' for c, w in _touching())


def _touching() -> list[tuple[str, str]]:
    """Corners and the walls on their side: the opposite ones are a peg's width away."""
    return [(c, w) for c in CORNERS for w in WALLS if w[0] == c["xy".index(w[1])]]


def _judge(recording: Recording) -> Judgement:
    """Depth that holds to the end; the second check asks where the corners are."""
    q, hole = recording.truth["q"], recording.truth["hole"]
    height = HEIGHT + q[:, :, 2]
    offset = q[:, :, :2] - hole
    depth = -height
    ok = ~recording.void
    seated = depth >= DEPTH
    held = seated[-HOLD:].all(axis=0) & ok
    inside, window = _inside(recording)
    second = inside[-1] & ok
    miss = np.abs(offset).max(axis=2)
    near = height < 0.012
    reached = np.stack(
        [
            (near & (miss < 0.010)).any(axis=0),
            (near & (miss < window)).any(axis=0),
            (depth > 0.003).any(axis=0),
            seated.any(axis=0),
            held,
        ]
    )
    stage = np.cumprod(reached, axis=0).sum(axis=0) - 1
    at_rim = (height < 0.001) & (height > -0.002)
    first = np.where(at_rim.any(axis=0), at_rim.argmax(axis=0), len(height) - 1)
    rows = np.arange(height.shape[1])
    stuck = ~held & (stage < 2) & at_rim.any(axis=0)
    late = (len(height) - HOLD) * recording.dt
    onset = np.where(held, np.nan, np.where(stuck, first * recording.dt, late))
    tags = np.select(
        [recording.void, held, stuck, ~at_rim.any(axis=0), seated.any(axis=0)],
        ["void", "inserted", "on_rim", "above", "late"],
        default="short",
    )
    return Judgement(
        success=held,
        second=second,
        stage=stage,
        margin=depth[-HOLD:].min(axis=0) - DEPTH,
        onset=onset,
        weights=_weights(height[:-1]),
        tags=tuple(tags.tolist()),
        extra={
            "rim_offset": miss[first, rows],
            "peak_force": recording.truth["touch"].max(axis=(0, 2)),
        },
    )


def _inside(recording: Recording) -> tuple[np.ndarray, np.ndarray]:
    """(T + 1, N) whether all corners are below the rim and between the walls; (N,) the window.

    From the sites at the corners and the walls' own positions: no joint, no
    measured hole. The window is clearance plus rounding.
    """
    corners = recording.truth["corners"]
    steps, n, _ = corners.shape
    corners = corners.reshape(steps, n, 4, 3)
    walls = recording.truth["walls"].reshape(steps, n, 4, 2)
    between = np.ones((steps, n), dtype=bool)
    for a, b in ((0, 1), (2, 3)):
        axis = walls[:, :, a] - walls[:, :, b]
        gap = np.linalg.norm(axis, axis=2)
        across = axis / gap[:, :, None]
        middle = 0.5 * (walls[:, :, a] + walls[:, :, b])
        along = np.einsum("tnkd,tnd->tnk", corners[..., :2] - middle[:, :, None], across)
        # the sites stand one rounding inside the peg's faces; contacts give by some 0.1 mm
        room = 0.5 * gap - WALL - ROUNDING + 2e-4
        between &= (np.abs(along) <= room[:, :, None]).all(axis=2)
    deep = (corners[..., 2] < -DEPTH + 3e-4).all(axis=2)
    width = np.linalg.norm(walls[0, :, 0] - walls[0, :, 1], axis=1)
    return between & deep, 0.5 * width - WALL - HALF + ROUNDING


def _weights(height: np.ndarray) -> np.ndarray:
    """(T, N): frames just above and at the rim decide; there the aim is settled."""
    bump = np.exp(-0.5 * ((height - 0.004) / 0.005) ** 2)
    weights = 1.0 + 3.0 * bump
    return (weights / weights.mean(axis=0)).astype(np.float32)
