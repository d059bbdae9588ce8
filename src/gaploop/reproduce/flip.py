"""The diagnosed knob scanned toward training, the same noise at every value.

A scan and not a bisection: response curves are often not monotone.
"""

from collections.abc import Callable, Sequence

import numpy as np

from gaploop.core import (
    Counterfactual,
    Diagnosis,
    Judgement,
    KnobSpace,
    Scenario,
    spawn_many,
)
from gaploop.infer.mechanisms import Mechanism, mechanisms
from gaploop.reproduce.config import ReproduceConfig

Rerun = Callable[[np.ndarray, np.ndarray, np.ndarray], Judgement]


def counterfactual(
    rerun: Rerun,
    scenarios: Sequence[Scenario],
    diagnosis: Diagnosis,
    space: KnobSpace,
    trained: np.ndarray,
    config: ReproduceConfig,
    seed: int,
) -> Counterfactual | None:
    """The flip of the most certain failure; None without a failure or a diagnosed knob.

    The knobs of one mechanism (the axes of a bias) move together, in proportion; the
    one that is furthest off gives the scale and the name.

    Args:
      trained: (P,) where the knobs stood in training.
    """
    which = _diagnosed(diagnosis, space)
    if which is None or not scenarios:
        return None
    seeds = spawn_many(seed, config.seeds, "flip", diagnosis.episode)
    scenario = _surest(rerun, scenarios, seeds[: max(config.seeds // 2, 1)])
    columns = list(which.columns)
    width = np.array([space.knobs[c].prior.width for c in columns])
    off = np.abs(scenario.knobs[columns] - trained[columns]) / width
    if off.max() == 0:
        return None
    lead = columns[int(np.argmax(off))]
    way = np.linspace(0.0, 1.0, config.scan)
    knobs = np.tile(scenario.knobs, (config.scan, 1))
    knobs[:, columns] += way[:, None] * (trained[columns] - scenario.knobs[columns])
    response = _rates(rerun, knobs, scenario.layout, seeds)
    return _flip(scenario, space, lead, knobs[:, lead], response, config.seeds)


def moved_with(flip: Counterfactual, space: KnobSpace) -> tuple[str, ...]:
    """The other knobs of the scanned one's mechanism."""
    column = space.index(flip.knob)
    own = next(m for m in mechanisms(space) if column in m.columns)
    return tuple(space.knobs[c].name for c in own.columns if c != column)


def _diagnosed(diagnosis: Diagnosis, space: KnobSpace) -> Mechanism | None:
    """The mechanism of the diagnosis's first knob of its own gap."""
    for knob in diagnosis.knobs:
        if knob.name not in space.names:
            continue
        column = space.index(knob.name)
        if space.knobs[column].gap == diagnosis.verdict:
            return next(m for m in mechanisms(space) if column in m.columns)
    return None


def _surest(rerun: Rerun, scenarios: Sequence[Scenario], seeds: np.ndarray) -> Scenario:
    """The scenario that fails most often over noise; the first of equals."""
    n = len(seeds)
    judged = rerun(
        np.repeat([s.knobs for s in scenarios], n, axis=0),
        np.repeat([s.layout for s in scenarios], n, axis=0),
        np.tile(seeds, len(scenarios)),
    )
    rates = judged.success.reshape(len(scenarios), n).mean(axis=1)
    return scenarios[int(np.argmin(rates))]


def _rates(rerun: Rerun, knobs: np.ndarray, layout: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """(K,) success over the seeds at each of K knob rows."""
    k, n = len(knobs), len(seeds)
    judged = rerun(np.repeat(knobs, n, axis=0), np.tile(layout, (k * n, 1)), np.tile(seeds, k))
    return judged.success.reshape(k, n).mean(axis=1)


def _flip(
    scenario: Scenario, space: KnobSpace, lead: int, scan: np.ndarray, response: np.ndarray, n: int
) -> Counterfactual:
    above = response >= 0.5
    crossed = np.flatnonzero(above[1:] & ~above[:-1])
    flip = lo = hi = float("nan")
    after = float(response[-1])
    if len(crossed) and not above[0]:
        i = int(crossed[0])
        share = (0.5 - response[i]) / (response[i + 1] - response[i])
        flip = float(scan[i] + share * (scan[i + 1] - scan[i]))
        lo, hi = sorted((float(scan[i]), float(scan[i + 1])))
        after = float(response[i + 1])
    return Counterfactual(
        scenario=scenario,
        knob=space.knobs[lead].name,
        unit=space.knobs[lead].unit,
        value=float(scan[0]),
        flip=flip,
        flip_lo=lo,
        flip_hi=hi,
        p_before=float(response[0]),
        p_after=after,
        n=n,
        scan=scan,
        response=response,
        # one attempt up or down is noise
        monotone=bool(np.all(np.diff(response) >= -1.5 / n)),
    )
