"""Signals of many clocks on one grid, as a dataset of rows wants them."""

from dataclasses import replace

import numpy as np

from gaploop.core import Episode, InputError, Label, Signal, declared

_LONGEST = 10_000_000
"""Rows; more comes of a wrong stamp."""


def on_grid(episode: Episode, fps: float) -> Episode:
    """The episode with every signal at `fps` rows a second, from where all have begun.

    Commands, whole numbers and switches are held until the next one, for that is what the
    robot did; readings are interpolated in between. What was done stands in a fact, and
    the original is the episode's parent. One that lies on that grid already comes back as
    it is.

    Raises:
      InputError: when the signals do not overlap, or the grid would be endless.
    """
    if _lies(episode, fps):
        return episode
    spans = [(s.times[0], s.times[-1]) for s in episode.signals.values() if len(s.times)]
    if len(spans) < len(episode.signals) or not spans:
        raise InputError(f"{episode.source}: a signal is empty, so nothing can be aligned.")
    start, end = max(a for a, _ in spans), min(b for _, b in spans)
    rows = int(np.floor((end - start) * fps + 1e-6)) + 1
    if end < start or rows > _LONGEST:
        raise InputError(
            f"{episode.source}: its signals overlap from {start:.3f} s to {end:.3f} s, which is "
            f"no stretch to put at {fps:g} Hz.",
            hint="A topic that came once, or stamps of two clocks? Leave it out.",
        )
    grid = start + np.arange(rows) / fps
    signals = {k: _resampled(s, grid) for k, s in episode.signals.items()}
    contract = replace(episode.contract, log_rate=declared(float(fps)))
    made = replace(
        episode, signals=signals, contract=contract, parents=(episode.id,), facts=(), cameras={}
    )
    told = {
        "fps": fps,
        "from_s": round(float(start), 9),
        "rates_hz": {k: round(float(s.rate), 3) for k, s in episode.signals.items()},
    }
    facts = [
        replace(f, subject=made.id, span=None if f.span is None else _moved(f.span, start))
        for f in episode.facts
    ]
    resampled = Label(subject=made.id, key="resampled", value=told, author="gaploop align")
    return replace(made, facts=(*facts, resampled))


# -- inside -------------------------------------------------------------------


def _lies(episode: Episode, fps: float) -> bool:
    lengths = {len(s.times) for s in episode.signals.values()}
    if len(lengths) != 1:
        return False
    grid = np.arange(lengths.pop()) / fps
    return all(np.abs(s.times - grid).max(initial=0) <= 1e-4 for s in episode.signals.values())


def _resampled(signal: Signal, grid: np.ndarray) -> Signal:
    values = signal.values.reshape(len(signal.values), -1)
    held = signal.name.startswith("action") or values.dtype.kind not in "f"
    if held:
        at = np.searchsorted(signal.times, grid + 1e-9, side="right") - 1
        table = values[np.clip(at, 0, None)]
    else:
        table = np.stack(
            [np.interp(grid, signal.times, column) for column in values.T], axis=1
        ).astype(values.dtype)
    return replace(signal, times=grid - grid[0], values=table)


def _moved(span: tuple[float, float], start: float) -> tuple[float, float]:
    return float(span[0] - start), float(span[1] - start)
