"""Which worlds made this log: commands replayed open loop, a structured hypothesis a mechanism.

The null is this robot's healthy population, draws of its calibrated posterior; a
point null would let any tolerance look like a finding. A hypothesis redraws the
knobs of one mechanism and keeps the rest. Its evidence is the mean likelihood over
its draws (integrated, not maximised, so that flexible ones gain nothing).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gaploop.core import Posterior, generator, spawn_many
from gaploop.diagnose.config import DiagnoseConfig
from gaploop.diagnose.intervene import Particles
from gaploop.infer.episode import (
    Log,
    Replays,
    Weighed,
    healthy_scale,
    replays,
    resample,
    tempered,
    weigh,
)
from gaploop.infer.mechanisms import Mechanism, mechanisms, proposals
from gaploop.sim import World

MOST = 14.0
"""Nats beyond which no log is believed."""
EFFECTIVE = 10.0
"""Effective draws below which a likelihood is tempered: some 200 draws of a dozen knobs hit
the peak by luck, and luck is no evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """The replays of one episode and what they are worth."""

    mechanisms: tuple[Mechanism, ...]
    healthy: Replays
    """(healthy, ...) this robot as calibrated."""
    trained: Replays
    """The same worlds with every knob as trained."""
    all: Replays
    """Healthy draws, then each mechanism's proposals."""
    weighed: Weighed
    """Of `all`."""
    new: dict[str, float]
    """Mechanism to the Bayes factor of it being off today, over this robot's posterior."""
    off: dict[str, float]
    """Gap to the Bayes factor of it being off, over the same worlds with it as trained."""
    floor: np.ndarray
    """(D,) healthy residual scale."""
    simulations: int

    def weights(self, least: float = EFFECTIVE) -> np.ndarray:
        """(M,) of `all`, tempered to `least` effective draws; half the prior mass is healthy."""
        prior = _prior(len(self.healthy.knobs), len(self.all.knobs))
        return tempered(self.weighed.loglik, prior, least)[0]

    def particles(self, n: int, trained: np.ndarray, seed: int) -> Particles:
        """n worlds conditioned on the episode, by systematic resampling."""
        weight = self.weights(0.5 * n)
        rng = generator(seed, "particles")
        chosen = resample(weight, n, rng)
        return Particles(
            knobs=self.all.knobs[chosen],
            layout=self.all.layout[chosen],
            seeds=spawn_many(seed, n, "particle"),
            trained=trained[rng.integers(len(trained), size=n)],
        )


def infer(
    world: World,
    posterior: Posterior,
    log: Log,
    trained: np.ndarray,
    config: DiagnoseConfig,
    seed: int,
) -> Inference:
    """Replay the log under every hypothesis, in one batch."""
    space = world.space
    rng = generator(seed, "hypotheses")
    columns = [posterior.space.index(name) for name in space.names]
    healthy = posterior.draw(rng, config.healthy)[:, columns]
    found = mechanisms(space)
    rows = [healthy]
    for which in found:
        base = healthy[rng.integers(len(healthy), size=config.proposals)]
        rows.append(proposals(space, which, base, rng))
    gaps = {gap: space.of_gap(gap) for gap in dict.fromkeys(k.gap for k in space.knobs)}
    m = min(config.put_back, len(healthy))
    rest = trained[rng.integers(len(trained), size=m)]
    for columns in [*gaps.values(), tuple(range(len(space)))]:
        back = healthy[:m].copy()
        back[:, list(columns)] = rest[:, list(columns)]
        rows.append(back)
    everything = replays(world, log, np.concatenate(rows))
    ends = np.cumsum([0, *(len(r) for r in rows)])
    parts = [_rows(everything, slice(a, b)) for a, b in pairwise(ends)]
    count = 1 + len(found)
    floor = healthy_scale(world.spec, posterior)
    explained = _rows(everything, slice(0, ends[count]))
    both = weigh(everything, floor)
    level = both.loglik + _noise_level(world, log, everything.knobs)
    # the same temper for all, so that hypotheses stay comparable
    _, power = tempered(level[: ends[count]], _prior(len(healthy), ends[count]), EFFECTIVE)
    of = [power * level[a:b] for a, b in pairwise(ends)]
    null, here = _logmean(of[0]), _logmean(of[0][:m])
    return Inference(
        mechanisms=found,
        healthy=parts[0],
        trained=parts[-1],
        all=explained,
        weighed=Weighed(
            loglik=level[: ends[count]], scale=both.scale, temper=both.temper, misfit=both.misfit
        ),
        new={w.key: _factor(_logmean(of[1 + i]) - null) for i, w in enumerate(found)},
        off={gap: _factor(here - _logmean(of[count + i])) for i, gap in enumerate(gaps)},
        floor=floor,
        simulations=len(everything.knobs),
    )


def _noise_level(world: World, log: Log, knobs: np.ndarray) -> np.ndarray:
    """(M,) nats of the noise knobs, which a replay without noise cannot show.

    White noise of a channel is measured from the log itself, in closed form.
    """
    from gaploop.infer import noise_loglik, white_sd

    total = np.zeros(len(knobs))
    for i, knob in enumerate(world.space.knobs):
        for target in knob.targets:
            kind, channel, field, column = target.parts()
            if (kind, field) != ("sensor", "noise") or channel not in log.readings:
                continue
            values = log.readings[channel]
            values = values if column is None else values[:, [column]]
            measured = float(np.sqrt(np.mean(white_sd(values) ** 2)))
            frames = min(len(values) * values.shape[1], 40)  # drift makes more of them worthless
            sd = np.maximum(np.abs(target.scale * knobs[:, i]), 1e-6)
            total += noise_loglik(sd, max(measured, 1e-6), frames)
    return total


def _prior(healthy: int, m: int) -> np.ndarray:
    """(m,) half of the mass on the healthy draws, which come first."""
    prior = np.full(m, 0.5 / max(m - healthy, 1))
    prior[:healthy] = (0.5 if m > healthy else 1.0) / healthy
    return prior


def _rows(found: Replays, rows: slice) -> Replays:
    record = found.recording
    return Replays(
        knobs=found.knobs[rows],
        layout=found.layout[rows],
        residual=found.residual[rows],
        recording=type(record)(
            dt=record.dt,
            command=record.command[:, rows],
            signals={k: v[:, rows] for k, v in record.signals.items()},
            truth={k: v[:, rows] for k, v in record.truth.items()},
            void=record.void[rows],
        ),
    )


def _logmean(values: np.ndarray) -> float:
    top = values.max()
    return float(top + np.log(np.mean(np.exp(values - top))))


def _factor(nats: float) -> float:
    return float(np.exp(np.clip(nats, -MOST, MOST)))
