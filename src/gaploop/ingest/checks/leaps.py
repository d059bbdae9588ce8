"""Commands and readings that leap once where they otherwise move smoothly."""

from collections.abc import Iterator

import numpy as np

from gaploop.ingest.checks.roles import grippers, quaternions
from gaploop.ingest.checks.summary import Columns
from gaploop.ingest.findings import Seen

_JUMP = 5.0
"""How many times as far from its neighbours as any frame of a usual episode a leap lies."""
_ALONE = 4.0
"""How many times as far as 90 % of the episode's own frames."""
_LEAST = 0.15
"""Share of a column's travel below which nothing is a leap."""
_PLACES = ("rad", "deg", "mrad", "m", "cm", "mm", "um")
_FIX = {
    "action_jump": "Lost commands, a wrapped angle or a takeover: look at the row.",
    "reading_jump": "A sensor glitch, a wrapped angle or lost rows: look at the row.",
}


def leaps(f: Columns) -> Iterator[tuple[int, Seen]]:
    """A reading far from its neighbours, for the other episodes and for its own frames.

    What has mass bends its path gradually, however fast it moves: the distance from the
    middle of both neighbours stays small, where a step between two frames does not.
    """
    if len(f.index) < 3 or not (f.key.startswith("action") or _place(f)):
        return
    turned = {i + k for i, _ in quaternions(f.columns) for k in range(4)}
    skipped = {*grippers(f.columns), *turned}
    usual = np.median(f.kink, axis=1)
    span = f.span
    code = "action_jump" if f.key.startswith("action") else "reading_jump"
    for d in range(len(f.columns)):
        if d in skipped or usual[d] <= 0 or usual[d] > 0.15 * span[d]:
            continue
        # one leap among smooth frames, not an episode in another unit
        travel = np.maximum(span[d], f.high[d] - f.low[d])
        found = (f.kink[d] > _JUMP * usual[d]) & (f.kink[d] > _LEAST * travel)
        found &= f.kink[d] > _ALONE * f.bend[d]
        for e in np.flatnonzero(found):
            yield (
                int(f.index[e]),
                Seen(
                    code=code,
                    severity="warning",
                    feature=f.labels[d],
                    message=f"leaves its path by {f.kink[d, e]:.4g} in row {f.kink_row[d, e]}; "
                    f"{usual[d]:.4g} is the most in a usual episode",
                    fix=_FIX[code],
                ),
            )


def _place(f: Columns) -> bool:
    """Whether a feature says where something is: what has mass does not leap."""
    if not f.key.startswith("observation."):
        return False
    return f.unit in _PLACES or (f.unit == "raw" and f.key == "observation.state")
