"""Questions across a workcell: DuckDB in memory over the datasets and the ledger.

    frames     a row a frame: dataset, episode_index, frame_index, timestamp, the signals
    episodes   a row an episode: id, dataset, position, length, robot, ..., success
    runs       a row a finished stage call; inputs and outputs are JSON
    labels     a row a statement; value and span are JSON
    refs       a row a time that a name was given

Frames are scanned where they lie, never loaded whole; the ledger is as it was when
the connection was made.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaploop.core.errors import WorkcellError
from gaploop.store.arrow import pa, pq
from gaploop.store.workcell import Workcell

if TYPE_CHECKING:
    import duckdb

_NUMBERS = {"position", "length", "seq"}
_REALS = {"started", "wall", "confidence"}
_TYPES = {"float": "FLOAT", "bool": "BOOLEAN"}


def connect(cell: Workcell) -> "duckdb.DuckDBPyConnection":
    """A connection with the views of this module. Close it, or use it in a `with`.

    Raises:
      WorkcellError: when the ledger is damaged or a stored dataset cannot be read.
    """
    import duckdb

    connection = duckdb.connect(":memory:")
    # nothing is fetched: what is asked for is built in
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    for table in ("runs", "labels", "refs", "episodes"):
        names, rows = cell.ledger.rows(table)
        connection.register(table, _table(names, rows))
    connection.execute(f"CREATE VIEW frames AS {_frames(cell)}")
    return connection


def _table(names: list[str], rows: list[tuple[Any, ...]]) -> Any:
    arrays: list[Any] = []
    for at, name in enumerate(names):
        column = [row[at] for row in rows]
        if name == "success":  # SQLite has no truth values
            arrays.append(pa.array([None if v is None else bool(v) for v in column], pa.bool_()))
        elif name in _NUMBERS:
            arrays.append(pa.array(column, pa.int64()))
        else:
            arrays.append(pa.array(column, pa.float64() if name in _REALS else pa.string()))
    return pa.Table.from_arrays(arrays, names=names)


def _frames(cell: Workcell) -> str:
    """One SELECT over all data files; datasets of one schema share a scan."""
    groups: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for digest in cell.datasets():
        for path in sorted(cell.dataset(digest).glob("data/*/*.parquet")):
            groups.setdefault(_schema(path), []).append(path)
    if not groups:
        return (
            "SELECT '' AS dataset, 0::BIGINT AS episode_index, 0::BIGINT AS frame_index,"
            " 0::FLOAT AS timestamp WHERE false"
        )
    common: dict[str, str] = {}
    for schema in groups:
        for name, kind in schema:
            common[name] = _common(common.get(name, kind), kind)
    depth = len((cell.path / "episodes").parts)
    selects = [_select(schema, paths, common, depth) for schema, paths in groups.items()]
    return " UNION ALL BY NAME ".join(selects)


def _select(
    schema: Iterable[tuple[str, str]], paths: list[Path], common: dict[str, str], depth: int
) -> str:
    columns: list[str] = []
    for name, kind in schema:
        value = _name(name)
        if common[name].endswith("[]") and not kind.endswith("[]"):
            value = f"[{value}]"
        columns.append(f"CAST({value} AS {common[name]}) AS {_name(name)}")
    files = ", ".join(_text(str(p)) for p in paths)
    return (
        f"SELECT split_part(filename, '/', {depth + 1}) AS dataset, {', '.join(columns)}"
        f" FROM read_parquet([{files}], filename = true)"
    )


def _schema(path: Path) -> tuple[tuple[str, str], ...]:
    """Numeric columns of a file with their DuckDB types; images and texts are left out."""
    try:
        schema = pq.read_schema(path)
    except (OSError, ValueError) as error:
        raise WorkcellError(f"{path} cannot be read: {error}.") from error
    return tuple((f.name, kind) for f in schema if (kind := _type(f.type)))


def _type(kind: Any) -> str:
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind):
        inner = _type(kind.value_type)
        return f"{inner}[]" if inner and not inner.endswith("[]") else ""
    plain = (
        "DOUBLE" if pa.types.is_floating(kind) else "BIGINT" if pa.types.is_integer(kind) else ""
    )
    return _TYPES.get(str(kind), plain)


def _common(one: str, other: str) -> str:
    """A type that holds both: a list where either is one, whatever its length."""
    if one == other:
        return one
    base, same = one.removesuffix("[]"), one.removesuffix("[]") == other.removesuffix("[]")
    return (base if same else "DOUBLE") + "[]" * (one.endswith("[]") or other.endswith("[]"))


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def answer(cell: Workcell, question: str) -> list[dict[str, Any]]:
    """Rows of one SQL question as dicts; JSON columns stay text."""
    with connect(cell) as connection:
        cursor = connection.execute(question)
        names = [d[0] for d in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
