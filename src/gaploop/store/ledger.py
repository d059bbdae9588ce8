"""What was done and said, in order: an append-only SQLite file.

Rows are never changed or removed; triggers refuse it. A name points to what it
was given last. One transaction holds all that one finished stage has to say.
"""

import contextlib
import json
import sqlite3
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gaploop.core.errors import UnknownNameError, UsageError, WorkcellError
from gaploop.core.label import Label
from gaploop.core.runs import Run
from gaploop.store import codec
from gaploop.store.cache import run_key

T = TypeVar("T")

_VERSION = 1
_TABLES = {
    "runs": "key TEXT, stage TEXT, version TEXT, config TEXT, seed TEXT, inputs TEXT,"
    " outputs TEXT, environment TEXT, started REAL, wall REAL, status TEXT",
    "labels": "subject TEXT, key TEXT, value TEXT, author TEXT, confidence REAL, span TEXT",
    "refs": "name TEXT, digest TEXT",
    "episodes": "id TEXT, dataset TEXT, position INTEGER, length INTEGER, robot TEXT, unit TEXT,"
    " task TEXT, world TEXT, origin TEXT, policy TEXT, success INTEGER",
}
_INDEXES = {
    "runs": ("key",), "labels": ("subject",), "refs": ("name",), "episodes": ("id", "dataset"),
}  # fmt: skip
_RUN = "stage, version, config, seed, inputs, outputs, environment, started, wall, status"
_LABEL = "subject, key, value, author, confidence, span"
_EPISODE = "id, dataset, position, length, robot, unit, task, world, origin, policy, success"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRow:
    """Where an episode lies, and what it is, without its signals."""

    id: str
    dataset: str
    """Digest of its dataset."""
    position: int
    """Index in the dataset."""
    length: int
    """Frames."""
    robot: str = ""
    unit: str = ""
    task: str = ""
    world: str = ""
    origin: str = ""
    policy: str = ""
    success: bool | None = None
    """As judged when it was stored; labels may say more."""


class Ledger:
    """The ledger file of one workcell."""

    def __init__(self, path: Path, *, new: bool = True) -> None:
        """new: whether an empty file may become a ledger; a workcell that had one lost it."""
        self.path = path
        self._new = new
        self._depth = 0
        with self._guard():
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30.0)
            weakref.finalize(self, self._db.close)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._prepare()

    def close(self) -> None:
        """Closes the file; a closed ledger cannot be used."""
        self._db.close()

    # -- writing ------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Generator[None, None, None]:
        """All that is written inside is stored together, or not at all. May be nested."""
        if self._depth:
            yield
            return
        with self._guard():
            self._db.execute("BEGIN")
            self._depth += 1
            try:
                yield
                self._db.execute("COMMIT")
            finally:
                self._depth -= 1
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def record(self, run: Run) -> str:
        """Adds a finished run; returns its key."""
        key = run_key(run)
        row = (
            key, run.stage, run.version, run.config, str(run.seed), _json(run.inputs),
            _json(run.outputs), _json(run.environment), run.started, run.wall, run.status,
        )  # fmt: skip
        self._insert("runs", [row])
        return key

    def label(self, *labels: Label) -> None:
        """Adds statements."""
        rows = [
            (x.subject, x.key, codec.dumps(x.value).decode(), x.author, x.confidence,
             None if x.span is None else codec.dumps(list(x.span)).decode())
            for x in labels
        ]  # fmt: skip
        self._insert("labels", rows)

    def set_ref(self, name: str, digest: str) -> None:
        """Points `name` to `digest` from now on."""
        self._insert("refs", [(name, digest)])

    def add_episodes(self, rows: Iterable[EpisodeRow]) -> None:
        """Adds the episodes of a dataset."""
        fields = _EPISODE.split(", ")
        self._insert("episodes", [tuple(getattr(r, f) for f in fields) for r in rows])

    # -- reading ------------------------------------------------------------

    def find(self, key: str) -> Run | None:
        """The newest finished run with this key (`cache.run_key`)."""
        rows = self._select(
            f"SELECT {_RUN} FROM runs WHERE key = ? AND status = 'done' ORDER BY seq DESC LIMIT 1",
            key,
        )
        return self._told(_run, rows[0]) if rows else None

    def runs(self, stage: str | None = None) -> list[Run]:
        """All runs in order, or those of one stage."""
        where, values = ("WHERE stage = ?", (stage,)) if stage is not None else ("", ())
        return [
            self._told(_run, r)
            for r in self._select(f"SELECT {_RUN} FROM runs {where} ORDER BY seq", *values)
        ]

    def labels(self, subject: str | None = None, key: str | None = None) -> list[Label]:
        """Statements in order, of one subject, under one key, or both."""
        rows = self._select(
            f"SELECT {_LABEL} FROM labels WHERE subject = coalesce(?, subject)"
            " AND key = coalesce(?, key) ORDER BY seq"
            if subject is None
            else f"SELECT {_LABEL} FROM labels WHERE subject = ? AND key = coalesce(?, key)"
            " ORDER BY seq",
            subject,
            key,
        )
        return [self._told(_label, r) for r in rows]

    def refs(self) -> dict[str, str]:
        """Every name and what it points to now, in the order the names appeared."""
        rows = self._select("SELECT name, digest FROM refs ORDER BY seq")
        return dict(rows)

    def episodes(self, dataset: str | None = None) -> list[EpisodeRow]:
        """Known episodes in order, or those of one dataset."""
        where, values = ("WHERE dataset = ?", (dataset,)) if dataset is not None else ("", ())
        rows = self._select(f"SELECT {_EPISODE} FROM episodes {where} ORDER BY seq", *values)
        return [self._told(_episode, r) for r in rows]

    def find_episode(self, id: str) -> EpisodeRow | None:
        """Where the episode with this id lies; the first dataset that holds it."""
        rows = self._select(
            f"SELECT {_EPISODE} FROM episodes WHERE id = ? ORDER BY seq LIMIT 1", id
        )
        return self._told(_episode, rows[0]) if rows else None

    def resolve(self, ref: str) -> str:
        """The digest behind a name, a digest, or the first digits of one (`ep:3f2a`).

        Raises:
          UnknownNameError: when nothing answers to it.
          UsageError: when several digests begin like this.
        """
        ref = ref.encode(errors="replace").decode()  # a stray byte of a terminal names nothing
        named = self._select(
            "SELECT digest FROM refs WHERE name = ? ORDER BY seq DESC LIMIT 1", ref
        )
        if named:
            return str(named[0][0])
        digits = ref.rpartition(":")[2].lower()
        hexadecimal = bool(digits) and not set(digits) - set("0123456789abcdef")
        found = self._beginning(digits) if hexadecimal and len(digits) >= 4 else []
        if len(found) > 1:
            raise UsageError(
                f"{ref!r} could be {len(found)} things.",
                hint=f"Give more digits: {', '.join(d[:12] for d in found[:6])}.",
            )
        if not found:
            raise UnknownNameError("reference", ref, self.refs())
        return found[0]

    def rows(self, table: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Column names and all rows of `runs`, `labels`, `refs` or `episodes`, in order."""
        if table not in _TABLES:
            raise UnknownNameError("table", table, _TABLES)
        with self._guard():
            cursor = self._db.execute(f"SELECT * FROM {table} ORDER BY seq")
            return [c[0] for c in cursor.description], cursor.fetchall()

    # -- inside -------------------------------------------------------------

    def _beginning(self, digits: str) -> list[str]:
        low, high = digits, digits + "g"  # 'g' sorts after every hex digit
        rows = self._select(
            "SELECT digest FROM refs WHERE digest >= ? AND digest < ?"
            " UNION SELECT id FROM episodes WHERE id >= ? AND id < ?"
            " UNION SELECT dataset FROM episodes WHERE dataset >= ? AND dataset < ?"
            " UNION SELECT value FROM runs, json_each(runs.outputs) WHERE value >= ? AND value < ?"
            " UNION SELECT key FROM runs WHERE key >= ? AND key < ?",
            *(low, high) * 5,
        )
        return [str(r[0]) for r in rows]

    def _prepare(self) -> None:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if (
            version == 0
            and not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        ):
            if not self._new:
                raise WorkcellError(
                    f"The ledger {self.path} is empty.",
                    hint="Restore it from a copy; objects and episodes beside it are not touched.",
                )
            self._make()
        elif version != _VERSION:
            raise WorkcellError(
                f"{self.path} has ledger format {version}, and this gaploop reads {_VERSION}.",
                hint="Use the gaploop that wrote it.",
            )
        elif (fault := self._db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(fault)

    def _make(self) -> None:
        statements = ["BEGIN IMMEDIATE"]
        for name, columns in _TABLES.items():
            statements.append(f"CREATE TABLE {name} (seq INTEGER PRIMARY KEY, {columns})")
            statements += [
                f"CREATE INDEX {name}_by_{column} ON {name} ({column})" for column in _INDEXES[name]
            ]
            statements += [
                f"CREATE TRIGGER {name}_no_{verb} BEFORE {verb} ON {name}"
                f" BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
                for verb in ("UPDATE", "DELETE")
            ]
        for statement in [*statements, f"PRAGMA user_version = {_VERSION}", "COMMIT"]:
            self._db.execute(statement)

    def _insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        columns = ", ".join(part.split()[0] for part in _TABLES[table].split(","))
        marks = ", ".join("?" * (columns.count(",") + 1))
        with self.transaction():
            self._db.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)

    def _select(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._guard():
            return self._db.execute(query, values).fetchall()

    def _told(self, read: Callable[[tuple[Any, ...]], T], row: tuple[Any, ...]) -> T:
        """A row as a value; JSON in it that no longer reads is damage like any other."""
        try:
            return read(row)
        except (ValueError, TypeError) as error:
            raise self._explain(sqlite3.DatabaseError(str(error))) from error

    @contextlib.contextmanager
    def _guard(self) -> Generator[None, None, None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def _explain(self, error: sqlite3.Error) -> WorkcellError:
        reason = " ".join(str(error).split()).rstrip(".")[:160]
        if getattr(error, "sqlite_errorname", "").startswith("SQLITE_FULL"):
            return WorkcellError(
                f"The disk that holds {self.path} is full.",
                hint="Free some space and run the same command again; finished work is kept.",
            )
        if isinstance(error, sqlite3.OperationalError):
            shut = "readonly" in reason or "unable to open" in reason
            hint = "Expected a folder this user may write to; looking at a workcell writes too."
            return WorkcellError(
                f"The ledger {self.path} cannot be used: {reason}.", hint=hint if shut else ""
            )
        if isinstance(error, sqlite3.IntegrityError):
            return WorkcellError(f"The ledger {self.path} refused this: {reason}.")
        return WorkcellError(
            f"The ledger {self.path} is damaged: {reason}.",
            hint="Restore it from a copy; objects and episodes beside it are not touched.",
        )


def _json(value: dict[str, str]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _run(row: tuple[Any, ...]) -> Run:
    stage, version, config, seed, inputs, outputs, environment, started, wall, status = row
    return Run(
        stage=stage, version=version, config=config, seed=int(seed), inputs=json.loads(inputs),
        outputs=json.loads(outputs), environment=json.loads(environment), started=started,
        wall=wall, status=status,
    )  # fmt: skip


def _label(row: tuple[Any, ...]) -> Label:
    subject, key, value, author, confidence, span = row
    t0_t1 = None if span is None else codec.loads(span, tuple[float, float])
    stored: Any = codec.loads(value, object)
    return Label(
        subject=subject, key=key, value=stored, author=author, confidence=confidence, span=t0_t1
    )


def _episode(row: tuple[Any, ...]) -> EpisodeRow:
    values = dict(zip(_EPISODE.split(", "), row, strict=True))
    success = values.pop("success")
    return EpisodeRow(**values, success=None if success is None else bool(success))
