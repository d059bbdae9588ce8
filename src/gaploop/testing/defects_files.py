"""Defects of a LeRobot v3.0 folder that no array shows: index, length, statistics, cut files.

They are for checks of files (an audit), since a reader that joins episodes to rows by these
tables meets them before any check of numbers does.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq


def cut_parquet(folder: Path) -> Path:
    """The last third of a data file is missing, and its footer with it: a full disk."""
    file = _data(folder)
    file.write_bytes(file.read_bytes()[: 2 * file.stat().st_size // 3])
    return file


def stale_file_index(folder: Path) -> Path:
    """An episode points to a data file it does not lie in (huggingface/lerobot #2401)."""
    return _change(folder, "data/file_index", lambda x: x + 1)


def wrong_length(folder: Path) -> Path:
    """An episode says it has one frame more than it has."""
    return _change(folder, "length", lambda x: x + 1)


def wrong_statistics(folder: Path) -> Path:
    """The spread of the commands in meta/stats.json is a tenth of what it is."""
    file = folder / "meta" / "stats.json"
    stats = json.loads(file.read_text())
    stats["action"]["std"] = [v / 10 for v in stats["action"]["std"]]
    file.write_text(json.dumps(stats))
    return file


FILE_DEFECTS: Final[dict[str, tuple[str, Callable[[Path], Path]]]] = {
    "data file cut": ("unreadable", cut_parquet),
    "stale file index": ("file_index", stale_file_index),
    "episode length off by one": ("episode_length", wrong_length),
    "wrong statistics": ("stats", wrong_statistics),
}
"""Name to the finding that should name it and the function that plants it; needs an audit.

Each function changes one file of the folder, in episode 1 where it concerns one, and
returns it."""


def _data(folder: Path) -> Path:
    return sorted((folder / "data").rglob("*.parquet"))[0]


def _change(folder: Path, column: str, change: Callable[[int], int]) -> Path:
    file = sorted((folder / "meta" / "episodes").rglob("*.parquet"))[0]
    table = pq.read_table(file)
    values = table.column(column).to_pylist()
    values[1] = change(values[1])
    at = table.schema.get_field_index(column)
    field = table.schema.field(at)
    pq.write_table(table.set_column(at, field, pa.array(values, field.type)), file)
    return file
