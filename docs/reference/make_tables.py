"""Writes the generated tables of the docs from the code: settings, verbs and their flags.

    python docs/reference/make_tables.py

replaces what stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->` in the
pages of PAGES. tests/test_docs.py compares, so that a page cannot fall behind the code.
"""

import ast
import dataclasses
import inspect
import json
import re
import textwrap
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from gaploop.cli import VERBS
from gaploop.config import LoopConfig

DOCS = Path(__file__).resolve().parents[1]
PAGES = {"settings": DOCS / "how-to/gaploop-toml.md", "verbs": DOCS / "reference/cli.md"}
_MARKED = "<!-- {name}: begin -->\n{text}\n<!-- {name}: end -->"


def settings(cls: type, section: str = "") -> Iterator[str]:
    """Markdown of a configuration class: its plain keys, then a section a nested class."""
    nested: list[tuple[str, type]] = []
    rows: list[tuple[str, str, str]] = []
    said = attribute_docs(cls)
    for field in dataclasses.fields(cls):
        if isinstance(field.default_factory, type):
            nested.append((field.name, field.default_factory))
        else:
            rows.append((field.name, literal(field.default), said.get(field.name, "")))
    yield f"### `[{section}]`" if section else "### Top of the file"
    yield (cls.__doc__ or "").split("\n\n")[0].strip()
    yield table(("key", "default", "means"), rows)
    for name, inner in nested:
        yield from settings(inner, name)


def verbs() -> Iterator[str]:
    """Markdown of every verb with its arguments and flags."""
    for verb, (module, name, line) in VERBS.items():
        cls = getattr(import_module(f"gaploop.cli.{module}"), name)
        said = attribute_docs(cls)
        hints = typing.get_type_hints(cls, include_extras=True)
        rows = [
            (spelled(f.name, hints[f.name]), default_of(f), said.get(f.name, ""))
            for f in dataclasses.fields(cls)
        ]
        yield f"### `gaploop {verb}`"
        yield f"{line[0].upper()}{line[1:]}."
        yield table(("argument", "default", "means"), rows)


def spelled(name: str, hint: Any) -> str:
    """How an argument is written on the command line."""
    if any(type(m).__name__ == "_PositionalArgConfiguration" or "ositional" in repr(m)
           for m in getattr(hint, "__metadata__", ())):  # fmt: skip
        return name.upper()
    return f"--{name.replace('_', '-')}"


def default_of(field: "dataclasses.Field[Any]") -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    if field.default is None or field.default == ():
        return "none"
    return literal(str(field.default) if isinstance(field.default, Path) else field.default)


def attribute_docs(cls: type) -> dict[str, str]:
    """Field name to the string that stands below it, base classes included."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(body, ast.ClassDef)
        for at, below in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(at, ast.AnnAssign)
                and isinstance(at.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                found[at.target.id] = " ".join(str(below.value.value).split())
    return found


def literal(value: Any) -> str:
    """A default as TOML writes it; JSON spells text, numbers and truth values alike."""
    return f"`{json.dumps(value)}`"


def table(head: tuple[str, ...], rows: list[tuple[str, str, str]]) -> str:
    lines = [head, ("---",) * len(head)]
    lines += [(f"`{name}`", default, text.replace("|", "\\|")) for name, default, text in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def generated(name: str) -> str:
    """The text between the marks of a page, marks included."""
    parts = settings(LoopConfig) if name == "settings" else verbs()
    return _MARKED.format(name=name, text="\n\n".join(("", *parts, "")).strip("\n"))


def updated(name: str, page: str) -> str:
    """A page with its generated part made anew."""
    marks = re.compile(rf"<!-- {name}: begin -->.*?<!-- {name}: end -->", re.DOTALL)
    return marks.sub(lambda _: generated(name), page)


def main() -> None:
    for name, path in PAGES.items():
        path.write_text(updated(name, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
