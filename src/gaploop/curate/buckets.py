"""The hard set grows: a new version each round, never a changed one.

Three sorts of bucket. One a kind of failure, from exam-only failures: half the
scenarios are the reproduced ones (picked because they failed), half are fresh
siblings, so that a lucky first score cannot pass for an improvement. `worked`
holds starts at which the field succeeded, `calibrated` fresh draws of the robot
as it is believed to be; both are drawn anew from each round's posterior, which
is why every policy in an exam is scored on the new version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gaploop.core import (
    Bucket,
    Diagnosis,
    Episode,
    HardSet,
    Posterior,
    Reproduction,
    Scenario,
    TaskSpec,
    generator,
    spawn,
)
from gaploop.core.siblings import jittered, siblings
from gaploop.curate.admit import Side
from gaploop.curate.config import CurateConfig
from gaploop.curate.prescribe import Remedy, kind_of
from gaploop.curate.starts import start_given

WORKED = "worked"
CALIBRATED = "calibrated"


def grow(
    previous: HardSet | None,
    episodes: Sequence[Episode],
    diagnoses: Sequence[Diagnosis],
    reproductions: Sequence[Reproduction],
    origins: Mapping[str, Side],
    table: Mapping[str, Remedy],
    spec: TaskSpec,
    posterior: Posterior,
    config: CurateConfig,
    seed: int,
) -> HardSet:
    """The next version of the hard set. `previous` is left as it is."""
    version = 1 if previous is None else previous.version + 1
    old = {b.name: b for b in previous.buckets} if previous else {}
    seed = spawn(seed, "hard set", version)
    kinds = {
        name: replace(b, scenarios=believable(b.scenarios, posterior, seed))
        for name, b in old.items()
        if name not in (WORKED, CALIBRATED)
    }
    for diagnosis in diagnoses:
        cases = _cases(diagnosis, reproductions, origins, table, spec, config, seed)
        if cases:
            bucket = _kind_bucket(diagnosis, kinds, table, config)
            joined = _capped(bucket.scenarios + cases, config.bucket_cap)
            kinds[bucket.name] = replace(bucket, scenarios=joined)
    world = next((r.scenarios[0].world for r in reproductions if r.scenarios), "")
    new = (
        *kinds.values(),
        _worked(old.get(WORKED), episodes, spec, posterior, config, seed, world),
        _calibrated(_units(episodes), spec, posterior, config, seed, world),
    )
    return HardSet(version=version, buckets=new, origins=dict(origins))


def believable(
    scenarios: Sequence[Scenario], posterior: Posterior, seed: int
) -> tuple[Scenario, ...]:
    """Scenarios whose knobs the posterior has since ruled out, posed anew at a draw of it.

    A failure met when a bias was unknown is kept as a start and a noise seed;
    examining it at a bias that no longer can be would reward the wrong policy.
    """
    slack = 0.02 * (posterior.space.high - posterior.space.low)
    bounds: dict[str, np.ndarray] = {}
    kept: list[Scenario] = []
    for scenario in scenarios:
        own = posterior.of(scenario.unit)
        if scenario.unit not in bounds:
            bounds[scenario.unit] = np.quantile(own.particles, [0.005, 0.995], axis=0)
        low, high = bounds[scenario.unit]
        columns = [posterior.space.index(n) for n in scenario.knob_names]
        inside = (scenario.knobs >= (low - slack)[columns]) & (
            scenario.knobs <= (high + slack)[columns]
        )
        if not inside.all():
            rng = generator(seed, "pose", scenario.origin, scenario.seed)
            knobs = own.draw(rng, 1)[0][columns]
            scenario = replace(scenario, knobs=knobs, controls=None)
        kept.append(scenario)
    return tuple(kept)


def _cases(
    diagnosis: Diagnosis,
    reproductions: Sequence[Reproduction],
    origins: Mapping[str, Side],
    table: Mapping[str, Remedy],
    spec: TaskSpec,
    config: CurateConfig,
    seed: int,
) -> tuple[Scenario, ...]:
    """Reproduced scenarios of an exam failure, and as many fresh siblings."""
    if origins.get(diagnosis.episode) != "exam" or table[diagnosis.verdict].remedy == "mend":
        return ()
    met = next((r for r in reproductions if r.episode == diagnosis.episode), None)
    own = met.scenarios[: config.own] if met else ()
    fresh = tuple(siblings(s, 1, spec, config.jitter, seed)[0] for s in own)
    return tuple(s for pair in zip(own, fresh, strict=True) for s in pair)


def _kind_bucket(
    diagnosis: Diagnosis,
    kinds: Mapping[str, Bucket],
    table: Mapping[str, Remedy],
    config: CurateConfig,
) -> Bucket:
    kind = kind_of(diagnosis)
    if kind in kinds:
        return kinds[kind]
    return Bucket(
        name=kind,
        ability=table[diagnosis.verdict].ability,
        predicate=f"Field failures diagnosed as {diagnosis.verdict} ({kind}), and fresh siblings.",
        scenarios=(),
        minimum=config.minimum,
    )


def _capped(scenarios: tuple[Scenario, ...], cap: int) -> tuple[Scenario, ...]:
    """At most `cap`, in whole pairs, chosen by their seeds alone so that none is favoured."""
    pairs = [scenarios[i : i + 2] for i in range(0, len(scenarios), 2)]
    chosen = sorted(range(len(pairs)), key=lambda i: spawn(pairs[i][0].seed, "cap"))[: cap // 2]
    return tuple(s for i in sorted(chosen) for s in pairs[i])


def _worked(
    old: Bucket | None,
    episodes: Sequence[Episode],
    spec: TaskSpec,
    posterior: Posterior,
    config: CurateConfig,
    seed: int,
    world: str,
) -> Bucket:
    """Starts of field successes, this round's and earlier ones, under the robot as believed."""
    seen: dict[str, np.ndarray] = {s.origin: s.layout for s in (old.scenarios if old else ())}
    won = {e.id: e for e in episodes if e.success and not e.helped}
    names = sorted({*seen, *won})
    rng = generator(seed, WORKED)
    drawn = posterior.draw(rng, config.worked) if names else np.empty((0, len(posterior.space)))
    units = {s.origin: s.unit for s in (old.scenarios if old else ())}
    units |= {e.id: e.unit for e in won.values()}
    drawn = drawn + _shifts(posterior, [units[names[i % len(names)]] for i in range(len(drawn))])
    scenarios: list[Scenario] = []
    for i, knobs in enumerate(drawn):
        name = names[i % len(names)]
        episode = won.get(name)
        start = (
            seen[name] if episode is None else start_given(episode, spec, posterior.space, knobs)
        )
        if i // len(names) % 2:  # every second one is a sibling: a start nobody has met
            start = jittered(start, spec, config.jitter, rng)
        scenarios.append(
            _scenario(spec, posterior, start, knobs, spawn(seed, WORKED, i), world, name,
                      units[name])
        )  # fmt: skip
    return Bucket(
        name=WORKED, ability="action",
        predicate="Starts at which the field succeeded, under fresh draws of the posterior: "
        "what must not get worse.",
        scenarios=tuple(scenarios), minimum=config.minimum,
    )  # fmt: skip


def _units(episodes: Sequence[Episode]) -> list[str]:
    """The units that took part; one without a name where none did."""
    return sorted({e.unit for e in episodes}) or [""]


def _shifts(posterior: Posterior, units: Sequence[str]) -> np.ndarray:
    """(n, P) by how much each of the units differs from the posterior they share."""
    alike = np.zeros(len(posterior.space))
    rows = [posterior.shifts.get(unit, alike) for unit in units]
    return np.array(rows).reshape(len(units), len(alike))


def _calibrated(
    units: Sequence[str],
    spec: TaskSpec,
    posterior: Posterior,
    config: CurateConfig,
    seed: int,
    world: str,
) -> Bucket:
    rng = generator(seed, CALIBRATED)
    low = np.array([v.low for v in spec.layout])
    high = np.array([v.high for v in spec.layout])
    starts = rng.uniform(low, high, (config.calibrated, len(spec.layout)))
    turns = [units[i % len(units)] for i in range(config.calibrated)]
    drawn = posterior.draw(rng, config.calibrated) + _shifts(posterior, turns)
    scenarios = [
        _scenario(
            spec, posterior, starts[i], drawn[i], spawn(seed, CALIBRATED, i), world, "", turns[i]
        )
        for i in range(config.calibrated)
    ]
    return Bucket(
        name=CALIBRATED, ability="action",
        predicate="Fresh starts under fresh draws of the posterior: the robot as it is believed "
        "to be.",
        scenarios=tuple(scenarios), minimum=config.minimum, fresh=True,
    )  # fmt: skip


def _scenario(
    spec: TaskSpec,
    posterior: Posterior,
    start: np.ndarray,
    knobs: np.ndarray,
    seed: int,
    world: str,
    origin: str,
    unit: str,
) -> Scenario:
    return Scenario(
        task=spec.name, world=world, layout=start, knobs=knobs,
        knob_names=posterior.space.names, seed=seed, horizon=spec.horizon, origin=origin,
        unit=unit,
    )  # fmt: skip
