"""Why an attempt failed: contract and integrity first, then replay, then intervention."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaploop.diagnose.engine import diagnose as diagnose

__all__ = ["diagnose"]


def __getattr__(name: str) -> Any:
    """The engine loads MuJoCo; whoever diagnoses logs alone, or reads a config, does not."""
    if name == "diagnose":
        from gaploop.diagnose.engine import diagnose

        return diagnose
    raise AttributeError(name)
