"""One logged episode against a world: its start, its replay, and how likely each world made it.

The start is read off the log: a layout variable that a sensor shows is what the
sensor showed at first, or all along where nothing moves it, less what each world says
the sensor errs by. So a bias of a pose moves the object and not the reading, and only
contact can tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core import (
    Attempts,
    Episode,
    InputError,
    KnobSpace,
    Posterior,
    Recording,
    TaskSpec,
    spawn_many,
)
from gaploop.infer.likelihood import RobustLikelihood
from gaploop.sim import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The arrays of one episode, named as the task names them."""

    command: np.ndarray
    """(T, a)"""
    readings: dict[str, np.ndarray]
    """Channel name to (T, d)."""
    layout: dict[str, float]
    """Start variables somebody wrote down; used for those that no sensor shows."""

    @property
    def steps(self) -> int:
        return len(self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replays:
    """M worlds, the same commands in each."""

    knobs: np.ndarray
    """(M, P)"""
    layout: np.ndarray
    """(M, S)"""
    residual: np.ndarray
    """(M, T, D) logged less replayed, observed channels side by side."""
    recording: Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """How well each of M worlds explains the episode."""

    loglik: np.ndarray
    """(M,) nats, tempered by the residual's own correlation."""
    scale: np.ndarray
    """(D,) residual scale that counts as one sd."""
    temper: np.ndarray
    """(D,) independent frames a frame counts as."""
    misfit: float
    """Residual of the best world over what healthy replays show; about 1 when all is well."""


def log_of(spec: TaskSpec, episode: Episode) -> Log:
    """The episode's arrays.

    Raises:
      InputError: when a signal that the task observes is missing or of another width.
    """
    readings = {c.name: _values(episode, c.key, len(c.columns)) for c in spec.observed}
    command = _values(episode, "action", len(spec.command))
    short = {n: len(v) for n, v in readings.items() if len(v) != len(command)}
    if short:
        name, rows = next(iter(short.items()))
        raise InputError(
            f"Episode {episode.id[:8]}: {name!r} has {rows} rows and `action` {len(command)}.",
            hint="Align the signals to the control rate first.",
        )
    written = episode.fact("layout")
    known = written if isinstance(written, dict) else {}
    return Log(command=command, readings=readings, layout={k: float(v) for k, v in known.items()})


def start(world: World, log: Log, knobs: np.ndarray) -> np.ndarray:
    """(M, S) layouts that each of M worlds (M, P) reads off the log."""
    spec = world.spec
    out = np.empty((len(knobs), len(spec.layout)))
    for s, variable in enumerate(spec.layout):
        middle = 0.5 * (variable.low + variable.high)
        out[:, s] = log.layout.get(variable.name, middle)
        for target in variable.targets:
            seen = _shown(spec, target.path)
            if seen is None or target.op != "set" or target.scale == 0:
                continue
            channel, column = seen
            shown = log.readings[channel][:, column]
            still = target.path.startswith("mocap:")
            reading = float(np.nanmedian(shown) if still else shown[np.isfinite(shown).argmax()])
            scale = _sensor(world.space, knobs, channel, "scale", column, 1.0)
            bias = _sensor(world.space, knobs, channel, "bias", column, 0.0)
            out[:, s] = (reading - bias) / (scale * target.scale)
            break
    return out


def replays(world: World, log: Log, knobs: np.ndarray) -> Replays:
    """The logged commands in each of M worlds (M, P), without noise."""
    layout = start(world, log, knobs)
    attempts = Attempts(layout=layout, knobs=knobs, seeds=spawn_many(0, len(knobs), "replay"))
    commands = np.repeat(log.command[:, None, :], len(knobs), axis=1)
    recording = world.replay(attempts, commands, noise=False)
    parts = [
        (log.readings[c.name][:, None, :] - recording.signals[c.name]).swapaxes(0, 1)
        for c in world.spec.observed
    ]
    residual = np.concatenate(parts, axis=2)
    residual[recording.void] = np.nan
    return Replays(knobs=knobs, layout=layout, residual=residual, recording=recording)


def healthy_scale(spec: TaskSpec, posterior: Posterior) -> np.ndarray:
    """(D,) what a replay of this robot errs by when nothing new is wrong: noise and discrepancy."""
    parts = []
    for c in spec.observed:
        noise = _per_column(posterior.noise, (c.name, c.key), len(c.columns))
        wrong = _per_column(posterior.discrepancy, (c.name, c.key), len(c.columns))
        # 0.1 mm (or mrad) where neither was measured: no log is exact
        parts.append(np.maximum(np.hypot(noise, wrong), 1e-4))
    return np.concatenate(parts)


def weigh(found: Replays, floor: np.ndarray, span: slice = slice(None)) -> Weighed:
    """Tempered log-likelihoods of the replays over a span of frames.

    floor: (D,) healthy scale. The likelihood is calibrated at the best replay, so that
    a world none of them reaches makes every answer flatter, never sharper.
    """
    residual = found.residual[:, span]
    z2 = np.where(np.isfinite(residual), (residual / floor) ** 2, 1e6)
    best = int(np.argmin(np.log1p(z2 / 4.0).sum(axis=(1, 2))))
    model = RobustLikelihood.at(residual[best : best + 1], floor)
    return Weighed(
        loglik=model(residual[:, None]),
        scale=np.ravel(model.scale),
        temper=np.ravel(model.temper),
        misfit=float(np.sqrt(z2[best].mean(axis=0)).max()),
    )


def tempered(loglik: np.ndarray, prior: np.ndarray, least: float) -> tuple[np.ndarray, float]:
    """(M,) normalised weights prior * exp(b loglik), and b: the largest in (0, 1] that leaves
    `least` effective draws, or as many as the prior has."""
    logs = loglik - loglik.max()

    def at(b: float) -> tuple[np.ndarray, float]:
        weight = prior * np.exp(b * logs)
        weight /= weight.sum()
        return weight, 1.0 / float((weight**2).sum())

    low, high = 0.0, 1.0
    if at(1.0)[1] >= least:
        return at(1.0)[0], 1.0
    for _ in range(30):
        b = 0.5 * (low + high)
        low, high = (b, high) if at(b)[1] >= least else (low, b)
    return at(low)[0], low


def resample(weight: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n,) indices by systematic resampling (Kitagawa 1996)."""
    at = (rng.random() + np.arange(n)) / n
    return np.minimum(np.searchsorted(np.cumsum(weight), at), len(weight) - 1)


def furthest_stage(spec: TaskSpec, episode: Episode) -> int | None:
    """Index of the last stage the episode completed, -1 for none, None where nobody said."""
    said = episode.fact("outcome")
    stage = said.get("stage") if isinstance(said, dict) else None
    if stage == "":
        return -1
    return spec.stages.index(stage) if stage in spec.stages else None


def failed_at(spec: TaskSpec, furthest: int | None) -> str:
    """Name of the stage after the last completed one; empty where that is not known."""
    return "" if furthest is None else spec.stages[min(furthest + 1, len(spec.stages) - 1)]


def contact_step(spec: TaskSpec, recording: Recording, least: float = 0.05) -> int:
    """First frame at which half of the replays feel a force (truth channels in N); T if none."""
    felt = [recording.truth[c.name] for c in spec.channels if c.unit == "N" and not c.observed]
    if not felt:
        return recording.steps
    touch = (np.concatenate(felt, axis=2).max(axis=2) > least).mean(axis=1) >= 0.5
    return min(int(touch.argmax()) if touch.any() else recording.steps, recording.steps)


def _values(episode: Episode, key: str, width: int) -> np.ndarray:
    signal = episode.signals.get(key)
    if signal is None:
        raise InputError(
            f"Episode {episode.id[:8]} has no signal {key!r}.",
            hint=f"It holds: {', '.join(sorted(episode.signals)) or 'none'}.",
        )
    values = np.asarray(signal.values, dtype=float).reshape(len(signal.values), -1)
    if values.shape[1] != width:
        raise InputError(
            f"Episode {episode.id[:8]}: {key!r} has {values.shape[1]} columns, "
            f"the task has {width}."
        )
    return values


def _shown(spec: TaskSpec, path: str) -> tuple[str, int] | None:
    for c in spec.observed:
        if path in c.reads:
            return c.name, c.reads.index(path)
    return None


def _sensor(
    space: KnobSpace, knobs: np.ndarray, channel: str, field: str, column: int, neutral: float
) -> np.ndarray:
    """(M,) value of a sensor setting as the knobs write it, in the order they do."""
    value = np.full(len(knobs), neutral)
    for i, knob in enumerate(space.knobs):
        for target in knob.targets:
            if not target.path.startswith("sensor:"):
                continue
            _, name, what, index = target.parts()
            if (name, what) != (channel, field) or index not in (None, column):
                continue
            written = target.scale * knobs[:, i]
            value = {"set": written, "add": value + written, "mul": value * written}[target.op]
    return value


def _per_column(values: dict[str, np.ndarray], names: Sequence[str], width: int) -> np.ndarray:
    for name in names:
        if name in values:
            return np.broadcast_to(np.ravel(values[name]), (width,)).astype(float)
    return np.zeros(width)
