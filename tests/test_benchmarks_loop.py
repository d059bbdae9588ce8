"""What the benchmarks `loop` and `healed` make of their cells, on figures made up for it."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from gaploop.core import BucketChange, Exam, Healed
from gaploop.stats import Interval
from gaploop.studies import RECIPES, recipes

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import loop

    return loop


@pytest.fixture
def healed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import healed

    return healed


def made_up(loop: ModuleType, cell: Any) -> Any:
    """The loop ends at 180 of 200, `half` is at 100, every other rival at 20."""
    given = cell.parameters

    def policy(*k: int) -> dict[str, Any]:
        found: dict[str, Any] = {"k": list(k), "n": [200] * len(k), "spent": 5.0}
        watched = given["family"] == "lab-e"
        return found | ({"takeovers": [10.0] * len(k)} if watched else {})

    name, rounds = given["recipe"], range(given["rounds"])
    if name == loop.ALARM:
        rang = given["family"] == "lab-out"
        values = {"misspecified": rang, "value": 4.0 if rang else 0.5, "limit": 3.0,
                  "clean": 20, "success": 5, "n": 20}  # fmt: skip
        return loop.Result(cell=cell, values=values, wall=1.0, cpu=1.0)
    rivals = {name: policy(100 if name == "half" else 20)}
    if name == "fine-tuned":
        rivals["uniform"] = policy(20)
    values: dict[str, Any] = {"policies": rivals}
    if name == "loop":
        values = {
            "policies": {"loop": policy(0, 60, 120, 180), loop.TUNED: policy(190)},
            "healed": [[4, 3, 2] for _ in rounds],
            "kept": [[1, "a", 10.0 * given["seed"], 12.0 * given["seed"]]],
            "alarm": [k == 0 for k in rounds],
            "causes": [["sensor", "execution"] for _ in rounds],
            "training": [[True, 1] for _ in rounds],
        }
    return loop.Result(cell=cell, values=values, wall=1.0, cpu=1.0)


def test_the_grid_holds_every_recipe_in_every_world(loop: ModuleType) -> None:
    # `uniform` is measured on the way to `fine-tuned`
    grid = loop.cells(False)
    assert len({c.name for c in grid}) == len(grid)
    for task, families in loop.WORLDS.items():
        for family, seeds in families.items():
            mine = [
                c
                for c in grid
                if c.name.startswith(f"{task}/{family}:") and c.parameters["recipe"] != loop.ALARM
            ]
            assert len(mine) == seeds * len(recipes(task))
            assert seeds >= (3 if family == "lab-a" else 5)
    assert all(c.cost > 0 for c in grid)
    assert sum(c.cost for c in grid) / loop.WORKERS < 3600


def test_quick_is_a_part_that_fits_five_minutes(loop: ModuleType) -> None:
    assert sum(c.cost for c in loop.cells(True)) / loop.WORKERS < 300


def test_the_table_names_the_best_rival(loop: ModuleType) -> None:
    chosen = [c for c in loop.cells(False) if c.parameters["family"] in ("lab-e", "lab-mix")]
    page = loop.table([made_up(loop, c) for c in chosen])
    short, aimed = (_row(page, part, "lab-mix") for part in ("beside its best", "the targets"))
    assert short[2] == "half"
    assert [cell.partition(" [")[0] for cell in short[3:]] == ["50", "0", "30", "60", "90", "+40"]
    # 90 % is 40 points over the rival, but not 95 %
    assert [aimed[i] for i in (2, 5, 6)] == ["5", "95 %, +20", "no"]
    assert _row(page, "the targets", "lab-e")[6] == "yes"
    assert "| loop, round 2 " in page
    assert re.search(r"\| lab-e \| loop, round 3 +\| +10 ", page)
    for recipe in RECIPES:
        assert f"| {recipe} " in page
    # of 5 loops of 3 rounds with 4 failures each
    assert "45/60" in page
    assert "30/60" in page
    assert "rank correlation 1.00" in page


def test_where_nothing_is_to_gain_the_loop_stands_beside_nominal(loop: ModuleType) -> None:
    chosen = [c for c in loop.cells(False) if "peg/lab-a" in c.name]
    results = [made_up(loop, c) for c in chosen]
    # 180 against 20 of 200
    assert "the loop less nominal +80 [" in loop.table(results)
    assert "3 seeds paired; target: within 1 of 0." in loop.table(results)
    assert "less nominal" not in loop.table([r for r in results if "lab-a:" not in r.cell.name])
    rest = [r for r in results if not r.cell.name.endswith("nominal")]
    assert "less nominal" not in loop.table(rest)


def test_the_alarm_is_asked_of_both_worlds_alike(loop: ModuleType) -> None:
    grid = [c for c in loop.cells(False) if c.parameters["recipe"] == loop.ALARM]
    page = loop.table([made_up(loop, c) for c in grid])
    assert _row(page, "announced", "lab-out")[2].startswith("10/10 [")
    assert _row(page, "announced", "lab-plain")[2].startswith("0/10 [")


def test_a_part_of_the_grid_has_a_table_too(loop: ModuleType) -> None:
    some = [c for c in loop.cells(True) if c.parameters["recipe"] != "loop"]
    assert "too few for a correlation" in loop.table([made_up(loop, c) for c in some])


def test_the_correlation_is_of_ranks_and_its_interval_of_loops(loop: ModuleType) -> None:
    rng = np.random.default_rng(0)
    alike = [[(x, x**3) for x in rng.normal(size=3)] for _ in range(12)]
    assert loop.correlation(alike) == pytest.approx((1.0, 1.0, 1.0))
    noise = [[tuple(rng.normal(size=2)) for _ in range(3)] for _ in range(12)]
    rho, lo, hi = loop.correlation(noise)
    assert lo < rho < hi
    assert lo < 0 < hi
    assert np.isnan(loop.correlation(noise[:2])[1])


def test_a_difference_is_as_wide_as_both_its_rates(loop: ModuleType) -> None:
    ours, rival = Interval(mean=0.9, lo=0.8, hi=0.95), Interval(mean=0.5, lo=0.4, hi=0.6)
    gap = 100 * np.hypot(0.1, 0.1)
    assert (
        loop.difference(ours, rival)
        == f"+40 [{40 - gap:+.0f}, {40 + 100 * np.hypot(0.05, 0.1):+.0f}]"
    )


@pytest.mark.parametrize(
    ("own", "siblings", "worked", "called"),
    [
        (True, True, "unchanged", "repaired"),
        (True, False, "unchanged", "memoriser"),
        (True, True, "fell", "forgetter"),
        (False, False, "unchanged", "unchanged"),
        (False, False, "fell", "forgetter"),
    ],
)
def test_what_an_exam_says_of_a_policy(
    healed: ModuleType, own: bool, siblings: bool, worked: Any, called: str
) -> None:
    change = BucketChange(
        bucket="worked", before_k=9, after_k=9, n=10, p_value=1.0, lo=0, hi=0, direction=worked
    )
    one = Healed(
        episode="e", own_k=6 * own, own_n=6, siblings_k=20 * siblings, siblings_n=20, before_k=0,
        healed=siblings,
    )  # fmt: skip
    exam = Exam(
        policy="new", against="old", hard_set="", scores=(), baseline=(), changes=(change,),
        healed=(one,) * 3,
    )  # fmt: skip
    assert healed.verdict(exam) == called


@pytest.mark.slow
def test_a_network_can_learn_the_exact_scenes_by_heart(healed: ModuleType) -> None:
    world, flaw = healed.World(healed.Peg()), healed.Flaw(1)
    old = healed.Steering(world.spec, flaw)
    episodes, scenes = healed._field(world, old, 1)
    every = [s for group in scenes.values() for s in group]
    starts = np.array([group[0].layout for group in scenes.values()])
    policy = healed.by_heart(world, old, every, starts, 1)
    told = healed._told(healed._examiner(world, old, episodes, scenes, 1)(policy))
    assert told["verdict"] == "memoriser"
    assert 2 * told["own"] > told["asked"] > 0
    assert 2 * told["healed"] <= told["asked"]
    failing, elsewhere = healed._can(world, policy, flaw, 1)
    assert failing < 0.5
    assert elsewhere > 0.9


def test_both_memorisers_must_be_caught(healed: ModuleType) -> None:
    def one(verdict: str) -> dict[str, Any]:
        return {"verdict": verdict, "asked": 6, "own": 6, "healed": 1, "worked": "unchanged",
                "release": "hold", "can": [0.1, 1.0]}  # fmt: skip

    results = [
        healed.Result(
            cell=cell, wall=1.0, cpu=1.0,
            values={kind: one(called) for kind, called in healed.KINDS.items()},
        )
        for cell in healed.cells(False)
    ]  # fmt: skip
    page = healed.table(results)
    assert "Told apart: 75/75 [" in page
    assert "siblings: 15/15 (trained), 15/15 (look-up)." in page
    results[0].values[healed.TRAINED] = one("repaired")
    page = healed.table(results)
    assert "Told apart: 74/75 [" in page
    assert "siblings: 14/15 (trained), 15/15 (look-up)." in page


@pytest.mark.slow
def test_the_planted_policies_are_what_they_are_called(
    healed: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the one that learns by heart takes longest: see above
    monkeypatch.setattr(healed, "by_heart", lambda world, old, *_: old)
    [cell] = [c for c in healed.cells(True) if c.name == "seed-1"]
    values = healed.run(cell)
    can = {kind: values[kind]["can"] for kind in healed.KINDS}
    failing, elsewhere = 0, 1
    assert can[healed.LOOKED_UP][failing] < 0.2
    assert can[healed.LOOKED_UP][elsewhere] > 0.9
    assert can["forgetter"][elsewhere] < 0.5
    assert min(can["repaired"]) > 0.8
    assert can["unchanged"][failing] < 0.2
    assert can["unchanged"][elsewhere] > 0.9
    told = values[healed.LOOKED_UP]
    assert told["own"] == told["asked"] > 0
    assert told["healed"] == 0


def test_every_planted_policy_but_one_is_trained(
    healed: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[int] = []

    def fit(sources: Any, shares: Any, spec: Any, config: Any, seed: int, out: Path) -> None:
        fitted.append(seed)

    world, flaw = healed.World(healed.Peg()), healed.Flaw(1)
    old = healed.Steering(world.spec, flaw)
    monkeypatch.setattr(healed, "fit_policy", fit)
    monkeypatch.setattr(healed, "load_policy", lambda folder: old)
    _, scenes = healed._field(world, old, 1)
    assert set(healed.planted(world, old, flaw, scenes, 1)) == set(healed.KINDS)
    # each from a seed of its own
    assert len(set(fitted)) == len(fitted) == len(healed.KINDS) - 1


def test_the_picture_has_a_panel_a_world_and_says_what_it_is(loop: ModuleType) -> None:
    chosen = [c for c in loop.cells(False) if c.parameters["family"] == "lab-mix"]
    drawn = loop.picture([made_up(loop, c) for c in chosen])
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert drawn.count('class="frame"') == 2
    # whatever page it stands on: a ground of its own, under everything, for light and dark text
    page = ElementTree.fromstring(drawn)
    ground = next(e for e in page if e.tag.endswith(("rect", "text", "line")))
    assert ground.attrib == {
        "class": "ground", "width": page.attrib["width"], "height": page.attrib["height"]
    }  # fmt: skip
    light, dark = drawn.split("@media (prefers-color-scheme: dark)")
    assert ".ground { fill:" in light
    assert ".ground { fill:" in dark
    assert "sim-to-sim" in drawn
    assert "round 3: 90 [" in drawn


def _row(page: str, heading: str, world: str) -> list[str]:
    """Cells of the row of a world of `peg` in the section whose heading holds these words."""
    [section] = [part for part in page.split("## ")[1:] if heading in part.partition("\n")[0]]
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in section.splitlines()]
    [row] = [r for r in rows if r[:2] == ["peg", world]]
    return row
