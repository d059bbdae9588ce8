"""Logged episodes, ready to be replayed open loop at any candidate.

The start comes from the log. A layout variable that an observed channel reads is that
channel's reading (the first one, or the median of what cannot move), taken back through
the candidate's own bias and scale of that channel: a candidate that says "the pose reads
2 mm too far" also says where the hole really was.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core import Attempts, Channel, Episode, InputError, KnobSpace, TaskSpec, spawn
from gaploop.sim import World

_SETTLE = 6
"""Frames kept after the last command has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pin:
    """A layout variable and the channel column that shows it."""

    variable: int
    reading: np.ndarray
    """(E,) logged."""
    channel: str
    column: int


class Replay:
    """E logs of one task against a world."""

    def __init__(self, world: World, episodes: Sequence[Episode]) -> None:
        """Raises InputError for an episode without the task's signals."""
        spec, self.space = world.spec, world.space
        self._world, self.episodes = world, tuple(episodes)
        raw = [_values(e, "action", spec.command) for e in episodes]
        length = _useful(raw)
        self.commands = np.stack([_pad(c, length) for c in raw], axis=1)  # (T, E, a)
        self._late = np.arange(length)[None] >= np.array([len(c) for c in raw])[:, None]
        logged = {
            c.name: np.stack([_pad(_values(e, c.key, c.columns), length) for e in episodes])
            for c in spec.observed
        }
        self._pins = _pins(spec, logged)
        self.static = tuple(c.name for c in spec.observed if _static(c))
        self.channels = tuple(c for c in spec.observed if not _static(c))
        if not self.channels:
            raise InputError(f"Task {spec.name!r} has no observed channel that moves.")
        self.logged = logged
        self._stacked = np.concatenate([logged[c.name] for c in self.channels], axis=2)
        low, high = (np.array([getattr(v, s) for v in spec.layout]) for s in ("low", "high"))
        self._layout = 0.5 * (low + high)
        # the same noise-free attempt a log for every candidate
        self._seeds = np.array([spawn(0, "replay", i) for i in range(len(raw))], dtype=np.uint64)

    @property
    def range(self) -> np.ndarray:
        """(D,) span of each moving column over all logs, the largest of its channel."""
        spans, at = [], 0
        for c in self.channels:
            part = self._stacked[..., at : at + len(c.columns)]
            widest = float(np.ptp(part.reshape(-1, len(c.columns)), axis=0).max())
            # a reading that never moves has no span to be measured by; one unit hides nothing
            spans += [widest or 1.0] * len(c.columns)
            at += len(c.columns)
        return np.array(spans)

    def layout(self, values: np.ndarray) -> np.ndarray:
        """(M, P) candidates to (M, E, S) start variables."""
        out = np.tile(self._layout, (len(values), len(self.episodes), 1))
        for pin in self._pins:
            bias = sensor(self.space, values, pin.channel, "bias", pin.column, 0.0)
            scale = sensor(self.space, values, pin.channel, "scale", pin.column, 1.0)
            out[:, :, pin.variable] = (pin.reading[None] - bias[:, None]) / scale[:, None]
        return out

    def residuals(self, values: np.ndarray) -> np.ndarray:
        """(M, P) candidates to (M, E, T, D) logged minus replayed, moving columns stacked.

        NaN where a replay diverged; 0 after the end of a short log.
        """
        many, logs = len(values), len(self.episodes)
        attempts = Attempts(
            layout=self.layout(values).reshape(many * logs, -1),
            knobs=np.repeat(values, logs, axis=0),
            seeds=np.tile(self._seeds, many),
        )
        commands = np.tile(self.commands, (1, many, 1))
        record = self._world.replay(attempts, commands, noise=False)
        shown = np.concatenate([record.signals[c.name] for c in self.channels], axis=2)
        shown[:, record.void] = np.nan
        shown = np.moveaxis(shown, 0, 1).reshape(many, logs, *self._stacked.shape[1:])
        return np.where(self._late[None, :, :, None], 0.0, self._stacked[None] - shown)


def sensor(
    space: KnobSpace, values: np.ndarray, channel: str, field: str, column: int, neutral: float
) -> np.ndarray:
    """(M,) what candidates set `sensor:CHANNEL.FIELD` of one column to."""
    out = np.full(len(values), neutral)
    for i, knob in enumerate(space.knobs):
        for target in knob.targets:
            kind, name, at, index = target.parts()
            if (kind, name, at) != ("sensor", channel, field) or index not in (None, column):
                continue
            write = target.scale * values[:, i]
            out = {"set": write, "add": out + write, "mul": out * write}[target.op]
    return out


def _pins(spec: TaskSpec, logged: dict[str, np.ndarray]) -> tuple[_Pin, ...]:
    pins: list[_Pin] = []
    for channel in spec.observed:
        for column, path in enumerate(channel.reads):
            for i, variable in enumerate(spec.layout):
                if not any(t.path == path for t in variable.targets):
                    continue
                x = logged[channel.name][:, :, column]
                start = np.median(x, axis=1) if _static(channel) else x[:, 0]
                pins.append(_Pin(variable=i, reading=start, channel=channel.name, column=column))
    return tuple(pins)


def _static(channel: Channel) -> bool:
    """Whether nothing in the simulation moves what this channel reads."""
    return all(path.startswith("mocap:") for path in channel.reads)


def _values(episode: Episode, key: str, columns: tuple[str, ...]) -> np.ndarray:
    """(T, d) float64 of one signal, checked against what the task expects."""
    where = episode.source or f"episode {episode.id[:8]}"
    if key not in episode.signals:
        raise InputError(
            f"{where} has no {key!r}.", hint=f"It holds {', '.join(sorted(episode.signals))}."
        )
    x = np.asarray(episode.signals[key].values, dtype=float)
    x = x.reshape(len(x), -1)
    if x.shape[1] != len(columns) or not len(x):
        raise InputError(
            f"{key!r} of {where} has shape {x.shape}.",
            hint=f"The task expects columns {', '.join(columns)}.",
        )
    bad = ~np.isfinite(x).all(axis=1)
    if bad.any():
        raise InputError(
            f"{key!r} of {where} is not finite in row {int(bad.argmax())}.",
            hint="Screen the log before calibrating.",
        )
    return x


def _useful(commands: list[np.ndarray]) -> int:
    """Frames until all commands have stood still for a while: the rest repeats itself."""
    last = 1
    for c in commands:
        still = 1e-3 * np.ptp(c, axis=0).max()
        moving = np.flatnonzero((np.abs(np.diff(c, axis=0)) > still).any(axis=1))
        last = max(last, int(moving[-1]) + 1 if len(moving) else 1)
    return min(max(len(c) for c in commands), last + _SETTLE)


def _pad(x: np.ndarray, length: int) -> np.ndarray:
    """(T, d) cut or held to (length, d)."""
    x = x[:length]
    return np.concatenate([x, np.repeat(x[-1:], length - len(x), axis=0)])
