"""The failure met again in simulation, and what would have saved it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaploop.reproduce.stage import reproduce as reproduce
    from gaploop.reproduce.words import sentence as sentence

__all__ = ["reproduce", "sentence"]


def __getattr__(name: str) -> Any:
    """The stage loads MuJoCo; a command that only reads the configuration does not."""
    if name == "reproduce":
        from gaploop.reproduce.stage import reproduce

        return reproduce
    if name == "sentence":
        from gaploop.reproduce.words import sentence

        return sentence
    raise AttributeError(name)
