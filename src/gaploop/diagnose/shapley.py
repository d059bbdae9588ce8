"""Exact Shapley values over a handful of gaps.

Shapley (1953), A value for n-person games: phi_i = sum over coalitions S
without i of |S|! (n - |S| - 1)! / n! * (v(S + i) - v(S)). Exact, because the
gaps are at most six.
"""

from collections.abc import Mapping
from itertools import combinations
from math import factorial

Coalition = frozenset[str]


def coalitions(players: tuple[str, ...]) -> tuple[Coalition, ...]:
    """All 2^n coalitions, the empty one first, then by size."""
    return tuple(
        frozenset(c) for size in range(len(players) + 1) for c in combinations(players, size)
    )


def shapley(players: tuple[str, ...], value: Mapping[Coalition, float]) -> dict[str, float]:
    """Each player's share of value(all) - value(none).

    Args:
      players: names, in any order.
      value: the value of every coalition of them.
    """
    n = len(players)
    shares = dict.fromkeys(players, 0.0)
    for coalition in coalitions(players):
        size = len(coalition)
        for player in players:
            if player in coalition:
                continue
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            shares[player] += weight * (value[coalition | {player}] - value[coalition])
    return shares
