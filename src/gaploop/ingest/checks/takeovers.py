"""The leap a command makes when a person takes over or hands back."""

from collections.abc import Iterator

import numpy as np

from gaploop.core import HELD
from gaploop.ingest.checks.batch import Batch
from gaploop.ingest.checks.roles import grippers
from gaploop.ingest.checks.summary import Watcher
from gaploop.ingest.findings import Seen

_LEAP = 4.0
"""How many times larger than any step just before and after it a leap is."""
_NEAR = 5
"""Frames before and after that say how fast the command moves at the time."""
_LEAST = 0.05
"""Share of a column's travel below which a step is no leap."""


class Takeovers(Watcher):
    """Looks at the frames in which `intervention` changes."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self._seen: list[tuple[int, Seen]] = []

    def see(self, batch: Batch) -> None:
        held, action = batch.streams.get(HELD), batch.streams.get("action")
        if held is None or action is None or held.times is not action.times:
            return
        edges = np.flatnonzero(held.steps[0] != 0)
        if not len(edges):
            return
        hands = grippers(action.columns)
        owner = np.searchsorted(action.bounds, edges, side="right") - 1
        span = np.maximum(np.median(action.high - action.low, axis=1), 1e-12)
        for e in np.unique(owner):
            rows = action.rows(int(e))
            size = np.abs(action.steps[:, rows])
            size[hands] = 0
            at = edges[owner == e] - rows.start
            usual = np.stack([_around(size, int(k)) for k in at], axis=1)
            leaps = (size[:, at] > _LEAP * usual) & (size[:, at] > _LEAST * span[:, None])
            if not leaps.any():
                continue
            d, k = np.unravel_index(
                np.argmax(np.where(leaps, size[:, at] / span[:, None], 0)), leaps.shape
            )
            self._seen.append(
                (
                    batch.first + int(e),
                    Seen(
                        code="intervention_jump",
                        severity="warning",
                        feature=action.labels[d],
                        message=f"leaps by {size[d, at[k]]:.4g} where control changes hands "
                        f"(row {at[k]})",
                        fix="Leave the frames round the change out of training, or blend them.",
                    ),
                )
            )

    def say(self) -> Iterator[tuple[int, Seen]]:
        yield from self._seen


def _around(size: np.ndarray, row: int) -> np.ndarray:
    """(d,) largest step in the frames round one, itself apart."""
    first = max(0, row - _NEAR)
    near = np.delete(size[:, first : row + _NEAR + 1], row - first, axis=1)
    return near.max(axis=1, initial=0.0)
