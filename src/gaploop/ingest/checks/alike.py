"""Episodes that are nearly the same: one recording, exported twice with other cuts or digits."""

from collections.abc import Iterator, Sequence

import numpy as np

from gaploop.ingest.checks.batch import Batch, Said, Stream
from gaploop.ingest.checks.summary import Watcher
from gaploop.ingest.findings import Seen

_SAMPLES, _EVERY = 24, 0.25
"""Readings kept of an episode from either end, and s between them."""
_NEAR, _TYPICAL = 0.03, 0.01
"""Share of a column's travel that two readings of copies differ by at most, and in the mean.

No person, and hardly a controller, repeats a motion that well in all joints at once.
"""
_LEAST = 12
_HABIT = 1 / 3
"""Share of episodes with a twin from which repeating a reference is what the set does."""
_KEYS = 8
_FEW = 1500
"""Episodes that are compared pair by pair."""


class Alike(Watcher):
    """Keeps some readings of each episode, counted from its start and from its end."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self._parts: dict[tuple[str, tuple[str, ...]], list[tuple[np.ndarray, ...]]] = {}

    def see(self, batch: Batch) -> None:
        stream = batch.streams.get("observation.state") or batch.streams.get("action")
        if stream is None or not stream.x.shape[1] or stream.values.dtype.kind != "f":
            return
        steps = np.diff(stream.times[:4096])
        period = float(np.median(steps[steps > 0])) if np.any(steps > 0) else 1.0
        stride = max(1, round(_EVERY / period))
        part = (
            batch.first + np.arange(batch.episodes),
            stream.lengths // stride,
            (stream.high - stream.low).astype(np.float32),
            _sketch(stream, stride, ends=False),
            _sketch(stream, stride, ends=True),
        )
        self._parts.setdefault((stream.key, stream.columns), []).append(part)

    def say(self, said: Sequence[Said], known: set[int]) -> Iterator[tuple[int, Seen]]:
        """known: episodes that are exact copies of others."""
        for (key, _), parts in self._parts.items():
            index = np.concatenate([p[0] for p in parts])
            samples = np.concatenate([p[1] for p in parts])
            span = np.median(np.concatenate([p[2] for p in parts], axis=1), axis=1)
            width = np.maximum(span, 0.2 * np.median(span))
            if len(index) < 3 or not np.any(width > 0):
                continue
            twins: dict[int, int] = {}
            for which in (3, 4):
                table = np.concatenate([p[which] for p in parts], axis=0)
                table = table[:, :, width > 0] / width[width > 0]
                for a, b in _twins(table, samples):
                    if int(index[b]) not in known and int(index[a]) not in known:
                        twins.setdefault(b, a)
            if len(twins) > _HABIT * len(index):
                continue
            for b, a in sorted(twins.items()):
                yield int(index[b]), _seen(key, said, int(index[a]))


def _seen(key: str, said: Sequence[Said], original: int) -> Seen:
    return Seen(
        code="near_duplicate",
        severity="warning",
        feature=key,
        message=f"goes the same way as {said[original].source or f'episode {original}'} to "
        f"within {100 * _TYPICAL:.0f} % of its travel",
        fix="One recording cut or rounded twice: keep one, and never one on each side of a split.",
    )


def _sketch(stream: Stream, stride: int, ends: bool) -> np.ndarray:
    """(E, samples, d) readings; NaN past the other end."""
    out = np.full((len(stream.lengths), _SAMPLES, stream.width), np.nan, np.float32)
    for e, length in enumerate(stream.lengths):
        n = min(_SAMPLES, -(-int(length) // stride))
        start = stream.bounds[e]
        at = stride * np.arange(n)
        out[e, :n] = stream.x[:, stream.bounds[e + 1] - 1 - at if ends else start + at].T
    return out


def _twins(table: np.ndarray, samples: np.ndarray) -> Iterator[tuple[int, int]]:
    """(earlier, later) places of episodes whose readings agree."""
    _n, _, d = table.shape
    fit = np.flatnonzero(np.isfinite(table[:, _LEAST - 1]).all(axis=1))
    if len(fit) < 2:
        return
    early = table[fit, :_LEAST].reshape(len(fit), -1).astype(float)
    # the readings in which episodes differ most tell them apart fastest
    keys = np.argsort(-early.std(axis=0), kind="stable")[:: max(1, d // 2)][:_KEYS]
    for i, j in _near(early[:, keys]):
        a, b = fit[i], fit[j]
        both = np.isfinite(table[a, :, 0]) & np.isfinite(table[b, :, 0])
        one, other = table[a, both], table[b, both]
        covered = both.sum() >= 0.5 * min(samples[a], samples[b], 2 * _SAMPLES)
        moved = np.median(np.ptp(one, axis=0)) > 0.3
        apart = np.abs(one - other)
        if covered and moved and apart.max() < _NEAR and apart.mean() < _TYPICAL:
            yield int(a), int(b)


def _near(x: np.ndarray) -> np.ndarray:
    """(P, 2) pairs i < j of rows within `_NEAR` of one another in every column."""
    if len(x) <= _FEW:
        close = np.ones((len(x), len(x)), dtype=bool)
        for column in x.T:
            close &= np.abs(column[:, None] - column[None, :]) <= _NEAR
        return np.argwhere(np.triu(close, 1))
    from scipy.spatial import KDTree  # takes a while to load

    pairs = KDTree(x).query_pairs(_NEAR, p=np.inf, output_type="ndarray")
    return np.sort(pairs, axis=1)
