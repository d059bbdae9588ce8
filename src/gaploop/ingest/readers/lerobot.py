"""LeRobot v3.0 datasets, ours with a sidecar or anybody's."""

from collections.abc import Iterator
from pathlib import Path

from gaploop.core.episode import Episode
from gaploop.core.loss import Loss
from gaploop.ingest.checks.batch import Batch


class LeRobotReader:
    """Reads a LeRobot v3.0 folder.

    What the folder declares is taken as declared (columns, rate); units, frames and
    action reference stay unknown unless the sidecar states them.
    """

    name = "lerobot"

    def __init__(self, *, finite: bool = True) -> None:
        """finite: whether NaN and infinity are refused; a screen wants to see them."""
        self.finite = finite

    def sniff(self, path: Path) -> bool:
        """Whether `path` is a folder with a meta/info.json."""
        try:
            return (Path(path) / "meta" / "info.json").is_file()
        except (OSError, ValueError):
            return False

    def read(self, path: Path) -> Iterator[Episode]:
        """Episodes in order, one at a time in memory.

        Raises:
          InputError: naming the file and the row.
        """
        from gaploop.store.datasets import read_dataset  # loads pyarrow

        return read_dataset(path, finite=self.finite)

    def batches(self, path: Path) -> Iterator[Batch | Loss]:
        """The same as columns, with damage named and gone past; see `ingest.source.Columnar`."""
        from gaploop.ingest.readers.lerobot_columns import read_columns  # loads pyarrow

        return read_columns(path)
