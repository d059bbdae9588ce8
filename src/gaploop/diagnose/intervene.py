"""The policy rerun with one gap's knobs put back to what it was trained on."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from gaploop.core import Judgement
from gaploop.diagnose.shapley import Coalition

Rerun = Callable[[np.ndarray, np.ndarray, np.ndarray], Judgement]
"""(knobs (M, P), layout (M, S), seeds (M,)) to the judgement of M closed-loop attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Particles:
    """n worlds conditioned on one episode, each with its own noise seed."""

    knobs: np.ndarray
    """(n, P)"""
    layout: np.ndarray
    """(n, S) start as each world infers it."""
    seeds: np.ndarray
    """(n,) uint64"""
    trained: np.ndarray
    """(n, P) a draw of what the policy was trained on, a row a particle."""

    def __len__(self) -> int:
        return len(self.seeds)

    def put_back(self, columns: Iterable[int]) -> np.ndarray:
        """(n, P) knobs with these columns as in training."""
        rows = self.knobs.copy()
        chosen = list(columns)
        rows[:, chosen] = self.trained[:, chosen]
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What each coalition of put-back gaps led to."""

    success: dict[Coalition, np.ndarray]
    """Coalition to (n,) bool."""
    as_is: Judgement
    """Of the n particles with nothing put back."""
    simulations: int
    """Distinct attempts that were run."""

    def value(self) -> dict[Coalition, float]:
        """Success rate a coalition."""
        return {c: float(s.mean()) for c, s in self.success.items()}

    def count(self, coalition: Coalition) -> tuple[int, int]:
        """(k, n) successes."""
        done = self.success[coalition]
        return int(done.sum()), len(done)


def intervene(
    rerun: Rerun,
    particles: Particles,
    columns: Mapping[str, tuple[int, ...]],
    sets: Iterable[Coalition],
) -> Outcomes:
    """Run every coalition in one batch, equal attempts once.

    Args:
      rerun: runs attempts closed loop.
      particles: the n worlds; all coalitions share their seeds.
      columns: player to its knob columns.
      sets: coalitions of players to put back together.
    """
    wanted = [frozenset(), *(s for s in dict.fromkeys(sets) if s)]
    stacked = np.concatenate(
        [particles.put_back(c for player in s for c in columns[player]) for s in wanted]
    )
    n, m = len(particles), len(wanted)
    identity = np.column_stack([stacked, np.tile(np.arange(n), m)])
    _, first, inverse = np.unique(identity, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # the first n stay the particles as they are
    first = first[order]
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    judged = rerun(stacked[first], particles.layout[first % n], particles.seeds[first % n])
    done = judged.success[position[inverse.ravel()]].reshape(m, n)
    return Outcomes(
        success=dict(zip(wanted, done, strict=True)),
        as_is=_head(judged, n),
        simulations=len(first),
    )


def _head(judged: Judgement, n: int) -> Judgement:
    return Judgement(
        success=judged.success[:n],
        second=judged.second[:n],
        stage=judged.stage[:n],
        margin=judged.margin[:n],
        onset=judged.onset[:n],
        weights=judged.weights[:, :n],
        tags=judged.tags[:n],
    )
