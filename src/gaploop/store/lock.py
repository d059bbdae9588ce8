"""One writer at a time: an advisory lock that dies with its process."""

import contextlib
import fcntl
import os
from collections.abc import Generator
from pathlib import Path

from gaploop.core.errors import WorkcellError
from gaploop.store.files import saving

_held: set[int] = set()


def _forget_in_child() -> None:
    # a forked worker that outlives a killed loop must not keep the workcell locked
    for handle in _held:
        with contextlib.suppress(OSError):
            os.close(handle)
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_child)


@contextlib.contextmanager
def locked(path: Path, what: str) -> Generator[None, None, None]:
    """Holds the lock file `path` for the time of the block.

    Raises:
      WorkcellError: when another holder lives; names its process id.
    """
    owner, mine = os.getpid(), False
    with saving(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            pid = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            raise WorkcellError(
                f"{what} is in use by process {pid}.",
                hint="Wait until it ends, or stop it; a killed one leaves nothing locked.",
            ) from error
        mine = True
        _held.add(handle)
        with saving(path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{owner}\n".encode(), 0)
        yield
    finally:
        if os.getpid() == owner:  # a forked worker closed its copy already
            _held.discard(handle)
            with contextlib.suppress(OSError):
                if mine:
                    os.ftruncate(handle, 0)
            os.close(handle)
