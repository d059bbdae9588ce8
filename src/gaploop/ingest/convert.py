"""Any log as a LeRobot dataset."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gaploop.core import Episode, InputError, Loss
from gaploop.ingest.align import on_grid
from gaploop.ingest.source import open_source


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What a conversion came to."""

    format: str
    """Of the source."""
    path: Path
    version: str
    episodes: int
    frames: int
    fps: float
    losses: tuple[Loss, ...]
    """What of the source could not be read."""


def convert(
    source: Path, target: Path, *, version: str = "v3.0", fps: float | None = None
) -> Converted:
    """Writes a log of any format that is read as a LeRobot dataset at `target`.

    LeRobot datasets keep their rows, pictures and videos as they are. Of other logs the
    numbers are kept in their own precision, on a grid of `fps`; a rate that the log
    declares or shows is taken where none is given.

    Raises:
      InputError: for a path nobody reads, a target that exists, or episodes that do not
        fit each other.
    """
    found = open_source(source)
    from gaploop.store.datasets import convert_dataset, write_dataset  # loads pyarrow

    if found.reader.name == "lerobot":
        if fps is not None:
            raise InputError(
                "A LeRobot dataset keeps its rate when its version changes.",
                hint="Leave out --fps.",
            )
        info = convert_dataset(source, target, version)
        return _told(found.reader.name, target, version, info, ())
    if version != "v3.0":
        raise InputError(
            f"{found.reader.name} logs are written as v3.0.", hint="Convert the result to v2.1."
        )
    episodes = found.episodes()
    first = next(episodes)
    rate = fps or _rate(first)
    robot = first.robot or "robot"
    info = write_dataset(
        target, _gridded(first, episodes, rate), fps=rate, robot=robot, finite=False, exact=True
    )
    return _told(found.reader.name, target, version, info, tuple(found.losses))


# -- inside -------------------------------------------------------------------


def _gridded(first: Episode, rest: Iterator[Episode], fps: float) -> Iterator[Episode]:
    yield on_grid(first, fps)
    for episode in rest:
        yield on_grid(episode, fps)


def _rate(episode: Episode) -> float:
    told = episode.contract.log_rate.value
    if isinstance(told, int | float) and told > 0:
        return float(round(told)) if abs(told - round(told)) < 0.02 * told else float(told)
    lead = episode.signals.get("observation.state") or next(iter(episode.signals.values()))
    if not lead.rate > 0:
        raise InputError(f"{episode.source} shows no rate.", hint="Give --fps.")
    return float(round(lead.rate)) or lead.rate


def _told(name: str, path: Path, version: str, info, losses: tuple[Loss, ...]) -> Converted:
    return Converted(
        format=name, path=path, version=version, episodes=info.episodes, frames=info.frames,
        fps=info.fps, losses=losses,
    )  # fmt: skip
