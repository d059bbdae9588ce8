"""Planted defects are found under their own name, and healthy sets are left alone."""

from pathlib import Path

import numpy as np
import pytest

from gaploop.ingest import Finding, screen
from gaploop.testing.clean_sets import clean_set
from gaploop.testing.defects import SEVERITIES, defective, kinds
from gaploop.testing.defects_files import FILE_DEFECTS
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


def test_a_late_stamp_is_no_hole() -> None:
    late, lost = clean_set("arm", SEED, 4), clean_set("arm", SEED, 4)
    for s in (late, lost):
        s.takes[0].times = np.arange(len(s.takes[0].times)) / 30.0
    late.takes[0].times[50] += 0.9 / 30
    lost.takes[0].times[50:] += 1 / 30
    assert "timestamp_gap" not in {f.code for f in screen(late.episodes()).findings}
    assert "timestamp_gap" in {f.code for f in screen(lost.episodes()).findings}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_readings_trail_their_commands_as_stated(shape: str) -> None:
    robot = SHAPES[shape]
    lag = next(f for f in screen(clean_set(shape, 3, 8).episodes()).findings
               if f.code == "action_lag")  # fmt: skip
    shown = float(lag.message.split("trails it by ")[1].split(" ms")[0])
    assert robot.lags[0] - 0.6 < shown * robot.fps / 1e3 < robot.lags[1] + 0.6


@pytest.mark.parametrize("name", list(FILE_DEFECTS))
def test_each_file_defect_changes_one_file(name: str, tmp_path: Path) -> None:
    from gaploop.store.datasets import write_dataset

    folder = tmp_path / "set"
    write_dataset(folder, clean_set("pose", 4, 3).episodes(), fps=15.0, robot="pose")
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    changed = FILE_DEFECTS[name][1](folder)
    assert [p for p, data in before.items() if p.read_bytes() != data] == [changed]
