"""The tables of a dataset as they are, without the checks that reading makes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core import InputError
from gaploop.store import datasets_layout as layout
from gaploop.store import datasets_v21
from gaploop.store.arrow import pa, pq
from gaploop.store.datasets_layout import DatasetInfo, reading
from gaploop.store.datasets_tables import PLACES, load_table, load_tasks


@dataclass(slots=True, kw_only=True)
class Footer:
    """What the end of a data file tells."""

    path: Path
    name: str
    """From the dataset's folder."""
    rows: int
    first: int | None
    """Least and greatest episode index, where its statistics say them."""
    last: int | None
    schema: dict[str, str]
    """Column to its type."""

    def holds(self, episode: int) -> bool:
        """Whether the episode may lie in it; True where the footer does not say."""
        if self.first is None or self.last is None:
            return True
        return self.first <= episode <= self.last


@dataclass(slots=True, kw_only=True)
class Tables:
    """Everything beside the frames."""

    info: DatasetInfo
    places: np.ndarray | None = None
    """As `datasets_tables.PLACES`, in the order of the episodes' numbers."""
    tasks: dict[int, str] | None = None
    footers: list[Footer] = field(default_factory=list[Footer])
    broken: list[str] = field(default_factory=list[str])
    """Sentences on tables that cannot be read."""


def load(info: DatasetInfo) -> Tables:
    """Reads what can be read."""
    found = Tables(info=info)
    try:
        old = info.version == layout.OLD
        found.places = datasets_v21.places_of(info, PLACES) if old else load_table(info, PLACES)
    except InputError as error:
        found.broken.append(_first_line(error))
    try:
        found.tasks = load_tasks(info)
    except InputError as error:
        found.broken.append(_first_line(error))
    root = info.path.resolve()
    for path in sorted((info.path / "data").glob("*/*.parquet")):
        if not path.resolve().is_relative_to(root):
            continue
        try:
            found.footers.append(_footer(path, path.relative_to(info.path).as_posix()))
        except InputError:
            continue  # the pass over the frames names it
    return found


# -- inside -------------------------------------------------------------------


def _footer(path: Path, name: str) -> Footer:
    with reading(path):
        meta: Any = pq.read_metadata(path)
        schema = meta.schema.to_arrow_schema()
        types = {f.name: _plain(f.type) for f in schema}
        column = next(
            (i for i in range(meta.num_columns) if meta.schema.column(i).path == "episode_index"),
            None,
        )
        lows: list[int] = []
        highs: list[int] = []
        for group in range(meta.num_row_groups if column is not None else 0):
            told = meta.row_group(group).column(column).statistics
            if told is not None and told.has_min_max:
                lows.append(int(told.min))
                highs.append(int(told.max))
        return Footer(
            path=path, name=name, rows=meta.num_rows, first=min(lows, default=None),
            last=max(highs, default=None), schema=types,
        )  # fmt: skip


def _plain(kind: Any) -> str:
    """Lists of fixed and of free size are the same numbers."""
    depth = 0
    while pa.types.is_nested(kind) and not pa.types.is_struct(kind):
        kind, depth = kind.value_type, depth + 1
    return f"{'list of ' * depth}{kind}"


def _first_line(error: InputError) -> str:
    return str(error).split("\n")[0].rstrip(".")
