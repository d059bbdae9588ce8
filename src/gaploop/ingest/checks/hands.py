"""Grippers that count the other way round than in the other episodes."""

from collections.abc import Iterator, Sequence

import numpy as np

from gaploop.ingest.checks.batch import Said
from gaploop.ingest.checks.odd import middle, of_a_task
from gaploop.ingest.checks.roles import grippers
from gaploop.ingest.checks.summary import Columns
from gaploop.ingest.findings import Seen

_SLACK = 0.1
"""Share of the opening by which the mean may speak against it: some are open half the time."""
_NEAR, _FAR = 0.2, 0.6
"""Shares of the opening within which two positions are one, and beyond which opposite."""


def hands(f: Columns, said: Sequence[Said]) -> Iterator[tuple[int, Seen]]:
    """Episodes that lie on the others only once their gripper is turned round.

    Attempts of one task begin with the hand in one state. An episode that begins in the
    opposite one and stays on that side on average counts the other way, unless all
    attempts of its task do.
    """
    if len(f.index) < 4:
        return
    for d in grippers(f.columns):
        low, high = float(np.median(f.low[d])), float(np.median(f.high[d]))
        if high <= low:
            continue
        start = (f.start[d] - low) / (high - low)
        mean = (f.mean[d] - low) / (high - low)
        moves = (f.high[d] - f.low[d]) > 0.3 * (high - low)
        side = start > 0.5
        usual = bool(side[moves].mean() >= 0.5) if moves.any() else False
        main = moves & (side == usual)
        if main.sum() < 3:
            continue
        begin = float(middle(start[main]))
        typical = _typical(mean, main, [said[int(e)].text for e in f.index])
        odd = moves & (np.abs(start - begin) > _FAR) & (np.abs(1 - start - begin) < _NEAR)
        odd &= np.abs(1 - mean - typical) < np.abs(mean - typical) + _SLACK
        odd &= ~of_a_task(odd, [said[int(e)].text for e in f.index])
        for e in f.index[odd]:
            yield (
                int(e),
                Seen(
                    code="gripper_polarity",
                    severity="warning",
                    feature=f.labels[d],
                    message=f"begins {'closed' if usual else 'open'} if it counts like the other "
                    "episodes, which all begin at the opposite end",
                    fix="State which end is closed; turn these episodes if they count the other "
                    "way round.",
                ),
            )


def _typical(mean: np.ndarray, main: np.ndarray, texts: Sequence[str]) -> np.ndarray:
    """(E,) usual mean opening in each episode's task; over all where a task is rare."""
    named = np.array(texts)
    found = np.full(len(mean), float(middle(mean[main])))
    for text in dict.fromkeys(texts):
        here = named == text
        if (here & main).sum() >= 3:
            found[here] = float(middle(mean[here & main]))
    return found
