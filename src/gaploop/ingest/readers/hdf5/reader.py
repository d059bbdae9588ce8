"""Finds the layout of an HDF5 file and gives its episodes."""

from collections.abc import Iterator
from pathlib import Path

from gaploop.core import Episode, InputError, Loss
from gaploop.ingest.readers.hdf5 import droid, maniskill, molmobot, robomimic
from gaploop.ingest.readers.hdf5.guard import looks_like, opened
from gaploop.ingest.readers.whole import whole

_SUFFIXES = (".hdf5", ".h5")
LAYOUTS = (robomimic, maniskill, droid, molmobot)
"""Each has `fits(file, path)` and `episodes(file, path)`."""


class Hdf5Reader:
    """Reads an HDF5 file, or every one in a folder and its subfolders."""

    name = "hdf5"

    def sniff(self, path: Path) -> bool:
        """Whether `path` is an HDF5 file, or a folder that holds one."""
        try:
            return any(looks_like(f) for f in _files(Path(path))[:5])
        except OSError:
            return False

    def read(self, path: Path) -> Iterator[Episode]:
        """Episodes in the order of their numbers.

        Raises:
          InputError: naming the file and the group.
        """
        return whole(self.salvage(path))

    def salvage(self, path: Path) -> Iterator[Episode | Loss]:
        """Every whole episode, and a Loss for each file or group that is damaged.

        Raises:
          InputError: when nothing there is an HDF5 file, or h5py is not installed.
        """
        files = _files(Path(path))
        if not any(map(_looks, files)):
            raise InputError(f"{path} holds no HDF5 log.", hint="Expected .hdf5 or .h5 files.")
        for file in files:
            kept = 0
            try:
                for item in _episodes(file):
                    kept += isinstance(item, Episode)
                    yield item
            except InputError as error:
                if "not installed" in str(error):
                    raise
                yield _loss(file, kept, error)


# -- inside -------------------------------------------------------------------


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix in _SUFFIXES else []
    return sorted(f for s in _SUFFIXES for f in path.rglob(f"*{s}") if f.is_file())


def _looks(file: Path) -> bool:
    try:
        return looks_like(file)
    except OSError:
        return False


def _episodes(path: Path) -> Iterator[Episode | Loss]:
    with opened(path) as file:
        layout = next((x for x in LAYOUTS if x.fits(file, path)), None)
        if layout is None:
            raise InputError(
                f"{path} has no layout that is known: {', '.join(sorted(file))[:120] or 'empty'}.",
                hint="Read: robomimic, robosuite, ManiSkill, MolmoBot and DROID.",
            )
        yield from layout.episodes(file, path)


def _loss(file: Path, kept: int, error: InputError) -> Loss:
    return Loss(
        source=str(file), kept=kept, lost=None, unit="episodes",
        lost_bytes=0 if kept else file.stat().st_size,
        reason=str(error).split("\n")[0].removeprefix(f"{file} ").rstrip("."),
    )  # fmt: skip
