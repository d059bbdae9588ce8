"""Release: gates fixed before the run; no evidence means no."""

from gaploop.release.decide import decide
from gaploop.release.rule import ReleaseRule

__all__ = ["ReleaseRule", "decide"]
