"""One call after the other, here."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


class Serial:
    """Runs calls in this process. The first error ends the map."""

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Sequence[B]:
        """`function` of each item, in order."""
        return [function(item) for item in items]
