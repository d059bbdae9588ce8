"""Where a logged attempt began, as far as its log and a draw of the knobs say."""

import numpy as np

from gaploop.core import Episode, KnobSpace, TaskSpec


def start_given(
    episode: Episode, spec: TaskSpec, space: KnobSpace, knobs: np.ndarray
) -> np.ndarray:
    """(S,) start of a logged episode, if the knobs were `knobs` (P,).

    A log shows readings, not the truth: a start variable that a channel reads
    is that channel's reading (first row of a joint, mean of what stands still)
    less the bias the knobs claim. One that no channel reads is the `layout`
    fact, or the middle of its range.
    """
    stated = episode.fact("layout")
    start = np.array([0.5 * (v.low + v.high) for v in spec.layout])
    for i, variable in enumerate(spec.layout):
        found = _reading(episode, spec, {t.path for t in variable.targets})
        if found is not None:
            value, channel, column = found
            start[i] = value - _bias(space, knobs, channel, column)
        elif stated is not None:
            start[i] = stated[variable.name] if isinstance(stated, dict) else stated[i]
    return np.clip(start, [v.low for v in spec.layout], [v.high for v in spec.layout])


def _reading(episode: Episode, spec: TaskSpec, paths: set[str]) -> tuple[float, str, int] | None:
    for channel in spec.observed:
        signal = episode.signals.get(channel.key)
        for column, path in enumerate(channel.reads):
            if signal is not None and path in paths:
                values = signal.values.reshape(len(signal.times), -1)[:, column]
                still = path.startswith(("mocap:", "body:", "site:"))
                return float(np.mean(values) if still else values[0]), channel.name, column
    return None


def _bias(space: KnobSpace, knobs: np.ndarray, channel: str, column: int) -> float:
    path = f"sensor:{channel}.bias[{column}]"
    return sum(
        float(t.scale * knobs[i])
        for i, knob in enumerate(space.knobs)
        for t in knob.targets
        if t.path == path
    )
