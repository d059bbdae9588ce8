"""Which demonstrations a policy is trained on, of all that the rounds have made."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaploop.core import Episode, Posterior
from gaploop.turn import Turn


def demonstrations(turn: Turn) -> tuple[list[list[Episode]], list[float]]:
    """Each round's demonstrations that are still believed in, and their weights.

    Each older round weighs half, and of it only what was made in worlds that the logs have not
    ruled out since: the strike that was right for a puck of yesterday's friction is wrong for
    the puck there is, and nothing a policy sees before it strikes tells the two apart.
    """
    posterior = aimed(turn.need("posterior", Posterior))
    rounds = [k for k in range(turn.number + 1) if turn.refs.get(f"data@r{k}")]
    sources: list[list[Episode]] = []
    weights: list[float] = []
    for k in rounds:
        made = turn.episodes("data", turn.number - k)
        # what was made last is kept, whatever came since
        kept = made if k == rounds[-1] else _believed(made, posterior)
        if kept:
            sources.append(kept)
            weights.append(2.0**k * len(kept) / len(made))
    return sources, weights


def _believed(episodes: Sequence[Episode], posterior: Posterior) -> list[Episode]:
    """Those made in worlds that the posterior's shipped draws still hold."""
    ran = [e.fact("attempt") for e in episodes]
    names = posterior.space.names
    knobs = np.array([[r["knobs"][n] for n in names] for r in ran if isinstance(r, dict)])
    held = posterior.holds(knobs.reshape(-1, len(names)), shipped=True)
    known = [e for e, r in zip(episodes, ran, strict=True) if isinstance(r, dict)]
    return [e for e, good in zip(known, held, strict=True) if good]


def aimed(posterior: Posterior) -> Posterior:
    """What data is made for: the posterior, its units shown in turn where they differ."""
    if not posterior.shifts:
        return posterior
    shifts = [shift for _, shift in sorted(posterior.shifts.items())]
    rows = np.stack([shifts[i % len(shifts)] for i in range(len(posterior.shipped))])
    return replace(posterior, shipped=posterior.shipped + rows, shifts={})
