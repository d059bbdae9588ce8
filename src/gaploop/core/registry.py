"""Names to things: entry points, or a literal `module:Attr`.

Built-ins are declared in our own pyproject the same way as plug-ins. A broken
plug-in warns in a listing and raises only when used.
"""

import importlib
import warnings
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from gaploop.core.errors import UnknownNameError, UsageError

Group = Literal["tasks", "readers", "fields", "policies"]


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
    if ":" in name:
        return _literal(name)
    points = _points(group)
    if name not in points:
        raise UnknownNameError(group.removesuffix("s").replace("policie", "policy"), name, points)
    try:
        return points[name].load()
    except Exception as error:
        raise UsageError(
            f"The plug-in {name!r} of gaploop.{group} does not load: {error}."
        ) from error


def everything(group: Group) -> dict[str, Any]:
    """All that load; a broken plug-in warns and is left out."""
    found: dict[str, Any] = {}
    for name in names(group):
        try:
            found[name] = load(group, name)
        except UsageError as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
    return found


def _literal(name: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"{name!r} cannot be imported: {error}.",
            hint="Expected module:Attr, importable from where the command runs.",
        ) from error
