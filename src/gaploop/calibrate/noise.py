"""White noise a channel, measured in closed form, and what it says about noise knobs."""

from dataclasses import dataclass

import numpy as np

from gaploop.calibrate.replay import Replay, sensor
from gaploop.infer import at_rest, noise_loglik, white_sd

_CELLS = 2048


def channel_noise(replay: Replay) -> dict[str, np.ndarray]:
    """Channel to (d,) white-noise sd over all logs, in the channel's unit."""
    rest = np.stack([at_rest(c) for c in np.moveaxis(replay.commands, 1, 0)])
    out: dict[str, np.ndarray] = {}
    for name, values in replay.logged.items():
        still = np.ones_like(rest) if name in replay.static else rest
        out[name] = white_sd(values, still)
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseKnob:
    """The posterior of one knob that sets nothing but white noise, on a grid of quantiles."""

    column: int
    """Of the world's space."""
    mass: np.ndarray
    """(G,) posterior mass of each cell of prior quantiles."""
    redraw: float
    """Acceptance of a prior redraw in equilibrium."""

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """(n,) prior quantiles."""
        cells = rng.choice(len(self.mass), n, p=self.mass)
        return (cells + rng.random(n)) / len(self.mass)


def noise_knobs(replay: Replay, noise: dict[str, np.ndarray]) -> tuple[NoiseKnob, ...]:
    """Knobs whose every target is `sensor:CHANNEL.noise` of a logged channel.

    A noise-free replay does not depend on them, so their posterior is the closed-form
    likelihood of the measured noise: exact, one-dimensional, and no work for a chain.
    """
    unit = (np.arange(_CELLS) + 0.5) / _CELLS
    found: list[NoiseKnob] = []
    for column, knob in enumerate(replay.space.knobs):
        parts = [t.parts() for t in knob.targets]
        if not all(k == "sensor" and f == "noise" and n in noise for k, n, f, _ in parts):
            continue
        values = np.tile(replay.space.nominal, (_CELLS, 1))
        values[:, column] = knob.prior.from_unit(unit)
        level = np.zeros(_CELLS)
        for _, name, _, index in parts:
            logs, frames, columns = replay.logged[name].shape
            # a joint that moves leaves a third of its frames' information, at rest or not
            count = logs * (frames - 1) if name in replay.static else logs * frames // 3
            for c in range(columns) if index is None else (index,):
                sd = sensor(replay.space, values, name, "noise", c, 0.0)
                level += noise_loglik(np.maximum(sd, 1e-9), max(float(noise[name][c]), 1e-9), count)
        mass = np.exp(level - level.max())
        mass /= mass.sum()
        # E over x ~ posterior, y ~ prior of min(1, p(y) / p(x)) = mean of min(mass_x, mass_y)
        ordered = np.sort(mass)
        smaller = 2.0 * (ordered * (_CELLS - 1 - np.arange(_CELLS))).sum() + ordered.sum()
        found.append(NoiseKnob(column=column, mass=mass, redraw=float(smaller / _CELLS)))
    return tuple(found)
