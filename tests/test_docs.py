"""The docs hold: links lead somewhere, commands parse, settings and verbs are all there."""

import dataclasses
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tyro

from gaploop.cli import VERBS
from gaploop.config import LoopConfig, build
from gaploop.core import CAUSES, registry
from gaploop.sim import settings

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [*(ROOT / "docs").rglob("*.md"), *(ROOT / n for n in ("README.md", "CONTRIBUTING.md",
                                                         "CHANGELOG.md", "SECURITY.md"))]
)  # fmt: skip

_FENCE = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1\s*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`(gaploop [^`\n]+)`")
_PLACEHOLDER = re.compile(r"\b(VERB|REF)\b|\.\.\.")


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return _FENCE.sub("", text(page))


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The fragment of every heading, as GitHub makes it."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        found.add(plain)
    return found


def links(page: Path) -> Iterator[str]:
    for target in _LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", target):
            yield target


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every `gaploop ...` line in the page's blocks and sentences."""
    lines: list[str] = _INLINE.findall(prose(page))
    for _, language, block in _FENCE.findall(text(page)):
        if language in ("console", "sh", "bash", "shell", "yaml"):
            lines += block.replace("\\\n", " ").splitlines()
    for line in lines:
        start = re.search(r"(?:^|\s)gaploop (.+)", line.split(" #")[0])
        if start and not _PLACEHOLDER.search(start[1]):
            # what follows a pipe, a redirection or another command is not ours
            yield shlex.split(re.split(r"\s(?:\||>|2>|&&|;)", start[1])[0])


def make_tables() -> ModuleType:
    path = ROOT / "docs/reference/make_tables.py"
    spec = importlib.util.spec_from_file_location("make_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def config_keys(cls: type, section: str = "") -> Iterator[tuple[str, str]]:
    for field in dataclasses.fields(cls):
        if isinstance(field.default_factory, type):
            yield from config_keys(field.default_factory, field.name)
        else:
            yield section, field.name


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_resolve(page: Path) -> None:
    broken: list[str] = []
    for target in links(page):
        path, _, fragment = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists():
            broken.append(f"{target} leads nowhere")
        elif fragment and there.suffix == ".md" and fragment not in anchors(there):
            broken.append(f"{target}: there is no such heading")
    assert not broken, f"{name(page)}: {'; '.join(broken)}"


def refused(words: list[str]) -> bool:
    """Whether the command does not take these words. Nothing is run."""
    verb, *args = words
    if verb.startswith("-"):
        return verb not in ("--help", "--version")
    if verb not in VERBS:
        return True
    if not args:  # a verb that is only spoken of
        return False
    module, cls, _ = VERBS[verb]
    try:
        tyro.cli(getattr(import_module(f"gaploop.cli.{module}"), cls), args=args)
    except SystemExit as stop:
        return stop.code != 0
    return False


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_quoted_commands_parse(page: Path) -> None:
    bad = [f"gaploop {shlex.join(words)}" for words in commands(page) if refused(words)]
    assert not bad, f"{name(page)}: {'; '.join(bad)}"


@pytest.mark.parametrize("line", ["chekc logs", "check --no-such", "show a b", "loop --rounds x"])
def test_wrong_commands_are_refused(line: str) -> None:
    assert refused(line.split())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_quoted_settings_are_settings(page: Path) -> None:
    known = {f"{s}.{k}" for s, k in config_keys(LoopConfig) if s}
    sections = {k.partition(".")[0] for k in known}
    for _, language, block in _FENCE.findall(text(page)):
        if language == "toml" and "entry-points" not in block:
            build(LoopConfig, tomllib.loads(block), name(page))
    for quoted in re.findall(r"`([a-z]+\.[a-z_]+)`", prose(page)):
        section, _, key = quoted.partition(".")
        if section in sections and key not in ("py", "md", "json", "onnx"):
            assert quoted in known, f"{name(page)}: there is no setting {quoted}"


def test_every_page_is_reached_from_the_index() -> None:
    seen: set[Path] = set()
    left = [ROOT / "docs/index.md"]
    while left:
        page = left.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        left += [(page.parent / t.partition("#")[0]).resolve() for t in links(page)]
    assert not {name(p) for p in (ROOT / "docs").rglob("*.md")} - {
        name(p) for p in seen if p.is_relative_to(ROOT)
    }


@pytest.mark.parametrize("part", ["settings", "verbs"])
def test_generated_tables_are_those_of_the_code(part: str) -> None:
    tables = make_tables()
    page = text(tables.PAGES[part])
    assert tables.updated(part, page) == page, "run: python docs/reference/make_tables.py"
    assert len(page) > 3000  # the marks are there, and something between them


def test_every_setting_has_a_row_with_an_explanation() -> None:
    page = text(ROOT / "docs/how-to/gaploop-toml.md")
    for section, key in config_keys(LoopConfig):
        head = f"### `[{section}]`" if section else "### Top of the file"
        part = page.partition(head)[2].partition("\n### ")[0]
        assert re.search(rf"^\| `{key}` \| `[^|]+` \| [^|]{{8,}}", part, re.MULTILINE), (
            f"{section}.{key}"
        )


def test_every_verb_and_flag_is_documented() -> None:
    page = text(ROOT / "docs/reference/cli.md")
    for verb, (module, cls, _) in VERBS.items():
        head = f"### `gaploop {verb}`"
        assert head in page
        part = page.partition(head)[2].partition("\n### ")[0]
        for field in dataclasses.fields(getattr(import_module(f"gaploop.cli.{module}"), cls)):
            spelled = (f"`--{field.name.replace('_', '-')}`", f"`{field.name.upper()}`")
            assert any(s in part for s in spelled), f"{verb}: {field.name}"


def test_every_pipeline_setting_is_documented() -> None:
    page = text(ROOT / "docs/reference/knob-targets.md")
    tables: dict[str, dict[str, Any]] = {
        "## The command path": settings.ACTION,
        "## The sensor path": settings.SENSOR,
    }
    for head, table in tables.items():
        part = page.partition(head)[2].partition("\n## ")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", part, re.MULTILINE))
        assert {k: float(v) for k, v in rows.items()} == {k: s.neutral for k, s in table.items()}
    for effect, table in settings.EFFECTS.items():
        assert all(f"`{k}`" in page for k in (effect, *table))


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_a_page_of_the_same_parts(cause: str) -> None:
    page = text(ROOT / "docs" / "causes" / f"{cause}.md")
    for part in ("## Remedy", "## What to record"):
        assert part in page
    assert cause == "unknown" or "## Look-alikes" in page


@pytest.mark.parametrize("group", ["readers", "fields"])
def test_every_built_in_is_named(group: Any) -> None:
    pages = "".join(text(p) for p in PAGES)
    for built_in in registry.names(group):
        assert re.search(rf"[`:\"]{built_in}\b", pages), built_in
