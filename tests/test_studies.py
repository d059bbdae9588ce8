"""Recipes: equal means for all, and each does what its name says."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gaploop.config import LoopConfig
from gaploop.core import (
    Diagnosis,
    Episode,
    Evidence,
    Label,
    Signal,
    UnknownNameError,
    UsageError,
    registry,
    spawn,
)
from gaploop.field.miswired import miswired
from gaploop.generate import generate
from gaploop.generate.config import GenerateConfig
from gaploop.loop import ROUND, Stage
from gaploop.policies import load_policy
from gaploop.policies.mend import mended
from gaploop.sim import World
from gaploop.store import Workcell
from gaploop.studies import (
    FIELD_SHARE,
    RECIPES,
    field_round,
    field_success,
    loop,
    misled,
    prior_box,
    recipes,
    successes,
)
from gaploop.train.config import TrainConfig

CONFIG = LoopConfig(
    task="peg",
    field="lab-a:0",
    rounds=1,
    trials=4,
    train=TrainConfig(steps=120, width=48, layers=2),
    generate=GenerateConfig(demos=40),
)
SPACE = registry.load("tasks", "peg")().spec.knobs


@pytest.mark.parametrize("width", [0.25, 0.5, 1.0])
def test_a_narrower_box_lies_around_nominal(width: float) -> None:
    draws = prior_box("peg", width, 0).shipped
    middle, u = SPACE.to_unit(SPACE.nominal[None]), SPACE.to_unit(draws)
    low, high = middle * (1 - width), middle + width * (1 - middle)
    assert ((u >= low - 1e-3) & (u <= high + 1e-3)).all()
    # all of the box is used: uniform draws reach within a hundredth of either end
    assert (np.ptp(u, axis=0) > 0.97 * width).all()


def test_the_full_box_is_the_prior() -> None:
    u = SPACE.to_unit(prior_box("peg", 1.0, 3).shipped)
    np.testing.assert_allclose(u.mean(axis=0), 0.5, atol=0.03)


@pytest.mark.parametrize("width", [0.0, -1.0, 1.5])
def test_a_width_that_is_no_part_of_the_prior(width: float) -> None:
    with pytest.raises(UsageError, match="no part of the prior"):
        prior_box("peg", width, 0)


def test_a_task_without_a_searching_expert() -> None:
    assert set(recipes("peg")) == set(RECIPES)
    assert set(recipes("slide")) == set(RECIPES) - {"searching"}
    with pytest.raises(UsageError, match="There is one for: peg"):
        RECIPES["searching"](replace(CONFIG, task="slide"), 10, 0, Path("nowhere"))


def test_every_recipe_has_the_same_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(registry.load("tasks", "peg")())
    won = generate(world, None, (), GenerateConfig(demos=3), 9).episodes
    monkeypatch.setattr("gaploop.studies.field_round", lambda *_: list(won))
    contracts = {}
    for name, recipe in RECIPES.items():
        recipe(CONFIG, 40, 1, tmp_path / name)
        contracts[name] = load_policy(tmp_path / name).contract
    first = contracts["nominal"]
    for name, contract in contracts.items():
        assert (contract.history, contract.chunk, contract.execute) == (
            first.history, first.chunk, first.execute
        ), name  # fmt: skip
        assert contract.provenance["training"] == first.provenance["training"], name
        more = len(won) if name == "fine-tuned" else 0
        assert int(contract.provenance["episodes"]) == 40 + more, name
    # one policy from the plain simulator, one from its neighbourhood, all different
    assert len({c.provenance["datasets"] for c in contracts.values()}) == len(RECIPES)
    shares = [float(s) for s in contracts["fine-tuned"].provenance["shares"].split()]
    assert shares == [1 - FIELD_SHARE, FIELD_SHARE]


def test_fine_tuning_sees_what_the_loop_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int, int]] = []

    class Field:
        def collect(
            self, policy: Path, trials: int, seed: int, out: Path, *, round: int = 1
        ) -> None:
            told.append((trials, seed, round))
            registry.load("fields", "lab-a")("0").collect(policy, trials, seed, out, round=round)

    monkeypatch.setattr("gaploop.wiring.field_of", lambda config: Field())
    RECIPES["nominal"](CONFIG, 20, 0, tmp_path / "policy")
    field_round(CONFIG, tmp_path / "policy", 2, tmp_path / "out")
    assert told == [(CONFIG.trials, spawn(CONFIG.seed, "field", 2), 2)]


def test_what_a_person_did_is_imitated_and_failures_are_not() -> None:
    won, lost, helped = _episode(0, True), _episode(1, False), _episode(2, True)
    held = Signal(
        name="intervention", times=helped.signals["action"].times, values=np.arange(6) > 3
    )
    helped = replace(helped, signals=helped.signals | {"intervention": held})
    broken = _episode(3, True)
    values = broken.signals["action"].values.copy()
    values[2] = np.nan
    action = replace(broken.signals["action"], values=values)
    broken = replace(broken, signals=broken.signals | {"action": action})
    found = successes([won, lost, helped, broken])
    assert len(found) == 2
    np.testing.assert_array_equal(found[1].signals["frame_weight"].values, [0, 0, 0, 0, 1, 1])


def test_measurements_are_paired(tmp_path: Path) -> None:
    RECIPES["nominal"](CONFIG, 40, 0, tmp_path / "policy")
    found = [field_success("lab-b", 1, "peg", tmp_path / "policy", 20, 5) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0][1] == 20


def _episode(seed: int, success: bool) -> Episode:
    spec = registry.load("tasks", "peg")().spec
    times = np.arange(6) * spec.control_dt
    rng = np.random.default_rng(seed)
    signals = {
        key: Signal(name=key, times=times, values=rng.random((6, width)).astype(np.float32))
        for key, width in (("action", 3), ("observation.state", 3))
    }
    episode = Episode(
        contract=spec.contract, robot=spec.robot, unit="", task=spec.name, instruction="",
        world="stand-in", origin="rollout", policy="", signals=signals,
    )  # fmt: skip
    fact = Label(subject=episode.id, key="outcome", value={"success": success}, author="test")
    return replace(episode, facts=(fact,))


@pytest.mark.parametrize("verdict", ["sensor", "contract", "policy"])
def test_a_shuffled_diagnosis_names_another_cause_with_its_knobs(verdict: str) -> None:
    posterior = prior_box("peg", 0.5, 0)
    found = [misled(_diagnosis(i, verdict), posterior, 3) for i in range(200)]
    named = {d.verdict for d in found}
    gaps = {k.gap for k in SPACE.knobs}
    assert named == {*gaps, "contract", "policy", "unknown"} - {verdict}
    for i, one in enumerate(found):
        given = _diagnosis(i, verdict)
        assert (one.episode, one.stage, one.kind) == (given.episode, given.stage, "")
        assert one.probabilities[one.verdict] == given.probabilities[verdict]
        assert sum(one.probabilities.values()) == pytest.approx(1.0)
        assert not one.evidence
        assert {k.name for k in one.knobs} == {k.name for k in SPACE.knobs if k.gap == one.verdict}
        for knob in one.knobs:
            column = posterior.particles[:, SPACE.index(knob.name)]
            assert knob.estimate == pytest.approx(column.mean())
            np.testing.assert_allclose(
                [knob.lo, knob.hi], np.quantile(column, [0.05, 0.95]),
                atol=0.01 * np.ptp(column),
            )  # fmt: skip
    assert found == [misled(_diagnosis(i, verdict), posterior, 3) for i in range(200)]
    assert found != [misled(_diagnosis(i, verdict), posterior, 4) for i in range(200)]


def test_a_fault_of_the_path_is_met_by_a_policy_and_taken_out_by_its_mend(tmp_path: Path) -> None:
    able = replace(CONFIG, train=TrainConfig(steps=600, width=96))
    RECIPES["nominal"](able, 120, 0, tmp_path / "policy")
    sound = field_success("lab-a", 0, "peg", tmp_path / "policy", 20, 5)
    assert sound[0] > 5
    faulty = field_success("lab-a", 0, "peg", tmp_path / "policy", 20, 5, fault="mm")
    assert faulty[0] < sound[0]
    undone = miswired(registry.load("tasks", "peg")().spec, "mm").inverse()
    mended(tmp_path / "policy", (undone,), tmp_path / "mended")
    assert field_success("lab-a", 0, "peg", tmp_path / "mended", 20, 5, fault="mm") == sound
    with pytest.raises(UnknownNameError, match="fault of the run-time path"):
        field_success("lab-a", 0, "peg", tmp_path / "policy", 20, 5, fault="nothing")


def _diagnosis(number: int, verdict: str) -> Diagnosis:
    evidence = Evidence(
        test="made up", cause=verdict, bayes_factor=9.0, statistic=1.0, t0=0.0, t1=1.0,
        sentence="",
    )  # fmt: skip
    return Diagnosis(
        episode=f"episode {number}", verdict=verdict, kind="made up", stage="insert",
        probabilities={verdict: 0.9, "dynamics": 0.06, "unknown": 0.04}, evidence=(evidence,),
    )  # fmt: skip


def test_a_loop_told_otherwise_differs_in_one_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[Stage]] = []

    def advance(
        cell: Workcell, config: LoopConfig, number: int, *, threads: int, rows: Any
    ) -> None:
        given.append(list(rows))
        cell.ledger.set_ref(f"policy@r{number}", cell.objects.put(number))

    monkeypatch.setattr("gaploop.loop.advance", advance)
    monkeypatch.setattr("gaploop.store.objects.Objects.tree", lambda self, ref: Path(ref))
    for told in ("", "shuffled", "alike"):
        assert len(loop(CONFIG, tmp_path / f"cell-{told}", told=told)) == 2
    # a call a round, of two
    asis, shuffled, alike = given[1::2]
    assert asis == list(ROUND)
    changed = [
        row
        for rows in (shuffled, alike)
        for row, whole in zip(rows, ROUND, strict=True)
        if row != whole
    ]
    assert [(r.name, r.variant) for r in changed] == [
        ("diagnose", "shuffled"),
        ("diagnose", "alike"),
    ]

    answers = tuple(_diagnosis(i, "sensor") for i in range(12))
    shift = np.full(len(SPACE), 1e-4)
    posterior = replace(prior_box("peg", 1.0, 0), shifts={"two": shift})
    units = [SimpleNamespace(id=a.episode, unit="two" * (i % 2)) for i, a in enumerate(answers)]
    with Workcell.open(tmp_path / "cell-alike") as cell:
        monkeypatch.setattr(
            "gaploop.wiring.diagnose", lambda turn: {"diagnoses": cell.objects.put(answers)}
        )
        turn: Any = SimpleNamespace(
            cell=cell, seed=5, need=lambda name, cls: posterior, logs=lambda: units
        )
        wrong, same = (
            cell.objects.get(row.run(turn)["diagnoses"], tuple[Diagnosis, ...]) for row in changed
        )
    assert wrong == tuple(
        misled(a, posterior.moved(shift) if i % 2 else posterior, 5) for i, a in enumerate(answers)
    )
    assert [d.episode for d in same] == [a.episode for a in answers]
    assert {(d.verdict, d.kind, d.knobs) for d in same} == {("policy", "", ())}
