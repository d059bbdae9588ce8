"""One wording for instructions that mean the same, the original beside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.core import Episode, Signal
from gaploop.ingest.language import canonical, grouped, with_wording


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ("Pick up the red block", "pick up red block"),
        ("please grab the red block.", "pick up red block"),
        ("Could you take a red block?", "pick up red block"),
        ("put the cup into the sink", "place cup in sink"),
        ("Place the cup inside the sink!", "place cup in sink"),
        ("pick up the cup and place it in the sink", "place cup in sink"),
        ("pick the cup from the table, and then put it into the sink", "place cup in sink"),
        ("move the cup onto the plate", "place cup on plate"),
        ("move the cup to the left", "move cup to left"),
        ("shut the drawer", "close drawer"),
        ("open_the_drawer", "open drawer"),
    ],
)
def test_same_meaning_same_words(told: str, wanted: str) -> None:
    found = canonical(told)
    assert found.canonical == wanted
    assert found.original == told


@pytest.mark.parametrize(
    "told",
    ["in", "pick up", "Räum den Tisch ab", "把杯子放进水槽", "do whatever seems best", "", "   "],
)
def test_what_no_template_fits_keeps_its_words(told: str) -> None:
    found = canonical(told)
    assert found.template == ""
    assert found.original == told
    assert found.canonical == " ".join(told.lower().split())


def test_different_tasks_stay_apart() -> None:
    told = ["put the cup in the sink", "take the cup out of the sink", "put the cup on the sink"]
    assert len(grouped(told)) == 3


def test_groups_keep_every_original_once() -> None:
    found = grouped(["grab the cup", "pick up the cup", "grab the cup", "open the door"])
    assert found == {
        "pick up cup": ("grab the cup", "pick up the cup"),
        "open door": ("open the door",),
    }


@given(st.text(max_size=200))
def test_it_is_idempotent_and_never_fails(told: str) -> None:
    once = canonical(told).canonical
    assert canonical(once).canonical == once or not canonical(told).template


def test_the_fact_stands_beside_and_the_id_stays() -> None:
    signal = Signal(name="action", times=np.arange(3.0), values=np.zeros((3, 1)))
    episode = Episode(signals={"action": signal}, instruction="Grab the cup!")
    told = with_wording(episode)
    assert told.id == episode.id
    assert told.instruction == "Grab the cup!"
    assert told.fact("instruction")["canonical"] == "pick up cup"
    silent = Episode(signals={"action": signal})
    assert with_wording(silent) is silent
