"""What every field does alike: a staging folder, a check, one rename."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gaploop.core import FieldError, GaploopError, registry
from gaploop.store.datasets import open_dataset


def collected(out: Path) -> bool:
    """Whether `out` already holds a field run; a field run is never repeated.

    Raises FieldError when something else is in the way.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    try:
        open_dataset(out)
    except GaploopError as error:
        raise FieldError(
            f"{out} is in the way and is no field run: {error}", hint="Move it aside."
        ) from error
    return True


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A path beside `out` to write to; it becomes `out` in one rename, or vanishes.

    It does not exist at first. What an earlier, killed run left is removed; the
    process's id in its name keeps us clear of one that is still dying.
    """
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _sweep(out)
        yield part
        if part.is_symlink():
            raise FieldError(
                f"What the field left is a link to {os.path.realpath(part)}.",
                hint="Copy the folder there: a link may lead nowhere tomorrow.",
            )
        if out.exists():
            out.rmdir()
        part.rename(out)
    except OSError as error:
        raise FieldError(f"{out} cannot be written: {error}.") from error
    finally:
        _sweep(out)


def _sweep(out: Path) -> None:
    """Remove drafts of `out`; a writer's own draft has one more dot and one more `.part`."""
    for path in out.parent.iterdir() if out.parent.is_dir() else ():
        name = path.name
        ours = name.startswith(".") and name.lstrip(".").startswith(f"{out.name}.")
        if ours and name.endswith(".part"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:  # a file, a link, a pipe: whatever somebody's command left
                path.unlink(missing_ok=True)


def checked(folder: Path, who: str, task: str = "") -> int:
    """Episodes in a folder a field left.

    Raises FieldError when it is no dataset, is empty, or lacks a feature that the
    task's observation needs.
    """
    try:
        dataset = open_dataset(folder, finite=False)  # NaN is for the screen to find
        for _ in dataset:
            pass
    except GaploopError as error:
        raise FieldError(f"{who} left no readable LeRobot v3 folder: {error}") from error
    info = dataset.info
    if not info.episodes:
        raise FieldError(f"{who} left a folder without a single episode.")
    if task:
        spec = registry.make("tasks", task).spec
        needed = {c.key: tuple(c.columns) for c in spec.observed} | {"action": spec.command}
        for key, columns in needed.items():
            if key not in info.features:
                raise FieldError(
                    f"{who} left a folder without the feature {key!r}, which task {task!r} needs.",
                    hint=f"It has: {', '.join(sorted(info.features))}.",
                )
            width = info.features[key].width
            if width != len(columns):
                raise FieldError(
                    f"{who} left a folder of another robot: its {key!r} has {width} numbers a"
                    f" frame, and task {task!r} needs {len(columns)}: {', '.join(columns)}."
                )
    return info.episodes
