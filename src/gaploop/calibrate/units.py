"""Where units of one robot stand: their joint zeros, each from its own newest logs.

Three robots with zeros of their own are three worlds. Fitting them as one blurs every
knob; fitting each alone throws away that all else is shared. So the knobs that shift
readings and commands and nothing else are fitted a unit and batch (a robot wears from
round to round), the logs are told as if those were zero, and one posterior is fitted to
all of them, with what the zeros' own fit leaves as their prior. Its `shifts` put each unit
back where it is. Costs little, because such a zero shows from the first frame on. What it
cannot do: units that differ in anything else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaploop.calibrate.config import CalibrateConfig
from gaploop.calibrate.replay import Replay
from gaploop.calibrate.stage import calibrate
from gaploop.core import Episode, KnobSpace, Posterior, Prior
from gaploop.policies.mend import mendable, told, zero_mends
from gaploop.sim import World

LOGS = 4
"""Newest logs a unit and batch that its zeros rest on."""
EARLY = 0.25
"""Share of an attempt in which nothing but the robot's own motion is at work."""
WIDE = (20.0, 8.0, 8.0, 3.0, 3.0, 3.0, *[1.0] * 6)
"""Scale of the residuals at each step: wide at first, so that no log counts as an outlier
only because the start is far off."""
SHARPEST = 0.1
"""Least scale, as a share of what a model is taken to resolve."""
STEP = 0.05
"""Of the differences, in prior widths."""
DAMPING = (1e-6, 1e-2, 1.0, 30.0)
CERTAIN = 3.0
"""Standard errors that a zero must lie from 0."""
LEAST = 0.2
"""And this share of the prior's width: what play and friction do stays below."""
SUREST = 0.05
"""Least standard error of a zero, in prior widths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Zeros:
    """The fitted zeros of one unit in one batch."""

    values: np.ndarray
    """(P,), 0 in all other knobs."""
    sd: np.ndarray
    """(P,)."""


def calibrate_units(
    world: World,
    episodes: Sequence[Episode],
    batches: Sequence[int],
    config: CalibrateConfig,
    seed: int,
    *,
    previous: Posterior | None = None,
) -> Posterior:
    """As `calibrate`, with the zeros of each unit fitted first; for one unit, too.

    Zeros that are where they should be are taken as known to be: left to the chains, a
    zero and a bias of a pose would explain each other's contacts.

    Args:
      batches: of each episode, the round it was logged in: a unit may wear between them.

    Raises:
      InputError: an episode that lacks the task's signals.
    """
    zeros = unit_zeros(world, episodes, batches, config)
    if not zeros:
        return calibrate(world, episodes, config, seed, previous=previous)
    spec, space, off = world.spec, world.space, matter(world, zeros)
    sd = np.max([z.sd if off else np.hypot(z.sd, z.values) for z in zeros.values()], axis=0)
    alike = list(episodes)
    if off:
        alike = [
            told(e, zero_mends(space, zeros[e.unit, b].values, spec, e.unit))
            for e, b in zip(episodes, batches, strict=True)
        ]
    narrow = World(world.task, threads=world.threads, space=_narrowed(space, sd))
    found = calibrate(narrow, alike, config, seed, previous=previous)
    newest = {unit: zeros[unit, b].values for unit, b in sorted(zeros)} if off else {}
    verdicts = tuple(
        replace(v, verdict="identified", redraw_acceptance=0.0) if sd[i] else v
        for i, v in enumerate(found.verdicts)
    )
    return replace(found, space=space, shifts=newest, verdicts=verdicts)


def _narrowed(space: KnobSpace, sd: np.ndarray) -> KnobSpace:
    """The space with zeros as uncertain as their own fit (P,) left them."""
    knobs = [
        replace(k, prior=Prior(kind="normal", low=-4 * s, high=4 * s, mean=0.0, sd=s)) if s else k
        for k, s in zip(space.knobs, sd.tolist(), strict=True)
    ]
    return KnobSpace(knobs=tuple(knobs))


def unit_zeros(
    world: World, episodes: Sequence[Episode], batches: Sequence[int], config: CalibrateConfig
) -> dict[tuple[str, int], Zeros]:
    """(unit, batch) to its zeros, of older batches only where the newest shows some to mend.

    Nothing where the task has no such knob.
    """
    columns = [i for i, name in enumerate(world.space.names) if mendable(world.space, name)]
    groups: dict[tuple[str, int], list[Episode]] = {}
    for episode, batch in zip(episodes, batches, strict=True):
        groups.setdefault((episode.unit, batch), []).append(episode)
    if not columns or not groups:
        return {}

    def fitted(keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Zeros]:
        return {key: _zeros(world, groups[key][-LOGS:], columns, config) for key in keys}

    last = max(batches)
    newest = fitted(key for key in groups if key[1] == last)
    if not matter(world, newest):
        return newest
    return newest | fitted(key for key in groups if key[1] != last)


def matter(world: World, zeros: dict[tuple[str, int], Zeros]) -> bool:
    """Whether any unit's zero is off, beyond doubt and by enough to be worth a number."""
    width = np.array([k.prior.width for k in world.space.knobs])
    return any(
        bool(np.any((np.abs(z.values) > CERTAIN * z.sd) & (np.abs(z.values) > LEAST * width)))
        for z in zeros.values()
    )


def _zeros(
    world: World, episodes: Sequence[Episode], columns: list[int], config: CalibrateConfig
) -> Zeros:
    """Damped Gauss-Newton from nominal, with the prior; the zeros are kept.

    Over the knobs of how commands become motion, on the first frames of each log, where
    little else acts yet. The residuals' weights are a Student-t's (Lange, Little & Taylor
    1989), so that an early contact, where slopes mean nothing, counts for little.
    """
    space = world.space
    free = [i for i, k in enumerate(space.knobs) if k.gap in ("execution", "mechanical")]
    replay = Replay(world, episodes)
    frames = max(4, round(EARLY * len(replay.commands)))
    scale = config.floor * replay.range
    width = np.array([space.knobs[i].prior.width for i in free])
    low, high = space.low[free], space.high[free]
    nominal = space.nominal[free]

    def residuals(values: np.ndarray) -> np.ndarray:
        """(M, K) to (M, D), in units of what a model can resolve."""
        rows = np.tile(space.nominal, (len(values), 1))
        rows[:, free] = values
        found = replay.residuals(rows)[:, :, :frames] / scale
        return np.nan_to_num(found, nan=10.0).reshape(len(values), -1)

    def cost(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
        loss = 0.5 * (config.nu + 1) * np.log1p(errors**2 / config.nu).sum(axis=1)
        return loss + 0.5 * (((values - nominal) / width) ** 2).sum(axis=1)

    x = nominal.copy()
    information = np.eye(len(free))
    for scheduled in WIDE:
        wide = scheduled
        # both sides, kept inside the prior: a delay that passes a physics step has a kink
        up, down = np.minimum(x + STEP * width, high), np.maximum(x - STEP * width, low)
        sides = np.concatenate([x + np.diag(up - x), x + np.diag(down - x)])
        rows = residuals(np.concatenate([x[None], sides]))
        if wide == 1.0:
            # as sharp as the fit shows the model to be, which is sharper than a safe floor
            wide = float(np.clip(1.4826 * np.median(np.abs(rows[0])), SHARPEST, 1.0))
        rows = rows / wide
        base, above, below = rows[0], rows[1 : len(free) + 1], rows[len(free) + 1 :]
        slope = (above - below) / ((up - down) / width)[:, None]
        weight = (config.nu + 1.0) / (config.nu + base**2)
        information = (slope * weight) @ slope.T + np.eye(len(free))
        pull = -(slope * weight) @ base - (x - nominal) / width
        size = np.diag(np.diag(information))
        steps = [np.linalg.solve(information + d * size, pull) * width for d in DAMPING]
        tried = np.clip(np.stack([x, *(x + s for s in steps)]), low, high)
        x = tried[int(np.argmin(cost(tried, residuals(tried) / wide)))]
    sd = np.sqrt(np.diag(np.linalg.inv(information)))
    # a curvature knows nothing of what the model lacks
    sd = np.maximum(sd, SUREST) * width
    values, errors = np.zeros(len(space)), np.zeros(len(space))
    for place, column in enumerate(free):
        if column in columns:
            values[column], errors[column] = x[place], sd[place]
    return Zeros(values=values, sd=errors)
