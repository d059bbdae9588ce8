"""The hidden truth of a stand-in: knobs off nominal, and effects that no task knob expresses.

Everything is drawn from the family's seed, so that nobody can tune to one world.
Only the stand-in's own process and a benchmark's final measurement may ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core import (
    Channel,
    Knob,
    KnobSpace,
    Prior,
    Target,
    TaskSpec,
    UnknownNameError,
    generator,
    spawn,
)
from gaploop.core.protocols import Controller, Task
from gaploop.sim import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How a seeded family of stand-ins draws its worlds."""

    gaps: tuple[str, ...]
    """Gaps whose knobs are off."""
    least: float
    """Smallest share of the way from nominal to an end of the prior, in quantiles."""
    most: float
    """Largest share of that way; below 1, so that every truth lies inside its prior."""
    fooled: float
    """Largest success rate of an expert that trusts the readings."""
    effects: bool
    """Whether effects outside the knobs are on."""


FAMILIES = {
    "lab-mix": Family(
        gaps=("sensor", "dynamics", "execution"), least=0.45, most=0.85, fooled=0.1, effects=True
    ),
}


def truth_world(family: str, seed: int, task: Task) -> tuple[World, np.ndarray]:
    """(world, (P,) knob values) of one stand-in: for its own process, and final measurements.

    Worlds are drawn until one misleads: a world in which an expert that trusts the
    readings gets through has no gap worth a loop. Raises UnknownNameError for a
    family nobody declared.
    """
    if family not in FAMILIES:
        raise UnknownNameError("family of stand-ins", family, FAMILIES)
    spec, how = task.spec, FAMILIES[family]
    effects = _effects(spec) if how.effects else ()
    world = World(task, space=KnobSpace(knobs=(*spec.knobs.knobs, *effects)))
    knobs = world.space.nominal
    for draw in range(_DRAWS):
        known = _off_nominal(spec.knobs, how, generator(seed, family, "knobs", draw))
        rng = generator(seed, family, "effects", draw)
        knobs = np.array([*known, *(float(k.prior.sample(rng, 1)[0]) for k in effects)])
        attempts = world.attempts(_MISLED, spawn(seed, family, "misled"), knobs=knobs)
        fooled = world.task.judge(world.rollout(attempts, Misled(task.expert(), spec)))
        if np.mean(fooled.success) <= how.fooled:
            break
    return world, knobs


_DRAWS = 20
"""Worlds tried before the last one is taken as it is."""
_MISLED = 32
"""Attempts of the misled expert a draw."""


class Misled:
    """An expert that takes what the sensors show for the truth."""

    def __init__(self, expert: Controller, spec: TaskSpec) -> None:
        self.expert, self.spec = expert, spec

    def reset(self, n: int) -> None:
        """n attempts begin."""
        self.expert.reset(n)

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        """(n, a) commands from the newest readings; unobserved channels stay the true ones."""
        newest = observation[:, -len(self.spec.frame_columns) :].astype(float)
        shown, at = dict(truth), 0
        for channel in self.spec.observed:
            shown[channel.name] = newest[:, at : at + len(channel.columns)]
            at += len(channel.columns)
        return self.expert.act(step, observation, shown)


def _off_nominal(space: KnobSpace, how: Family, rng: np.random.Generator) -> np.ndarray:
    """(P,) values: knobs of the chosen gaps moved toward either end of their prior, not to it."""
    nominal = space.to_unit(space.nominal[None])[0]
    up = rng.random(len(space)) < np.where(nominal < 0.1, 1.0, np.where(nominal > 0.9, 0.0, 0.5))
    share = rng.uniform(how.least, how.most, len(space))
    moved = nominal + share * np.where(up, 1 - nominal, -nominal)
    off = np.array([k.gap in how.gaps for k in space.knobs])
    return np.where(off, space.from_unit(moved[None])[0], space.nominal)


def _effects(spec: TaskSpec) -> tuple[Knob, ...]:
    """What no task knob expresses, as knobs of the stand-in alone. Drawn from these priors.

    Sizes are a few per cent of a small servo's force, and well under a millimetre.
    """
    taken = {t.path.split("[")[0] for k in spec.knobs.knobs for t in k.targets}
    found = [
        _knob("coulomb", "dynamics", "N", (0.1, 0.4), ["effect:stribeck.coulomb"]),
        _knob("stiction", "dynamics", "N", (0.4, 0.8), ["effect:stribeck.static"]),
        *(
            # a tilted table pulls sideways, all the time
            _knob(f"tilt_{i}", "dynamics", "N", (-0.4, 0.4), [f"effect:push.force[{i}]"])
            for i in range(min(2, len(spec.command)))
        ),
        _knob("tilt_length", "dynamics", "s", (1e3, 2e3), ["effect:push.length"]),
        _knob("play", "execution", "m", (2e-5, 1.5e-4), ["action:backlash"]),
        _knob("lost", "execution", "1", (0.005, 0.03), ["action:lost"]),
    ]
    for channel in _posed(spec):
        for i in range(len(channel.columns)):
            path = f"sensor:{channel.name}.drift[{i}]"
            found.append(
                _knob(f"drift_{channel.columns[i]}", "sensor", "m/s", (-1e-4, 1e-4), [path])
            )
        path = f"sensor:{channel.name}.spread"
        found.append(_knob(f"spread_{channel.name}", "sensor", "m", (5e-5, 2e-4), [path]))
    return tuple(k for k in found if k.targets[0].path.split("[")[0] not in taken)


def _posed(spec: TaskSpec) -> list[Channel]:
    """Channels that show where an object is, as a camera would."""
    return [c for c in spec.observed if not any(r.startswith(("qpos:", "qvel:")) for r in c.reads)]


def _knob(name: str, gap: str, unit: str, span: tuple[float, float], paths: Sequence[str]) -> Knob:
    return Knob(
        name=f"outside_{name}", gap=gap, unit=unit, prior=Prior(low=span[0], high=span[1]),
        nominal=0.5 * (span[0] + span[1]), targets=tuple(Target(path=p) for p in paths),
        source="stand-in",
    )  # fmt: skip
