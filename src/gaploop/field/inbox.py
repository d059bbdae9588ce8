"""A folder where a robot's logs arrive: complete ones, each once, copied."""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from gaploop.core import ConfigError, FieldError, GaploopError
from gaploop.field.base import checked, collected, staged
from gaploop.store.datasets import open_dataset, read_dataset, write_dataset

NOTE = Path("meta/gaploop/inbox.json")
MARKER = "COMPLETE"


@dataclass(frozen=True, slots=True)
class Inbox:
    """Takes what is new in `folder`. Each log is a LeRobot v3 folder directly inside it.

    A log is complete when it holds a file named COMPLETE, or when its
    meta/info.json reads and nothing in it has changed for `settle_s`. Which logs
    were taken is written inside the datasets made of them, nowhere else: a log
    whose dataset was lost in a crash is simply taken again.
    """

    folder: str
    """Where the robot, or whoever carries its disk, puts finished logs."""
    _: KW_ONLY
    task: str = ""
    """A log must hold the features this task observes; empty: not checked."""
    wait_s: float = 0.0
    """How long to wait for a first new log; 0 looks once."""
    settle_s: float = 2.0
    """Seconds without a change that stand for the marker."""
    poll_s: float = 0.5
    taken: str = ""
    """Folder of the datasets already made; empty: the folder of `out`, and `episodes` beside it."""

    def __post_init__(self) -> None:
        if not self.folder:
            raise ConfigError("The field inbox: names no folder.", hint="Expected inbox:FOLDER.")

    def collect(self, policy: Path, trials: int, seed: int, out: Path) -> None:
        """Copy all new complete logs to `out`, as one dataset.

        Raises FieldError when the folder is not there, when nothing new arrives
        in time, or when a log that says it is complete cannot be read.
        """
        if collected(out):
            return
        inbox = Path(self.folder)
        if not inbox.is_dir():
            raise FieldError(f"The inbox {inbox} is not there.", hint="Make the folder first.")
        beside = out.absolute().parent
        places = [Path(self.taken)] if self.taken else [beside, beside.parent / "episodes"]
        known = {content for place in places for content in _known(place)}
        fresh = self._wait(inbox, known)
        if not fresh:
            raise FieldError(
                f"No new log in {inbox}: {len(known)} taken before, {self._open(inbox)} not "
                "complete yet.",
                hint=f"Run {trials} trials of {policy}, put the LeRobot v3 folder there, "
                "and start again.",
            )
        for path, _ in fresh:
            checked(path, f"The log {path.name}", self.task)
        with staged(out.absolute()) as part:
            _gather([path for path, _ in fresh], part)
            note = part / NOTE
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps({p.name: d for p, d in fresh}, indent=1, sort_keys=True))

    def _wait(self, inbox: Path, known: set[str]) -> list[tuple[Path, str]]:
        end = time.monotonic() + self.wait_s
        while True:
            fresh: list[tuple[Path, str]] = []
            for path in _logs(inbox):
                if self._complete(path):
                    content = _content(path)
                    if content not in known and content not in {d for _, d in fresh}:
                        fresh.append((path, content))
            left = end - time.monotonic()
            if fresh or left <= 0:
                return fresh
            time.sleep(min(self.poll_s, left))

    def _complete(self, path: Path) -> bool:
        if not (path / "meta" / "info.json").is_file():
            return False
        if not (path / MARKER).exists():
            newest = max(f.stat().st_mtime for f in (path, *path.rglob("*")))
            if time.time() - newest < self.settle_s:
                return False
        try:
            open_dataset(path, finite=False)
        except GaploopError as error:
            raise FieldError(f"The log {path} is there but cannot be read: {error}") from error
        return True

    def _open(self, inbox: Path) -> int:
        return sum(not self._complete(p) for p in _logs(inbox))


def _logs(inbox: Path) -> list[Path]:
    """Folders in the inbox, by name; hidden ones are someone's staging."""
    return sorted(p for p in inbox.iterdir() if p.is_dir() and not p.name.startswith("."))


def _known(folder: Path) -> set[str]:
    """Content digests of the logs that datasets in `folder` were made of."""
    notes = folder.glob(f"*/{NOTE}") if folder.is_dir() else ()
    return {content for note in notes for content in _noted(note)}


def _noted(note: Path) -> set[str]:
    """The digests in a note; none in a file that only has its name."""
    try:
        values: list[object] = list(json.loads(note.read_text()).values())
    except (OSError, ValueError, AttributeError):
        return set()
    return {v for v in values if isinstance(v, str)}


def _content(path: Path) -> str:
    """SHA-256 over a log's files and their names, the marker left out."""
    whole = hashlib.sha256()
    for file in sorted(f for f in path.rglob("*") if f.is_file() and f.name != MARKER):
        with file.open("rb") as stream:
            inner = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(f"{file.relative_to(path)}\0{inner}\n".encode())
    return whole.hexdigest()


def _plain(log: Path) -> None:
    """Refuse what cannot be copied, or what would bring in files from outside of the log."""
    root = os.path.realpath(log)
    for path in sorted(log.rglob("*")):
        inside = os.path.realpath(path).startswith(root + os.sep)
        plain = path.is_file() or (path.is_dir() and not path.is_symlink())
        if not inside or not plain:
            raise FieldError(
                f"{path} is no plain file or folder of the log {log.name}.",
                hint="Put a log there without links that lead out of it, and without pipes.",
            )


def _gather(logs: Sequence[Path], out: Path) -> None:
    """One log is copied as it is; several of one robot and rate are written as one."""
    if len(logs) == 1:
        _plain(logs[0])
        shutil.copytree(logs[0], out, ignore=shutil.ignore_patterns(MARKER))
        return
    opened = [open_dataset(p).info for p in logs]
    for path, info in zip(logs, opened, strict=True):
        if (info.fps, info.robot) != (opened[0].fps, opened[0].robot):
            raise FieldError(
                f"{path} is of {info.robot} at {info.fps} Hz, {logs[0]} of {opened[0].robot} at "
                f"{opened[0].fps} Hz.",
                hint="Give each robot an inbox of its own.",
            )
    write_dataset(
        out,
        (episode for path in logs for episode in read_dataset(path, finite=False)),
        fps=opened[0].fps,
        robot=opened[0].robot,
    )
