"""Reading that stops at the first damage, made of reading that does not."""

from collections.abc import Iterable, Iterator

from gaploop.core import Episode, InputError, Loss


def whole(found: Iterable[Episode | Loss]) -> Iterator[Episode]:
    """The episodes up to the first loss.

    Raises:
      InputError: at the first loss, saying what it says.
    """
    for item in found:
        if isinstance(item, Loss):
            raise InputError(
                f"{item}.", hint="`gaploop check` names what is whole and what is lost."
            )
        yield item
