"""Finds the format of a path by asking every registered reader."""

from pathlib import Path

from gaploop.core import InputError, registry
from gaploop.core.protocols import Reader


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name no file can have
        return False


def find_reader(path: Path) -> Reader:
    """The reader that knows `path`.

    Raises:
      InputError: when the path is missing, or no reader (or more than one) knows it.
    """
    if not _there(path):
        raise InputError(f"There is no file or folder {str(path)[:300]}.", hint="Check the path.")
    readers = [factory() for factory in registry.everything("readers").values()]
    known = [r for r in readers if r.sniff(path)]
    if len(known) == 1:
        return known[0]
    names = ", ".join(sorted(r.name for r in known or readers))
    if known:
        raise InputError(
            f"{path} looks like more than one format: {names}.",
            hint="Put logs of different formats into folders of their own.",
        )
    raise InputError(
        f"{path} is no log or dataset that gaploop reads.",
        hint=f"Formats read: {names}. Others join through the entry point gaploop.readers.",
    )
