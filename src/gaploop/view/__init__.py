"""The report: static pages that open from disk, without a network or a script."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaploop.store import Workcell


def report(cell: "Workcell") -> Path:
    """Write all pages of a workcell; returns the path of report/index.html."""
    from gaploop.view.gather import gather
    from gaploop.view.render import write

    return write(gather(cell), cell.report)


__all__ = ["report"]
