"""Planted defects are found under their own name, and healthy sets are left alone."""

import pytest

from gaploop.ingest import Finding, screen
from gaploop.testing.clean_sets import clean_set
from gaploop.testing.defects import SEVERITIES, defective, kinds
from gaploop.testing.shapes import SHAPES

SEED, EPISODES = 7, 16


@pytest.fixture(scope="module")
def healthy():
    return {shape: clean_set(shape, SEED, EPISODES) for shape in SHAPES}


def _named(findings: tuple[Finding, ...], ids: list[str], codes: tuple[str, ...]) -> set[int]:
    names = {
        name for f in findings if f.code in codes and f.severity != "info" for name in f.episodes
    }
    return {i for i, name in enumerate(ids) if name in names}


@pytest.mark.parametrize("name", list(kinds()))
def test_each_defect_is_named_in_its_episodes(name: str, healthy) -> None:
    shapes = kinds()[name].shapes
    shape = shapes[list(kinds()).index(name) % len(shapes)]
    bad, truth = defective(name, "middle", shape, SEED, healthy[shape])
    episodes = bad.episodes()
    ids = [e.id for e in episodes]
    named = _named(screen(episodes).findings, ids, truth.accepted)
    # a copy shares its original's id
    planted = {i for i, x in enumerate(ids) if x in {ids[k] for k in truth.episodes}}
    others = set(truth.others)
    assert any(len(named & t) >= 0.9 * len(named | t) for t in (planted, others) if t), (
        f"{shape}: planted in {sorted(planted)}, named {sorted(named)}"
    )


@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_healthy_set_has_no_finding(shape: str, healthy) -> None:
    findings = screen(healthy[shape].episodes()).findings
    assert [f.message for f in findings if f.severity != "info"] == []


def test_a_set_is_drawn_from_its_seed_alone() -> None:
    one, same, other = (clean_set("pose", s, 3).episodes() for s in (1, 1, 2))
    assert [e.id for e in one] == [e.id for e in same]
    assert {e.id for e in one}.isdisjoint(e.id for e in other)


def test_planting_leaves_the_healthy_set_as_it_was(healthy) -> None:
    before = [e.id for e in healthy["pose"].episodes()]
    for severity in SEVERITIES:
        for name, kind in kinds().items():
            if "pose" in kind.shapes:
                defective(name, severity, "pose", SEED, healthy["pose"])
    assert [e.id for e in healthy["pose"].episodes()] == before
