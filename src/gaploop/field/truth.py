"""The hidden truth of a stand-in: knobs off nominal, and effects that no task knob expresses.

Everything is drawn from the family's seed, so that nobody can tune to one world.
Only the stand-in's own process and a benchmark's final measurement may ask.
"""

from dataclasses import dataclass

import numpy as np

from gaploop.core import Attempts, KnobSpace, UnknownNameError, generator, spawn
from gaploop.core.protocols import Task
from gaploop.field.families import FAMILIES, Family
from gaploop.field.outside import PREFIX, effects, nudge, objects, person
from gaploop.field.probes import PROBES, knowing
from gaploop.sim import World

DRAWS = 20
"""Worlds tried before the last one is taken as it is."""
ASKED = 32
"""Attempts an expert is asked for, a draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """One stand-in: a world, its units, and how each attempt comes about."""

    family: str
    seed: int
    world: World
    knobs: np.ndarray
    """(U, P) of each unit, new."""
    creep: np.ndarray
    """(U, P) what a round of wear adds."""
    layout: np.ndarray
    """(2, S) low and high of the start ranges."""

    def name(self, unit: int) -> str:
        """What the robot calls itself."""
        whole = f"{self.family}:{self.seed}"
        return whole if len(self.knobs) == 1 else f"{whole}/{unit + 1}"

    def units(self, n: int) -> list[str]:
        """(n,) the unit of each attempt: they take turns."""
        return [self.name(i % len(self.knobs)) for i in range(n)]

    def worn(self, round: int) -> np.ndarray:
        """(U, P) knobs of each unit in a round; the first is 1. Never past the prior's end."""
        space = self.world.space
        moved = self.knobs + (round - 1) * self.creep
        edge = 0.05 * (space.high - space.low)
        kept = np.clip(moved, space.low + edge, space.high - edge)
        return np.where(self.creep == 0.0, self.knobs, kept)

    def attempts(self, n: int, seed: int, *, round: int = 1) -> Attempts:
        """n attempts of the units in turn; the first k are the same for any n >= k."""
        space, how = self.world.space, FAMILIES[self.family]
        knobs = self.worn(round)[np.arange(n) % len(self.knobs)]
        if how.nudged:
            rows = generator(seed, "disturbed").random((n, 2 + len(space)))
            fresh = space.from_unit(rows[:, 2:])
            for column, part in ((0, "nudge_"), (1, "person_")):
                share = how.nudged if column == 0 else how.pushed
                mine = [i for i, k in enumerate(space.names) if k.startswith(PREFIX + part)]
                on = (rows[:, column] < share)[:, None]
                knobs[:, mine] = np.where(on, fresh[:, mine], knobs[:, mine])
        u = generator(seed, "layout").random((n, self.layout.shape[1]))
        layout = self.layout[0] + (self.layout[1] - self.layout[0]) * u
        return self.world.attempts(n, seed, knobs=knobs, layout=layout)


def stand_in(family: str, seed: int, task: Task) -> StandIn:
    """One stand-in: for its own process, and for final measurements.

    Worlds are drawn until one is as its family asks (see `families`). Raises
    UnknownNameError for a family nobody declared.
    """
    if family not in FAMILIES:
        raise UnknownNameError("family of stand-ins", family, FAMILIES)
    how, plain = FAMILIES[family], World(task)
    fixed = effects(plain, how.effects)
    each = (*nudge(plain.spec), *person(plain)) if how.nudged else ()
    space = plain.spec.knobs
    world = World(task, space=KnobSpace(knobs=(*space.knobs, *fixed, *each)))
    found: StandIn | None = None
    for draw in range(DRAWS):
        rows = [_unit(space, how, generator(seed, family, *_turn(u), "knobs", draw))
                for u in range(how.units)]  # fmt: skip
        rng = generator(seed, family, "effects", draw)
        drawn = [float(k.prior.sample(rng, 1)[0]) for k in fixed]
        knobs = np.array([[*row, *drawn, *(k.nominal for k in each)] for row in rows])
        found = StandIn(
            family=family, seed=seed, world=world, knobs=knobs,
            creep=_creep(world.space, knobs, how, seed), layout=_starts(plain, how, seed),
        )  # fmt: skip
        if _fits(found, how, plain):
            break
    assert found is not None
    return found


def truth_world(family: str, seed: int, task: Task) -> tuple[World, np.ndarray]:
    """(world, (P,) knob values) of a stand-in's first unit when new."""
    found = stand_in(family, seed, task)
    return found.world, found.knobs[0]


def _fits(found: StandIn, how: Family, plain: World) -> bool:
    seed = spawn(found.seed, found.family, "misled")
    attempts = found.attempts(ASKED, seed)
    if how.misled and PROBES[how.misled](found.world, attempts, plain) > how.fooled:
        return False
    return how.able <= 0.0 or knowing(found.world, attempts) >= how.able


def _turn(unit: int) -> tuple[str | int, ...]:
    return (unit,) if unit else ()


def _unit(space: KnobSpace, how: Family, rng: np.random.Generator) -> np.ndarray:
    """(P,) values: knobs of the chosen gaps moved toward either end of their prior, not to it."""
    nominal = space.to_unit(space.nominal[None])[0]
    up = rng.random(len(space)) < np.where(nominal < 0.1, 1.0, np.where(nominal > 0.9, 0.0, 0.5))
    share = rng.uniform(how.least, how.most, len(space))
    moved = nominal + share * np.where(up, 1 - nominal, -nominal)
    off = np.array([k.gap in how.gaps for k in space.knobs])
    values = np.where(off, space.from_unit(moved[None])[0], space.nominal)
    return _past(space, values, off, up, how, rng) if how.outside[1] else values


def _past(
    space: KnobSpace,
    values: np.ndarray,
    off: np.ndarray,
    up: np.ndarray,
    how: Family,
    rng: np.random.Generator,
) -> np.ndarray:
    """One knob of each gap past the end of its prior; what cannot be negative stays so."""
    values = values.copy()
    by = rng.uniform(*how.outside, len(space)) * (space.high - space.low)
    for gap in how.gaps:
        chosen = int(rng.choice([i for i in np.flatnonzero(off) if space.knobs[i].gap == gap]))
        below = space.low[chosen] - by[chosen]
        above = up[chosen] or (space.low[chosen] >= 0.0 > below - 0.5 * space.low[chosen])
        values[chosen] = space.high[chosen] + by[chosen] if above else below
    return values


def _creep(space: KnobSpace, knobs: np.ndarray, how: Family, seed: int) -> np.ndarray:
    """(U, P) wear a round: zeros creep on the way they went, play grows."""
    rng = generator(seed, "wear")
    share = rng.uniform(*how.wear, knobs.shape) if how.wear[1] else np.zeros(knobs.shape)
    mechanical = np.array([k.gap == "mechanical" for k in space.knobs])
    way = np.where(knobs >= space.nominal, space.high - space.nominal, space.low - space.nominal)
    play = np.array([k.name == f"{PREFIX}play" for k in space.knobs])
    return np.where(mechanical, share * np.where(play, space.high, way), 0.0)


def _starts(plain: World, how: Family, seed: int) -> np.ndarray:
    """(2, S) start ranges, those of objects shifted to one side where the family says so."""
    low, high = (np.array([getattr(v, s) for v in plain.spec.layout]) for s in ("low", "high"))
    if how.moved[1]:
        rng = generator(seed, "moved")
        shift = rng.uniform(*how.moved, len(low)) * rng.choice([-1.0, 1.0], len(low)) * (high - low)
        mine = np.isin(np.arange(len(low)), [i for i, _ in objects(plain.spec)])
        low, high = low + np.where(mine, shift, 0.0), high + np.where(mine, shift, 0.0)
    return np.stack([low, high])
