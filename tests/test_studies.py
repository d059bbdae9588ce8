"""Recipes: equal means for all, and each does what its name says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gaploop.config import LoopConfig
from gaploop.core import Episode, Label, Signal, UsageError, registry, spawn
from gaploop.generate import generate
from gaploop.generate.config import GenerateConfig
from gaploop.policies import load_policy
from gaploop.sim import World
from gaploop.studies import (
    FIELD_SHARE,
    RECIPES,
    field_round,
    field_success,
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
