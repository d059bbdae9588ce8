"""Every kind of target writes what it says, and a wrong one is answered with what exists."""

import numpy as np
import pytest

from gaploop.core import Knob, KnobError, KnobSpace, Prior, Target
from gaploop.sim import World
from gaploop.sim.mj import mj
from gaploop.tasks.peg import Peg


def _world(path: str, op: str = "set", scale: float = 1.0) -> World:
    knob = Knob(
        name="k", gap="dynamics", unit="1", nominal=0.5, prior=Prior(low=-1e9, high=1e9),
        targets=(Target(path=path, op=op, scale=scale),),  # type: ignore[arg-type]
    )  # fmt: skip
    return World(Peg(), space=KnobSpace(knobs=(knob,)))


def _model(world: World, value: float) -> tuple:
    """Model and data of a simulation as the world set it up."""
    batch, _ = world._batch(1)
    world._binding.apply(batch, world.attempts(1, 0, knobs=np.array([value])))
    return batch.get_model(0), batch.get_data(0)


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("geom:px.pos[1]", lambda m, d: m.geom("px").pos[1]),
        ("pair:pp_px.friction[0]", lambda m, d: m.pair_friction[0, 0]),
        ("actuator:y.gainprm[0]", lambda m, d: m.actuator("y").gainprm[0]),
        ("joint:z.damping", lambda m, d: m.dof_damping[2]),
        ("body:gantry.mass", lambda m, d: m.body("gantry").mass[0]),
        ("opt:gravity[1]", lambda m, d: m.opt.gravity[1]),
        ("qpos:y", lambda m, d: d.qpos[1]),
        ("qvel:x", lambda m, d: d.qvel[0]),
        ("mocap:hole.pos[2]", lambda m, d: d.mocap_pos[0, 2]),
        ("mocap:hole.yaw", lambda m, d: 2 * np.arctan2(d.mocap_quat[0, 3], d.mocap_quat[0, 0])),
    ],
)
def test_targets_write_what_they_name(path, read):
    assert read(*_model(_world(path), 0.25)) == pytest.approx(0.25)


def test_operations_start_from_the_models_own_value_every_time():
    world = _world("body:gantry.mass", "mul", 2.0)
    for _ in range(2):
        assert _model(world, 1.5)[0].body("gantry").mass[0] == pytest.approx(0.3 * 3.0)
    world = _world("geom:px.pos[0]", "add", -1.0)
    assert _model(world, 0.01)[0].geom("px").pos[0] == pytest.approx(0.03 - 0.01)


def test_constants_follow_a_mass():
    world = _world("body:gantry.mass")
    heavy = _model(world, 3.0)[0]
    model = mj.MjModel.from_xml_string(Peg().mjcf())
    model.body("gantry").mass = 3.0
    mj.mj_setConst(model, mj.MjData(model))
    assert heavy.body_subtreemass[1] == pytest.approx(model.body_subtreemass[1])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("geom:walll.pos[0]", "'k' cannot be bound to geom:walll.pos.*Known: .*px"),
        ("geom:px.friktion[0]", "geom field named 'friktion'.*friction"),
        ("geom:px.pos[3]", "has 3 elements"),
        ("sensor:holes.bias", "observed channel.*hole"),
        ("sensor:touch.bias", "observed channel.*hole, q"),
        ("sensor:hole.bias[2]", "2 columns"),
        ("sensor:hole.blur", "sensor setting named 'blur'"),
        ("action:delays", "Did you mean 'delay'"),
        ("effect:wind.force", "effect named 'wind'"),
        ("body:hole.yaw", "body field"),
        ("mocap:gantry.pos[0]", "no mocap body"),
        ("opt:gravitation[0]", "option"),
        ("light_bulb", "no knob target"),
        ("bulb:a.b", "target kind"),
    ],
)
def test_wrong_targets_are_refused_with_what_exists(path, message):
    with pytest.raises(KnobError, match=message):
        _world(path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("body:gantry.mass", 0.0),
        ("pair:pp_px.friction[0]", -0.1),
        ("action:lost", 1.2),
        ("sensor:hole.noise", -1.0),
        ("sensor:hole.rate", 0.0),
        ("sensor:hole.latency", 0.6),
    ],
)
def test_values_no_world_can_carry_are_refused(path, value):
    world = _world(path)
    with pytest.raises(KnobError):
        world.rollout(world.attempts(1, 0, knobs=np.array([value])), world.task.expert())


def test_delays_add_up_to_the_buffer():
    knobs = tuple(
        Knob(
            name=n, gap="execution", unit="s", nominal=0.0, prior=Prior(low=0.0, high=1.0),
            targets=(Target(path=f"action:{n}"),),
        )
        for n in ("delay", "latency", "jitter")
    )  # fmt: skip
    world = World(Peg(), space=KnobSpace(knobs=knobs))
    with pytest.raises(KnobError, match=r"adds up to 0\.6"):
        world.rollout(world.attempts(1, 0, knobs=np.full(3, 0.2)), world.task.expert())
