from dataclasses import replace
from pathlib import Path

import pytest

from gaploop.cli.story import story as told
from gaploop.cli.story import summary
from gaploop.core import Exam, Label
from gaploop.store import Workcell
from gaploop.store.datasets import write_dataset
from gaploop.view import report
from gaploop.view.gather import gather
from gaploop.view.rounds import Rounds

TOML = 'task = "peg"\nfield = "lab-mix:3"\n'


@pytest.fixture
def cell(tmp_path: Path):
    with Workcell.create(tmp_path / "cell", TOML) as made:
        yield made


def test_an_empty_workcell_has_a_report(cell: Workcell) -> None:
    page = report(cell)
    assert page == cell.report / "index.html"
    assert "No round has been run" in page.read_text()


def test_what_was_stored_is_what_is_shown(cell: Workcell, story: Rounds) -> None:
    first = story.rounds[0]
    episodes = [f.episode for f in first.failures if f.episode is not None]
    folder = cell.tmp / "field"
    write_dataset(folder, episodes, fps=20.0, robot="gantry", sidecar=None)
    put = cell.objects.put
    refs = {
        "field@r1": cell.add_dataset(folder),
        "posterior@r1": put(first.posterior),
        "diagnoses@r1": put(tuple(f.diagnosis for f in first.failures)),
        "reproductions@r1": put(tuple(f.reproduction for f in first.failures)),
        "curation@r1": put(first.curation),
        "exam@r1": put(first.exam),
        "decision@r1": put(first.decision),
        "policy@r0": "a" * 64,
        "data@r1": "",
    }
    for name, digest in refs.items():
        cell.ledger.set_ref(name, digest)
    seen = gather(cell)
    assert (seen.name, seen.task, seen.field) == ("cell", "peg", "lab-mix:3")
    assert [r.number for r in seen.rounds] == [1]
    turn = seen.rounds[0]
    assert "data" not in turn.digests
    assert [f.diagnosis for f in turn.failures] == [f.diagnosis for f in first.failures]
    assert turn.exam == first.exam
    assert isinstance(turn.exam, Exam)
    assert turn.field is None  # nobody judged these episodes
    assert turn.world == "stand-in"
    text = report(cell).read_text()
    assert "late commands" in text
    assert len(list((cell.report / "failures").iterdir())) == 3


def test_the_field_line_tells_help_apart(cell: Workcell, story: Rounds) -> None:
    won = Label(subject="", key="outcome", value={"success": True}, author="test")
    held = Label(subject="", key="intervention", value={"start": 0.1}, author="test")
    logs = [f.episode for f in story.rounds[0].failures if f.episode is not None]
    facts = [(won,), (won, held), (held, held)]  # nobody judged the third
    folder = cell.tmp / "field"
    episodes = [replace(e, facts=f) for e, f in zip(logs, facts, strict=True)]
    write_dataset(folder, episodes, fps=20.0, robot="gantry")
    cell.ledger.set_ref("field@r1", cell.add_dataset(folder))
    (turn,) = gather(cell).rounds
    assert turn.field is not None
    assert (turn.field.k, turn.field.n, turn.helped, turn.takeovers) == (1, 2, 1, 50.0)
    assert next(told(cell, 1)).startswith("round 1  field    1/2 ")
    assert "alone, 1 with help (50 takeovers per 100) (stand-in)" in next(told(cell, 1))
    assert summary(cell, 1)["field"] == {"k": 1, "n": 2, "helped": 1, "takeovers": 1}
