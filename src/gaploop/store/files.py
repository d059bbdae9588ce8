"""Files that are either whole or not there, and digests of what they hold."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Generator
from pathlib import Path

from gaploop.core.errors import InputError, WorkcellError

_BLOCK = 1 << 20


@contextlib.contextmanager
def saving(path: Path) -> Generator[None, None, None]:
    """Turns a failed write under `path` into one sentence.

    Raises:
      WorkcellError: on a full disk, a missing permission, any other failure of the system.
    """
    try:
        yield
    except OSError as error:
        raise unsaved(path, error) from error


def unsaved(path: Path, error: OSError) -> WorkcellError:
    """The error for a write under `path` that the system refused."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WorkcellError(
            f"The disk that holds {path} is full.",
            hint="Free some space and run the same command again; finished work is kept.",
        )
    return WorkcellError(
        f"{path} cannot be written: {error.strerror or error}.",
        hint="Expected a folder this user may write to.",
    )


def write_atomic(path: Path, content: bytes, tmp: Path) -> None:
    """Writes `path` through a temporary file in `tmp`, a folder on the same disk.

    Raises:
      WorkcellError: when the system refuses; then neither file is there.
    """
    draft = tmp / uuid.uuid4().hex
    with saving(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.rename(path)
            sync_folder(path.parent)
        finally:
            draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Makes renames inside `folder` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Makes every file and folder under `folder` survive a power cut."""
    for root, _, files in os.walk(folder):
        for name in files:
            with Path(root, name).open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(root))


def move_folder(source: Path, target: Path, tmp: Path) -> None:
    """Moves a finished folder to `target` at once; copies first where the disk differs.

    A target that exists stays as it is, and the source goes: both hold the same content.
    """
    with saving(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            if source.stat().st_dev != target.parent.stat().st_dev:
                copy_folder(source, target, tmp)
            else:
                sync_tree(source)
                source.rename(target)
                sync_folder(target.parent)
        if source.exists():
            shutil.rmtree(source)


def copy_folder(source: Path, target: Path, tmp: Path) -> None:
    """Copies a folder through `tmp` to `target`, which appears at once."""
    draft = tmp / uuid.uuid4().hex
    with saving(target):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.mkdir()
            for name, _, _ in manifest(source):
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / name, draft / name)
            sync_tree(draft)
            draft.rename(target)
            sync_folder(target.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def manifest(folder: Path) -> list[tuple[str, int, str]]:
    """(relative path, bytes, SHA-256) of every file under `folder`, sorted.

    Raises:
      InputError: when it is no folder, or holds a link or anything else that is no file.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder.", hint="Expected one with files to store.")
    rows: list[tuple[str, int, str]] = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is a link or no plain file.", hint="Expected files only.")
        if path.is_file():
            rows.append((path.relative_to(folder).as_posix(), path.stat().st_size, sha256(path)))
    return rows


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks."""
    h = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            h.update(block)
    return h.hexdigest()


def seal(folder: Path) -> str:
    """Digest of a folder: of its files' relative paths, sizes and bytes; no times, no owner.

    Raises:
      InputError: as `manifest`.
    """
    text = json.dumps(manifest(folder), separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
