"""Global multi-start search, and which knobs the logs move at its end.

CMA-ES (Hansen 2016) in the unit cube, several starts in lock-step, all candidates of
all starts in one likelihood call. Along a direction the logs do not see, an optimiser
walks at random and then shrinks; its end point and its history say nothing there. So
each knob is probed at the end: fresh prior draws of that knob alone. Where they are
accepted, the optimiser did not move the knob, whatever value it shows.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaploop.core.knob import KnobSpace
from gaploop.core.seeds import generator, spawn
from gaploop.infer.unit import LogLikelihood, acceptance, evaluate, fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Basin:
    """One optimum that a start ended in."""

    values: np.ndarray
    """(P,) in the knobs' units."""
    loglik: float
    starts: int
    """How many starts ended here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The end of a search."""

    best: np.ndarray
    """(P,) in the knobs' units."""
    loglik: float
    basins: tuple[Basin, ...]
    """Best first; starts that ended close together are one."""
    moved: np.ndarray
    """(P,) bool: whether the logs move this knob away from its prior."""
    probe: np.ndarray
    """(P,) acceptance of a prior redraw of this knob alone at the best point."""
    history: np.ndarray
    """(H, P) every candidate, as prior quantiles."""
    history_loglik: np.ndarray
    """(H,)"""

    @property
    def evaluations(self) -> int:
        return len(self.history)


def search(
    loglik: LogLikelihood,
    space: KnobSpace,
    *,
    seed: int,
    starts: int = 3,
    budget: int = 400,
    probes: int = 8,
    threshold: float = 0.5,
    initial: np.ndarray | None = None,
) -> Fit:
    """Maximise a log-likelihood over a knob space.

    Args:
      loglik: (M, P) knob values to (M,) nats.
      space: the knobs; only their priors' quantiles are searched.
      seed: same seed, same result.
      starts: independent starts; the first begins at the nominal values.
      budget: likelihood evaluations over all starts, without the probes.
      probes: prior redraws a knob at the end.
      threshold: mean redraw acceptance under which a knob counts as moved.
      initial: (K, P) values where the first K starts begin instead.
    """
    return search_many(
        loglik, space, seed=seed, starts=starts, budget=budget, probes=probes,
        threshold=threshold, initial=None if initial is None else initial[None], groups=1,
    )[0]  # fmt: skip


def search_many(
    loglik: LogLikelihood,
    space: KnobSpace,
    *,
    seed: int,
    groups: int,
    starts: int = 3,
    budget: int = 400,
    probes: int = 8,
    threshold: float = 0.5,
    initial: np.ndarray | None = None,
) -> tuple[Fit, ...]:
    """`groups` independent searches in lock-step, as `search`, in shared likelihood calls.

    The likelihood then gets (groups * k, P) rows, group by group, and must answer each
    row with its own group's data. `initial` is (groups, K, P); `budget` is a group's.
    """
    dims = len(space)
    size = 4 + int(3 * math.log(max(dims, 1)))
    rounds = max(2, budget // (size * starts))
    rng = generator(seed, "search", "starts")
    begin = rng.random((groups, starts, dims))
    begin[:, 0] = space.to_unit(space.nominal[None])[0]
    if initial is not None:
        count = min(initial.shape[1], starts)
        for g in range(groups):
            begin[g, :count] = space.to_unit(initial[g, :count])
    engines = [
        _engine(begin[g, s], size, spawn(seed, "search", g, s))
        for g in range(groups)
        for s in range(starts)
    ]
    units: list[np.ndarray] = []
    values: list[np.ndarray] = []
    for _ in range(rounds):
        asked = [engine.ask() for engine in engines]
        unit = fold(np.array(asked)[..., :dims]).reshape(groups * starts * size, dims)
        result = evaluate(loglik, space.from_unit(unit))
        losses = np.where(np.isfinite(result), -result, 1e12).reshape(len(engines), size)
        for engine, candidates, loss in zip(engines, asked, losses, strict=True):
            engine.tell(candidates, loss.tolist())
        units.append(unit.reshape(groups, starts, size, dims))
        values.append(result.reshape(groups, starts, size))
    unit = np.stack(units, axis=2)  # (groups, starts, rounds, size, dims)
    value = np.stack(values, axis=2)
    return _finish(
        loglik, space, unit, value, generator(seed, "search", "probe"), probes, threshold
    )


def _engine(start: np.ndarray, size: int, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cma warns at import that it cannot plot
        import cma

    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {
        "popsize": size,
        "seed": math.nan,  # leave NumPy's global generator alone
        "randn": lambda rows, columns: rng.standard_normal((rows, columns)),
        "verbose": -9,
        "verb_log": 0,
        "verb_disp": 0,
        "maxiter": math.inf,
        "tolfun": 0.0,
        "tolx": 0.0,
    }
    # cma has no one-dimensional case: a second, idle coordinate stands beside a lone knob
    start = np.resize(start, max(len(start), 2))
    return cma.CMAEvolutionStrategy(start, 0.2, options)


def _finish(
    loglik: LogLikelihood,
    space: KnobSpace,
    unit: np.ndarray,
    value: np.ndarray,
    rng: np.random.Generator,
    probes: int,
    threshold: float,
) -> tuple[Fit, ...]:
    groups, starts, _, _, dims = unit.shape
    flat_unit = unit.reshape(groups, starts, -1, dims)
    flat_value = value.reshape(groups, starts, -1)
    ends = flat_value.argmax(axis=2)
    end_unit = np.take_along_axis(flat_unit, ends[:, :, None, None], axis=2)[:, :, 0]
    end_value = np.take_along_axis(flat_value, ends[:, :, None], axis=2)[:, :, 0]
    top = end_value.argmax(axis=1)
    best = end_unit[np.arange(groups), top]
    best_value = end_value[np.arange(groups), top]

    # stratified prior draws of one knob at a time, the rest at the best point
    trial = np.repeat(best[:, None, None], dims, axis=1).repeat(probes, axis=2)
    strata = (np.arange(probes) + rng.random((groups, dims, probes))) / probes
    for p in range(dims):
        trial[:, p, :, p] = strata[:, p]
    probed = evaluate(loglik, space.from_unit(trial.reshape(-1, dims)))
    probed = probed.reshape(groups, dims, probes)
    accepted = acceptance(probed - best_value[:, None, None]).mean(axis=2)

    fits: list[Fit] = []
    for g in range(groups):
        history = np.concatenate([flat_unit[g].reshape(-1, dims), trial[g].reshape(-1, dims)])
        levels = np.concatenate([flat_value[g].ravel(), probed[g].ravel()])
        moved = accepted[g] < threshold
        fits.append(
            Fit(
                best=space.from_unit(best[g][None])[0],
                loglik=float(best_value[g]),
                basins=_basins(space, end_unit[g], end_value[g], moved),
                moved=moved,
                probe=accepted[g],
                history=history,
                history_loglik=levels,
            )
        )
    return tuple(fits)


def _basins(
    space: KnobSpace, ends: np.ndarray, levels: np.ndarray, moved: np.ndarray
) -> tuple[Basin, ...]:
    """Ends within a tenth of the prior of a better one, in the moved knobs, join it."""
    kept: list[tuple[int, int]] = []
    for i in np.argsort(-levels, kind="stable"):
        for at, (j, count) in enumerate(kept):
            gap = np.abs(ends[i] - ends[j])[moved]
            if not len(gap) or gap.max() < 0.1:
                kept[at] = (j, count + 1)
                break
        else:
            kept.append((int(i), 1))
    values = space.from_unit(ends)
    return tuple(Basin(values=values[i], loglik=float(levels[i]), starts=n) for i, n in kept)
