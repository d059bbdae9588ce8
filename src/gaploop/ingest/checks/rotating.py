"""Quaternion columns: their norm, and which of the four is the real part."""

from collections.abc import Iterator, Sequence

import numpy as np

from gaploop.ingest.checks.batch import Batch, Said, Stream, reduce
from gaploop.ingest.checks.odd import of_a_task
from gaploop.ingest.checks.roles import quaternions
from gaploop.ingest.checks.summary import Watcher
from gaploop.ingest.findings import Seen

_OFF_NORM = 0.01
_APART = 2.0
"""How many times farther off than nearly all others the turned episodes must lie."""
_OPPOSITE = -0.5
"""Product of neighbouring quaternions from which one is the other's opposite."""
_SURE = 3.0
"""How many times nearer the turned order must lie than the stored one."""


class Rotations(Watcher):
    """Keeps norm and mean size of each part a quaternion and episode."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self._parts: dict[tuple[str, str], list[tuple[np.ndarray, ...]]] = {}

    def see(self, batch: Batch) -> None:
        for stream in batch.streams.values():
            for at, order in quaternions(stream.columns):
                self._add(batch.first, stream, at, order)

    def say(self, said: Sequence[Said]) -> Iterator[tuple[int, Seen]]:
        for (feature, order), parts in self._parts.items():
            index, worst, sizes, ahead, flips = (
                np.concatenate([p[k] for p in parts], axis=-1) for k in range(5)
            )
            yield from _norms(feature, index, worst)
            yield from _flips(feature, index, flips)
            texts = [said[int(e)].text for e in index]
            yield from _orders(feature, order, index, sizes, ahead, texts)

    def _add(self, first: int, stream: Stream, at: int, order: str) -> None:
        q = stream.x[at : at + 4].astype(np.float64)
        off = np.abs(np.sqrt(np.sum(q * q, axis=0)) - 1)
        full = np.flatnonzero(stream.lengths > 0)
        sizes = reduce(np.add, np.abs(q), stream.bounds) / np.maximum(stream.lengths, 1)
        signed = reduce(np.minimum, q, stream.bounds)
        # writers that settle the sign keep the real part positive
        ahead = signed >= -1e-6
        turned = np.zeros(q.shape[1])
        turned[1:] = np.sum(q[:, 1:] * q[:, :-1], axis=0) < _OPPOSITE
        turned[stream.bounds[:-1][full]] = 0
        feature = f"{stream.key}[{stream.columns[at]}..{stream.columns[at + 3]}]"
        self._parts.setdefault((feature, order), []).append(
            (
                first + full,
                reduce(np.maximum, off, stream.bounds)[full],
                sizes[:, full],
                ahead[:, full],
                reduce(np.add, turned, stream.bounds)[full],
            )
        )


def _norms(feature: str, index: np.ndarray, worst: np.ndarray) -> Iterator[tuple[int, Seen]]:
    """A norm off 1, where most episodes keep it: no quaternions at all are no finding."""
    if np.median(worst) > 0.5:
        return
    for e, off in zip(index, worst, strict=True):
        if off > _OFF_NORM:
            yield (
                int(e),
                Seen(
                    code="quaternion_norm",
                    severity="error",
                    feature=feature,
                    message=f"its norm is up to {off:.3g} off 1",
                    fix="Normalise where it was only rounded; look at the writer where it is "
                    "scaled or interpolated.",
                ),
            )


def _flips(feature: str, index: np.ndarray, flips: np.ndarray) -> Iterator[tuple[int, Seen]]:
    """The same rotation written with the opposite sign from one frame to the next."""
    for e, count in zip(index, flips, strict=True):
        if count:
            yield (
                int(e),
                Seen(
                    code="quaternion_sign",
                    severity="warning",
                    feature=feature,
                    message=f"changes to the opposite quaternion {int(count)} times: the same "
                    "rotation in other numbers",
                    fix="Turn the sign wherever the product with the frame before is negative.",
                ),
            )


def _orders(
    feature: str,
    order: str,
    index: np.ndarray,
    sizes: np.ndarray,
    ahead: np.ndarray,
    texts: Sequence[str],
) -> Iterator[tuple[int, Seen]]:
    """Episodes that lie on the others only after their four columns are turned by one."""
    if len(index) < 3:
        return
    turned = _turned(sizes)
    if not turned.any() or turned.all():
        return
    if turned.sum() > 0.8 * (~turned).sum() and _real_first(ahead, turned, order):
        turned = ~turned
    # a task that holds the hand another way is not written another way
    turned &= ~of_a_task(turned, texts)
    named = "w x y z" if order == "wxyz" else "x y z w"
    other = "x y z w" if order == "wxyz" else "w x y z"
    for e in index[turned]:
        yield (
            int(e),
            Seen(
                code="quaternion_order",
                severity="error",
                feature=feature,
                message=f"its parts lie as {other} where the other episodes lie as named, {named}",
                fix="Turn the four columns of these episodes; the numbers stay as they are.",
            ),
        )


def _turned(sizes: np.ndarray) -> np.ndarray:
    """(E,) mask of episodes nearer to the others when turned by one place.

    Only where the others lie together: of a thing that tumbles freely any order looks
    like any other.
    """
    reference = _middle(sizes)
    straight = np.abs(sizes - reference[:, None]).sum(axis=0)
    mask = np.zeros(sizes.shape[1], dtype=bool)
    for turn in (1, -1):
        shifted = np.abs(np.roll(sizes, turn, axis=0) - reference[:, None]).sum(axis=0)
        mask |= (straight > _SURE * shifted) & (straight > 0.1)
    if not mask.any() or mask.all():
        return mask
    apart = np.median(straight[mask]) > _APART * np.quantile(straight[~mask], 0.9)
    return mask if apart else np.zeros_like(mask)


def _middle(sizes: np.ndarray) -> np.ndarray:
    """The episode (4,) nearest to most others: a median of two mixed orders is neither."""
    some = sizes[:, :: max(1, sizes.shape[1] // 64)]
    apart = np.abs(some[:, :, None] - some[:, None, :]).sum(axis=0)
    return some[:, int(np.argmin(np.quantile(apart, 0.3, axis=1)))]


def _real_first(ahead: np.ndarray, turned: np.ndarray, order: str) -> bool:
    """Whether the turned episodes are the ones that keep the named real part positive."""
    real = 0 if order == "wxyz" else 3
    return bool(ahead[real, turned].mean() > ahead[real, ~turned].mean() + 0.2)
