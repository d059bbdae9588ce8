"""Names to things: entry points, or a literal `module:Attr`.

Built-ins are declared in our own pyproject the same way as plug-ins. A broken
plug-in warns in a listing and raises only when used.
"""

import difflib
import importlib
import traceback
import warnings
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from gaploop.core.errors import GaploopError, UnknownNameError, UsageError

Group = Literal["tasks", "readers", "fields", "policies"]

_PARTS: dict[str, str] = {"tasks": "spec", "fields": "collect"}
"""What every member of a group has."""


@cache
def _points(group: Group) -> dict[str, EntryPoint]:
    return {p.name: p for p in entry_points(group=f"gaploop.{group}")}


def names(group: Group) -> tuple[str, ...]:
    """Registered names of a group, sorted."""
    return tuple(sorted(_points(group)))


def load(group: Group, name: str) -> Any:
    """The class or factory behind `name`; `module:Attr` works anywhere.

    Raises:
      UnknownNameError: with the closest match and the full list.
      UsageError: when the module or attribute is not there, or does not import.
    """
    points = _points(group)
    if ":" in name:
        return _literal(group, name, points)
    if name not in points:
        raise UnknownNameError(_singular(group), name, points)
    try:
        return points[name].load()
    except Exception as error:
        raise UsageError(
            f"The plug-in {name!r} of gaploop.{group} does not load: {error}."
        ) from error


def make(group: Group, name: str, *arguments: Any, **named: Any) -> Any:
    """What the class or factory behind `name` makes of the arguments.

    Raises:
      UnknownNameError, UsageError: as `load`; and when it cannot be called like that,
        fails, or makes something else than the group asks for.
    """
    factory, kind = load(group, name), _singular(group)
    try:
        made = factory(*arguments, **named)
    except GaploopError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"The {kind} {name!r} cannot be made: {_told(error)}.",
            hint=f"Expected a class or factory of a {kind}.",
        ) from error
    part = _PARTS.get(group, "")
    if part and not hasattr(made, part):
        raise UsageError(f"{name!r} makes no {kind}: what it makes has no `{part}`.")
    return made


def everything(group: Group) -> dict[str, Any]:
    """All that load; a broken plug-in warns and is left out."""
    found: dict[str, Any] = {}
    for name in names(group):
        try:
            found[name] = load(group, name)
        except UsageError as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
    return found


def _literal(group: Group, name: str, points: Iterable[str]) -> Any:
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in module.split(".")):
        raise UnknownNameError(_singular(group), module, points)
    try:
        return getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == module
        if absent and difflib.get_close_matches(module, list(points), n=1):
            raise UnknownNameError(_singular(group), module, points) from None
        raise UsageError(
            f"{name!r} cannot be imported: {_told(error)}.",
            hint="Expected module:Attr, importable from where the command runs.",
        ) from error


def _singular(group: Group) -> str:
    return "policy" if group == "policies" else group.removesuffix("s")


def _told(error: BaseException) -> str:
    """What went wrong in somebody else's code, and where in it."""
    known = isinstance(error, (ImportError, AttributeError, SyntaxError))
    text = " ".join(str(error).split()).rstrip(".")
    text = text if known and text else f"{type(error).__name__}: {text}".rstrip(": ")
    frames = traceback.extract_tb(error.__traceback__)
    placed = isinstance(error, (ImportError, SyntaxError))
    if placed or not frames or frames[-1].filename == __file__:
        return text
    return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})"
