"""convert: any log as a LeRobot dataset."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gaploop.cli.console import Console


@dataclass(frozen=True, slots=True, kw_only=True)
class Convert:
    """Write a log of any format that is read as a LeRobot dataset.

    Between v2.1 and v3.0 rows, pictures and videos stay as they are, bit for bit.
    """

    source: Annotated[Path, tyro.conf.Positional]
    """Log file or dataset folder; the format is found out."""
    target: Annotated[Path, tyro.conf.Positional]
    """A new folder."""
    to: Literal["v3.0", "v2.1"] = "v3.0"
    """Version of LeRobot's format; v2.1 for LeRobot datasets alone."""
    fps: float | None = None
    """Rows a second; the log's own rate by default. Other signals are put on that grid."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        from gaploop.ingest.convert import convert

        out = Console(self.json)
        made = convert(self.source, self.target, version=self.to, fps=self.fps)
        out.say(
            f"{self.source}: {made.format}, {made.episodes} episodes, {made.frames} frames at "
            f"{made.fps:g} Hz -> {self.target} ({made.version})"
        )
        for loss in made.losses:
            out.say(f"  lost    {loss}")
        out.say(f"next: gaploop check {self.target}")
        out.result(asdict(made))
        return 0
