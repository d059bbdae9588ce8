"""What an emulator takes the posterior for: where chains start, and what they propose.

A posterior of a dozen knobs with ridges needs thousands of steps to be walked, and a
replay is too dear for that. An emulator of the replays is not: it is walked until its own
posterior is covered, a batch of that is replayed for real, the emulator learns from
it, and so on. The chains then propose draws of the last one and accept them by real
replays, as independence samplers do (Liu 2001, sec. 5.4.2; delayed acceptance in Christen & Fox
2005): where the emulator is right nearly every step is a fresh draw, where it is wrong the
step is refused, and what comes out is the posterior of the replays.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from gaploop.core.knob import KnobSpace
from gaploop.core.seeds import generator
from gaploop.infer.emulator import Emulator, soften
from gaploop.infer.likelihood import RobustLikelihood
from gaploop.infer.refine import Residuals
from gaploop.infer.search import Fit
from gaploop.infer.unit import fold

_HEAT = 1.5
"""Temperature of what is proposed: tails heavier than the posterior's leave nobody stuck."""
_WALKERS, _STEPS, _APART = 192, 60, 20
"""Of the walk on the emulator: walkers, steps, and steps between two states that are kept."""
_REDRAW = 0.3
_STRATA, _GOOD = 4, 8.0
"""Least parts of a knob's prior in a round of probes; points they start from, effectively."""
_STARTS = 24.0
"""Points that chains start from, effectively."""
_LEAST, _NEWS, _BORNE_OUT = 3, 1.0, 0.06
"""Rounds before it may end; nats that count as a better place; effective share of the draws."""
_FEW = 5
"""A block's best replays are led by chance; this one is not."""
_NU = 4.0
"""Degrees of freedom by which replays are first compared."""
_CHUNK = 256
"""Candidates weighed at a time; all logs' residuals of each are in memory."""


@dataclass(slots=True)
class Seen:
    """Replays with a memory: what a search paid for, an emulator learns from."""

    residuals: Residuals
    space: KnobSpace
    units: list[np.ndarray] = field(default_factory=list[np.ndarray])
    found: list[np.ndarray] = field(default_factory=list[np.ndarray])

    def __call__(self, values: np.ndarray) -> np.ndarray:
        residual = self.residuals(values)
        self.units.append(self.space.to_unit(values))
        self.found.append(residual.astype(np.float32))
        return residual

    @property
    def unit(self) -> np.ndarray:
        """(N, P) prior quantiles of all replays so far."""
        return np.concatenate(self.units)

    @property
    def residual(self) -> np.ndarray:
        """(N, E, T, d) float32."""
        return np.concatenate(self.found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A posterior by emulation: draws, and a density to judge them by."""

    emulator: Emulator
    likelihood: RobustLikelihood
    pool: np.ndarray
    """(K, P) draws, in the unit cube."""
    starts: np.ndarray
    """(S, P) replayed points, the better ones more often: where chains start."""

    def starts_for(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """(n, P) where walkers start."""
        return self.starts[rng.integers(len(self.starts), size=n)]

    def draw(self, rng: np.random.Generator, groups: int, walkers: int) -> np.ndarray:
        """(groups, walkers, P) proposals."""
        return self.pool[rng.integers(len(self.pool), size=(groups, walkers))]

    def log_density(self, unit: np.ndarray) -> np.ndarray:
        """(G, W, P) points to (G, W) log densities, up to a constant."""
        flat = unit.reshape(-1, unit.shape[-1])
        return _level(self.emulator, self.likelihood, flat).reshape(unit.shape[:2]) / _HEAT


def emulated(
    seen: Seen,
    fit: Fit,
    likelihood: Callable[[np.ndarray], RobustLikelihood],
    *,
    floor: np.ndarray,
    seed: int,
    batches: int = 8,
    size: int = 64,
    warm: np.ndarray | None = None,
) -> tuple[Fit, RobustLikelihood, Guess]:
    """The best point, the likelihood there, and the posterior as an emulator sees it.

    Args:
      seen: replays, with those of the search so far.
      likelihood: (E, T, d) residuals of a best fit to the likelihood they call for.
      floor: (d,) finest residual scale.
      seed: same seed, same guess.
      batches: most rounds of walking on the emulator and replaying what it says.
      size: replays a round.
      warm: (K, P) values of an earlier posterior, replayed first.
    """
    rng = generator(seed, "guess")
    if warm is not None and len(warm):
        seen(warm[rng.integers(len(warm), size=size)])
    for turn in range(batches):
        current, level = _weighed(seen, likelihood, floor)
        unit = seen.unit
        emulator = Emulator.fit(unit, seen.residual, level, current)
        pool = _walk(emulator, current, _begin(unit, level, rng), rng)
        proposed = pool[rng.permutation(len(pool))[:size]]
        drawn = len(unit) + np.arange(len(proposed))
        seen(seen.space.from_unit(np.concatenate([proposed, _probes(unit, level, rng)])))
        if turn + 1 >= _LEAST and _settled(seen, drawn, emulator, likelihood, floor):
            break
    current, level = _weighed(seen, likelihood, floor)
    unit, best = seen.unit, int(np.argmax(level))
    emulator = Emulator.fit(unit, seen.residual, level, current)
    pool = _walk(emulator, current, _begin(unit, level, rng), rng)
    better = replace(fit, best=seen.space.from_unit(unit[best][None])[0], loglik=float(level[best]))
    starts = unit[rng.choice(len(unit), _WALKERS, p=soften(level, target=_STARTS))]
    return better, current, Guess(emulator=emulator, likelihood=current, pool=pool, starts=starts)


def _settled(
    seen: Seen,
    drawn: np.ndarray,
    emulator: Emulator,
    likelihood: Callable[[np.ndarray], RobustLikelihood],
    floor: np.ndarray,
) -> bool:
    """Whether the last draws are borne out, and neither they nor the probes found a better place.

    drawn: rows of `seen` that the emulator proposed last; those after them are probes.
    """
    current, level = _weighed(seen, likelihood, floor)
    before, new = level[: drawn[0]].max(), level[drawn]
    if level[drawn[0] :].max() > before + _NEWS or new.max() < level.max() - _NEWS:
        return False
    weight = np.exp(new - _level(emulator, current, seen.unit[drawn]) / _HEAT)
    return bool(weight.sum() ** 2 / (weight**2).sum() > _BORNE_OUT * len(drawn))


def _weighed(
    seen: Seen, likelihood: Callable[[np.ndarray], RobustLikelihood], floor: np.ndarray
) -> tuple[RobustLikelihood, np.ndarray]:
    """The likelihood at the best replay so far, and (N,) what it makes of all of them.

    A block of frames is held against what the best few replays make of it: were it held
    against one replay, another that happens to explain the block where that one fails would
    gain without end.
    """
    residual = seen.residual
    misfit = _chunked(lambda r: _misfit(r, floor), residual)
    current = likelihood(residual[int(np.argmin(misfit))].astype(float))
    block = _chunked(current.by_block, residual)
    few = min(_FEW, len(block))
    current = replace(current, reference=np.sort(block, axis=0)[-few])
    return current, current.weighed(block).sum(axis=-1)


def _misfit(residual: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """(N,) nats a frame by which a replay misses, each at the scale that suits it best.

    A likelihood calibrated at one replay may prefer it to another that would, by its own,
    be preferred in turn. This compares any two by the same measure: the profile likelihood of
    a Student-t, a scale a column, none finer than `floor` (d,).
    """
    size = np.where(np.isfinite(residual), np.abs(residual), np.inf)
    scale = np.maximum(1.4826 * np.median(size, axis=(1, 2)), floor)[:, None, None]
    with np.errstate(invalid="ignore", over="ignore"):
        loss = 0.5 * (_NU + 1.0) * np.log1p((size / scale) ** 2 / _NU)
    found = np.log(scale[:, 0, 0]).sum(axis=-1) + loss.mean(axis=(1, 2)).sum(axis=-1)
    return np.where(np.isfinite(found), found, np.inf)


def _chunked(measure: Callable[[np.ndarray], np.ndarray], residual: np.ndarray) -> np.ndarray:
    starts = range(0, len(residual), _CHUNK)
    return np.concatenate([measure(residual[i : i + _CHUNK].astype(float)) for i in starts])


def _level(emulator: Emulator, likelihood: RobustLikelihood, unit: np.ndarray) -> np.ndarray:
    parts = [likelihood(emulator(unit[i : i + _CHUNK])) for i in range(0, len(unit), _CHUNK)]
    return np.concatenate(parts)


def _begin(unit: np.ndarray, level: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Walkers at replayed points, the better ones more often, spread over all that may count."""
    weight = soften(level, target=0.5 * _WALKERS)
    return unit[rng.choice(len(unit), _WALKERS, p=weight)]


def _walk(
    emulator: Emulator, likelihood: RobustLikelihood, state: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """(K, P) draws of the emulator's posterior, heated: differential evolution and redraws."""
    level = _level(emulator, likelihood, state) / _HEAT
    archive, kept = [state], []
    for step in range(1, _STEPS + 1):
        proposal = _moved(state, np.concatenate(archive[len(archive) // 2 :]), rng)
        proposed = _level(emulator, likelihood, proposal) / _HEAT
        take = np.log(rng.random(len(state))) < proposed - level
        state = np.where(take[:, None], proposal, state)
        level = np.where(take, proposed, level)
        archive.append(state)
        if step > _STEPS // 3 and step % _APART == 0:
            kept.append(state)
    return np.concatenate(kept)


def _moved(state: np.ndarray, past: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A difference of two past states on some knobs, or one knob drawn afresh."""
    count, dims = state.shape
    first, second = (past[rng.integers(len(past), size=count)] for _ in range(2))
    chosen = rng.random(state.shape) < rng.choice([0.3, 0.6, 1.0], size=(count, 1))
    chosen |= np.arange(dims) == rng.integers(dims, size=(count, 1))
    gamma = 2.38 / np.sqrt(2.0 * chosen.sum(axis=1, keepdims=True))
    gamma = gamma * rng.uniform(0.3, 1.1, size=(count, 1))
    jitter = 1e-4 * rng.standard_normal(state.shape)
    proposal = fold(state + np.where(chosen, gamma * (first - second) + jitter, 0.0))
    fresh = np.flatnonzero(rng.random(count) < _REDRAW)
    proposal[fresh] = state[fresh]
    proposal[fresh, rng.integers(dims, size=len(fresh))] = rng.random(len(fresh))
    return proposal


def _probes(unit: np.ndarray, level: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(K, P) good points with one knob drawn afresh, over all of its prior.

    An emulator knows nothing of a contact that no replay has met: a bias of a pose shows only
    where it lets the peg in. One knob at a time finds such places.
    """
    dims = unit.shape[1]
    strata = max(_STRATA, _STRATA * 10 // dims)
    weight = soften(level, target=_GOOD)
    rows = unit[rng.choice(len(unit), strata * dims, p=weight)]
    knob = np.tile(np.arange(dims), strata)
    stratum = np.repeat(np.arange(strata), dims)
    rows[np.arange(len(rows)), knob] = (stratum + rng.random(len(rows))) / strata
    return rows
