"""The leap a command makes when a person takes over or hands back."""

from collections.abc import Iterator

import numpy as np

from gaploop.core import HELD
from gaploop.ingest.checks.batch import Batch
from gaploop.ingest.checks.roles import grippers
from gaploop.ingest.checks.summary import Watcher
from gaploop.ingest.findings import Seen

_LEAP = 2.5
"""How many times farther off the path than any frame just before and after it a leap is."""
_NEAR = 5
"""Frames before and after that say how the command moves at the time."""
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
            bend, usual = _bends(action.steps[:, rows], at)
            leaps = (bend > _LEAP * usual) & (size[:, at] > _LEAST * span[:, None])
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


def _bends(steps: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d, K) how far the step into each row is from those beside it, and the most around."""
    n = steps.shape[1]
    bend, usual = np.zeros((2, len(steps), len(at)))
    for k, row in enumerate(at):
        near = steps[:, max(1, row - _NEAR) : row + _NEAR + 1]
        here = row - max(1, row - _NEAR)
        others = np.delete(near, here, axis=1)
        beside = steps[:, [max(1, row - 1), min(n - 1, row + 1)]].mean(axis=1)
        bend[:, k] = np.abs(steps[:, row] - beside)
        # the step itself is left out, so that its neighbours are compared with each other
        usual[:, k] = np.abs(np.diff(others, axis=1)).max(axis=1, initial=0.0)
    return bend, usual
