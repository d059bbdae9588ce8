"""Templates to files: jinja2 with autoescape, one stylesheet inside each page."""

import os
import tempfile
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gaploop.core import COLOURS
from gaploop.core.units import shown
from gaploop.view.figures import percent
from gaploop.view.pages import failure_page, hardset_page, index_page, page_name
from gaploop.view.rounds import Rounds

TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(percent=percent, shown=shown, colours=COLOURS)
    made.globals["style"] = Markup(
        (TEMPLATES / "style.css").read_text(encoding="utf-8")
    )  # our own file
    return made


def pages(story: Rounds) -> dict[str, str]:
    """Path within the report to its HTML."""
    made = {
        "index.html": _page("index.html", story, "", index_page(story)),
        "hardset.html": _page("hardset.html", story, "", hardset_page(story)),
    }
    for turn in story.rounds:
        for failure in turn.failures:
            context = failure_page(turn, failure)
            made[page_name(turn.number, failure)] = _page("failure.html", story, "../", context)
    return made


def write(story: Rounds, out: Path) -> Path:
    """Write all pages under `out`; returns the path of index.html. Each file is whole or absent."""
    for name, text in pages(story).items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".page-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(temporary, 0o644)  # mkstemp makes it private; a report is to be read
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    return out / "index.html"


def _page(template: str, story: Rounds, root: str, context: dict[str, object]) -> str:
    rounds = f"{len(story.rounds)} round{'' if len(story.rounds) == 1 else 's'}"
    facts = " · ".join(x for x in (story.task, story.field, rounds) if x)
    return (
        _environment().get_template(template).render(story=story, root=root, facts=facts, **context)
    )
