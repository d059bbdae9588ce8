"""Pages from a made-up story: well formed, offline, honest about what is missing."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from gaploop.core import COLOURS, GaploopError
from gaploop.view.figures import percent, response_figure
from gaploop.view.render import pages, write
from gaploop.view.rounds import Failure, Rate, Round, Rounds

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Checker(HTMLParser):
    """Tags close in order; collects links, ids and anything that would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "href" and tag == "a":
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")
            if name == "src" or tag in ("script", "link", "iframe"):
                self.fetched.append(f"{tag} {value}")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    return checker


def test_pages_are_whole_and_need_no_network(story: Rounds) -> None:
    made = pages(story)
    assert len(made) == 5
    for text in made.values():
        assert check(text).fetched == []
        assert "http" not in text


def test_every_link_leads_somewhere(story: Rounds) -> None:
    made = pages(story)
    for name, text in made.items():
        folder = "failures/" if name.startswith("failures/") else ""
        for link in check(text).links:
            path, _, anchor = link.partition("#")
            target = name if not path else path.removeprefix("../") if folder else path
            assert target in made
            if anchor:
                assert anchor in check(made[target]).ids


def test_every_picture_is_xml_with_a_title(story: Rounds) -> None:
    text = pages(story)["index.html"]
    pieces = [p.split("</svg>")[0] for p in text.split("<svg ")[1:]]
    pictures = [p for p in pieces if 'role="img"' in p]
    assert len(pictures) > 8
    for piece in pieces:
        ET.fromstring(f"<svg {piece}</svg>")
    for piece in pictures:
        root = ET.fromstring(f"<svg {piece}</svg>")
        title = root.find("title")
        assert title is not None
        assert title.text == root.get("aria-label")


def test_the_loop_page_says_what_the_rounds_say(story: Rounds) -> None:
    text = pages(story)["index.html"]
    for said in (
        "From 0 of 20 to 13 of 20 in the field",
        "0/20 · 0 % [0, 16]",
        "13/20 · 65 % [43, 82]",
        "2 of 4 knobs",
        "3 of 4 knobs",
        "2.1 ± 0.5 mm",
        "sim-to-sim",
        "Predicts late commands +60 points [35, 80].",
        "1 of 2",
        "promote",
        "too thin",
    ):
        assert said in text


def test_a_failure_page_tells_the_whole_story(story: Rounds) -> None:
    text = next(t for n, t in pages(story).items() if n.startswith("failures/"))
    for said in (
        "Late commands: execution, probability 0.88",
        "had delay been under 33 ms",
        "over 1000",
        "8/8 · 100 % [68, 100]",
        "21/24 · 88 % [69, 96]",
        "71 ms",
        "visual: no pixels are in this log",
        "healed, siblings 0 to 14 of 16",
        "recalibrate (execution)",
        COLOURS["execution"],
    ):
        assert said in text


def test_the_hard_set_page_is_bucket_by_policy(story: Rounds) -> None:
    text = pages(story)["hardset.html"]
    assert "96/120 · 80 % [72, 86]" in text
    assert "4/120 · 3 % [1, 8]" in text
    assert "1 for the exam alone, 1 may be trained around" in text


def test_what_somebody_wrote_is_escaped(story: Rounds) -> None:
    first = story.rounds[0]
    bad = replace(first.failures[0].diagnosis, kind="<script>alert(1)</script>")
    turn = replace(first, failures=(replace(first.failures[0], diagnosis=bad),))
    for text in pages(replace(story, name="<b>cell</b>", rounds=(turn,))).values():
        assert "<script" not in text
        assert "<b>cell" not in text


def test_missing_stages_are_said_to_be_missing(story: Rounds) -> None:
    bare = Rounds(name="cell", rounds=(Round(number=1),))
    made = pages(bare)
    assert "Nothing has met the field yet" in made["index.html"]
    assert "No exam was held" in made["index.html"]
    assert "still empty" in made["hardset.html"]
    assert "No round has been run" in pages(Rounds(name="cell"))["index.html"]
    lonely = Failure(diagnosis=story.rounds[0].failures[0].diagnosis)
    text = pages(Rounds(name="cell", rounds=(Round(number=1, failures=(lonely,)),)))
    page = next(t for n, t in text.items() if n.startswith("failures/"))
    assert "nothing can be drawn" in page
    assert "was not reproduced" in page


@pytest.mark.parametrize(
    ("k", "n", "lo", "hi"),
    [
        (1, 0, 0.0, 1.0),
        (3, 2, 0.5, 1.0),
        (1, 2, float("nan"), 1.0),
        (1, 2, 0.6, 0.9),
        (1, 2, 0, 50),
    ],
)
def test_a_rate_without_k_n_and_interval_is_refused(k: int, n: int, lo: float, hi: float) -> None:
    with pytest.raises(GaploopError):
        Rate(k=k, n=n, lo=lo, hi=hi)


def test_a_rate_is_always_shown_with_its_interval() -> None:
    assert percent(Rate(k=13, n=20, lo=0.433, hi=0.819)) == "13/20 · 65 % [43, 82]"


def test_a_curve_without_a_flip_still_draws(story: Rounds) -> None:
    met = story.rounds[0].failures[0].reproduction
    assert met is not None
    assert met.counterfactual is not None
    nan = float("nan")
    flat = replace(met.counterfactual, flip=nan, flip_lo=nan, flip_hi=nan, response=np.zeros(9))
    ET.fromstring(str(response_figure(flat)))


def test_files_are_written_whole(story: Rounds, tmp_path) -> None:
    index = write(story, tmp_path / "report")
    assert index == tmp_path / "report" / "index.html"
    names = sorted(str(p.relative_to(index.parent)) for p in index.parent.rglob("*") if p.is_file())
    assert names == sorted(pages(story))
    assert write(story, tmp_path / "report").read_text() == index.read_text()


def test_help_stands_apart_from_the_policys_own_successes(story: Rounds) -> None:
    watched = replace(story.rounds[1], helped=5, takeovers=25.0)
    text = pages(replace(story, rounds=(story.rounds[0], watched)))["index.html"]
    assert "13/20" in text
    assert "alone; 5 with help, 25 takeovers per 100" in text
    assert "to 13 of 20 alone in the field" in text
    assert "with help" not in pages(story)["index.html"]
