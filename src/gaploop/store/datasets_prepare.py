"""Episodes made fit for a dataset: single precision, stamps on the grid."""

from dataclasses import replace

import numpy as np

from gaploop.core.episode import Episode
from gaploop.core.errors import InputError
from gaploop.core.signal import Signal
from gaploop.store import datasets_layout as layout


def as_stored(
    episode: Episode,
    fps: float,
    *,
    where: str = "the episode",
    finite: bool = True,
    exact: bool = False,
) -> Episode:
    """The episode as reading it back gives it: stamps on the grid, and numbers in single
    precision unless `exact`.

    Raises:
      InputError: when a signal does not fit the format; names the signal and the row.
    """
    if not episode.signals:
        raise InputError(f"{where} has no signals.")
    lengths = {key: len(s.values) for key, s in episode.signals.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise InputError(f"{where} has signals of different lengths, or empty ones: {lengths}.")
    times = np.arange(next(iter(lengths.values()))) / float(fps)
    signals = {
        k: _stored_signal(k, s, times, where, finite, exact)
        for k, s in sorted(episode.signals.items())
    }
    return replace(episode, signals=signals)


def _stored_signal(
    key: str, signal: Signal, times: np.ndarray, where: str, finite: bool, exact: bool
) -> Signal:
    if key in layout.COUNTERS or "/" in key or not key:
        raise InputError(f"{where}: a signal cannot be called {key!r} in a dataset.")
    late = np.flatnonzero(~(np.abs(signal.times - times) <= layout.GRID_TOLERANCE))
    if len(late):
        raise InputError(
            f"{where}, signal {key!r}, row {late[0]}: stamp {signal.times[late[0]]:.6g} s, and"
            f" {times[late[0]]:.6g} s was expected.",
            hint="Resample it to the dataset's rate first.",
        )
    values = signal.values
    if values.ndim not in (1, 2) or values.dtype.kind not in "fiub" or values[0].size == 0:
        raise InputError(
            f"{where}, signal {key!r}: {values.dtype} of shape {values.shape} cannot be stored.",
            hint="Expected numbers of shape (T,) or (T, d).",
        )
    width = 1 if values.ndim == 1 else values.shape[1]
    if signal.columns and len(signal.columns) != width:
        raise InputError(
            f"{where}, signal {key!r}: {len(signal.columns)} column names for {width} columns."
        )
    if values.dtype.kind == "f":
        kind = np.float64 if exact and values.dtype == np.float64 else np.float32
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(values, dtype=kind)
        bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
        if finite and len(bad):
            raise InputError(
                f"{where}, signal {key!r}, row {bad[0]}: not a finite number.",
                hint="Repair or set the episode aside first.",
            )
    elif values.dtype.kind in "iu":
        values = values.astype(np.int64)
    return replace(signal, name=key, times=times, values=values)
