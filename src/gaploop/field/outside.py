"""Effects that no task knob expresses, as knobs of the stand-in alone.

Sizes follow the robot: forces are shares of its servos' force, lengths well under a
millimetre. A person and a nudge are drawn an attempt, all else once a world.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from gaploop.core import Channel, Knob, KnobError, LayoutVariable, Prior, Target, TaskSpec
from gaploop.sim import World

PREFIX: Final = "outside_"


def effects(world: World, kinds: Sequence[str]) -> tuple[Knob, ...]:
    """Knobs of the chosen kinds, to be drawn once from their priors.

    kinds: `dynamics` (a tilted table), `rail` (Stribeck friction on the axes),
      `execution` (play, lost commands), `sensor` (drift, a bias an attempt), `wear`
      (play that grows). A path that a task knob writes already is left to it.
    """
    spec, force = world.spec, servo_force(world)
    taken = {t.path.split("[")[0] for k in spec.knobs.knobs for t in k.targets}
    parts = {
        "rail": _rail(force),
        "dynamics": _tilt(spec, force, bool(world.model.opt.gravity.any())),
        "execution": (
            _knob("play", "execution", "m", (2e-5, 1.5e-4), ["action:backlash"]),
            _knob("lost", "execution", "1", (0.005, 0.03), ["action:lost"]),
        ),
        "wear": (_knob("play", "mechanical", "m", (2e-5, 1e-4), ["action:backlash"]),),
        "sensor": _drift(spec),
    }
    order = ("rail", "dynamics", "execution", "wear", "sensor")
    found = [k for kind in order if kind in kinds for k in parts[kind]]
    return tuple(k for k in found if k.targets[0].path.split("[")[0] not in taken)


def nudge(spec: TaskSpec) -> tuple[Knob, ...]:
    """The object jumps aside at `start`, by up to a quarter of its reset range."""
    rows = [
        _knob(
            f"nudge_{v.name}", "task", v.unit, _span(0.25 * (v.high - v.low)),
            [f"effect:nudge.shift[{i}]"], nominal=0.0,
        )
        for i, v in objects(spec)
    ]  # fmt: skip
    return (*rows, _knob("nudge_start", "task", "s", _early(spec), ["effect:nudge.start"]))


def person(world: World) -> tuple[Knob, ...]:
    """Somebody leans on the robot for a third of a second, with half of what its servos hold."""
    spec, most = world.spec, 0.6 * servo_force(world)
    return (
        *(
            _knob(f"person_{a}", "task", "N", _span(most), [f"effect:push.force[{i}]"], nominal=0.0)
            for i, a in enumerate(spec.command)
        ),
        _knob("person_start", "task", "s", _early(spec), ["effect:push.start"]),
        _knob("person_length", "task", "s", (0.2, 0.4), ["effect:push.length"]),
    )


def objects(spec: TaskSpec) -> list[tuple[int, LayoutVariable]]:
    """(index, layout variable) of what stands where an object is, by its channel's role."""
    paths = set()
    for channel in spec.observed:
        feature = spec.contract.feature(channel.key)
        if feature is not None and feature.role.value == "object_pose":
            paths |= set(channel.reads)
    return [(i, v) for i, v in enumerate(spec.layout) if any(t.path in paths for t in v.targets)]


def servo_force(world: World) -> float:
    """Largest force of the weakest servo, N.

    Raises KnobError for an actuator without `forcerange`: effects are sized by it.
    """
    forces = world.model.actuator_forcerange[:, 1]
    if not (forces > 0).all():
        name = world.model.actuator(int(np.argmin(forces))).name
        raise KnobError(
            f"Actuator {name!r} has no force limit, by which a stand-in sizes its effects.",
            hint='Give it forcerange="-F F" in the MJCF.',
        )
    return float(forces.min())


def _rail(force: float) -> tuple[Knob, ...]:
    rows = (("coulomb", "coulomb", 0.01, 0.04), ("stiction", "static", 0.04, 0.08))
    return tuple(
        _knob(name, "dynamics", "N", (low * force, high * force), [f"effect:stribeck.{path}"])
        for name, path, low, high in rows
    )


def _tilt(spec: TaskSpec, force: float, gravity: bool) -> tuple[Knob, ...]:
    """A tilted table pulls sideways, all the time: at the axes, and at what lies on it."""
    found = [
        _knob(f"tilt_{i}", "dynamics", "N", _span(0.04 * force), [f"effect:push.force[{i}]"])
        for i in range(min(2, len(spec.command)))
    ]
    found.append(_knob("tilt_length", "dynamics", "s", (1e3, 2e3), ["effect:push.length"]))
    if gravity:
        found += [
            _knob(f"slope_{i}", "dynamics", "m/s^2", _span(0.05), [f"opt:gravity[{i}]"])
            for i in range(2)
        ]
    return tuple(found)


def _drift(spec: TaskSpec) -> tuple[Knob, ...]:
    found: list[Knob] = []
    for channel in posed(spec):
        for i, column in enumerate(channel.columns):
            path = f"sensor:{channel.name}.drift[{i}]"
            found.append(_knob(f"drift_{column}", "sensor", "m/s", (-1e-4, 1e-4), [path]))
        path = f"sensor:{channel.name}.spread"
        found.append(_knob(f"spread_{channel.name}", "sensor", "m", (5e-5, 2e-4), [path]))
    return tuple(found)


def posed(spec: TaskSpec) -> list[Channel]:
    """Channels that show where something else than the robot is, as a camera would."""
    own = {f"qpos:{a}" for a in spec.command} | {f"qvel:{a}" for a in spec.command}
    return [c for c in spec.observed if not own & set(c.reads)]


def _early(spec: TaskSpec) -> tuple[float, float]:
    """s: on the way, before the attempt is decided."""
    length = spec.horizon * spec.control_dt
    return 0.1 * length, 0.3 * length


def _span(most: float) -> tuple[float, float]:
    return -most, most


def _knob(
    name: str, gap: str, unit: str, span: tuple[float, float], paths: Sequence[str],
    nominal: float | None = None,
) -> Knob:  # fmt: skip
    return Knob(
        name=f"{PREFIX}{name}", gap=gap, unit=unit, prior=Prior(low=span[0], high=span[1]),
        nominal=0.5 * (span[0] + span[1]) if nominal is None else nominal,
        targets=tuple(Target(path=p) for p in paths), source="stand-in",
    )  # fmt: skip
