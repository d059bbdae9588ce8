from collections.abc import Callable

import numpy as np
import pytest

from gaploop.core import (
    Counterfactual,
    Diagnosis,
    Judgement,
    Knob,
    KnobEstimate,
    KnobSpace,
    Prior,
    Scenario,
    Target,
)
from gaploop.reproduce.config import ReproduceConfig
from gaploop.reproduce.flip import counterfactual
from gaploop.reproduce.words import sentence

SPACE = KnobSpace(
    knobs=tuple(
        Knob(
            name=name, gap=gap, unit=unit, prior=Prior(low=low, high=high), nominal=0.0,
            targets=(Target(path=path),),
        )
        for name, gap, unit, low, high, path in (
            ("delay", "execution", "s", 0.0, 0.1, "action:delay"),
            ("bias_x", "sensor", "m", -0.01, 0.01, "sensor:hole.bias[0]"),
            ("bias_y", "sensor", "m", -0.01, 0.01, "sensor:hole.bias[1]"),
        )
    )
)  # fmt: skip
CONFIG = ReproduceConfig(scan=11, seeds=8)


def world(rule: Callable[[np.ndarray], np.ndarray]):
    def rerun(knobs: np.ndarray, layout: np.ndarray, seeds: np.ndarray) -> Judgement:
        success, n = rule(knobs), len(knobs)
        return Judgement(
            success=success, second=success, stage=np.zeros(n, int), margin=np.zeros(n),
            onset=np.zeros(n), weights=np.ones((2, n), np.float32),
        )  # fmt: skip

    return rerun


def scenario(*knobs: float) -> Scenario:
    return Scenario(
        task="peg", world="w", layout=np.zeros(2), knobs=np.array(knobs), knob_names=SPACE.names,
        seed=1, horizon=5, origin="e",
    )  # fmt: skip


def diagnosis(gap: str, *names: str) -> Diagnosis:
    return Diagnosis(
        episode="e", verdict=gap, kind="", probabilities={gap: 1.0},
        knobs=tuple(KnobEstimate(name=n, unit="s", estimate=0.0, lo=0.0, hi=0.0) for n in names),
    )  # fmt: skip


def flip(rule, scenarios: list[Scenario], said: Diagnosis) -> Counterfactual | None:
    return counterfactual(world(rule), scenarios, said, SPACE, SPACE.nominal, CONFIG, 0)


def test_a_step_is_found_between_its_neighbours() -> None:
    found = flip(lambda k: k[:, 0] < 0.033, [scenario(0.1, 0, 0)], diagnosis("execution", "delay"))
    assert found is not None
    assert (found.flip_lo, found.flip_hi) == pytest.approx((0.03, 0.04))
    assert found.flip_lo <= found.flip <= found.flip_hi
    assert (found.p_before, found.p_after) == (0.0, 1.0)
    assert found.monotone
    assert sentence(found) == (
        "It would have succeeded in 100 % (8 of 8, 68 to 100 %) had delay been under 30 ms; "
        "it was 100 ms."
    )


def test_a_curve_that_turns_back_is_flagged() -> None:
    found = flip(
        lambda k: (k[:, 0] < 0.02) | ((k[:, 0] > 0.045) & (k[:, 0] < 0.065)),
        [scenario(0.1, 0, 0)],
        diagnosis("execution", "delay"),
    )
    assert found is not None
    assert not found.monotone
    assert sentence(found).endswith("and the way there is not monotone.")


def test_the_axes_of_a_bias_move_together_under_the_larger_one_s_name() -> None:
    found = flip(
        lambda k: np.hypot(k[:, 1], k[:, 2]) < 0.003,
        [scenario(0, 0.004, -0.008)],
        diagnosis("sensor", "bias_x", "bias_y"),
    )
    assert found is not None
    assert found.knob == "bias_y"
    assert np.isfinite(found.flip)
    assert "had bias y been above" in sentence(found)


def test_no_flip_is_said_and_not_made_up() -> None:
    never = flip(
        lambda k: np.zeros(len(k), bool), [scenario(0.1, 0, 0)], diagnosis("execution", "delay")
    )
    assert never is not None
    assert np.isnan(never.flip)
    assert "does not save it: 0 % (0 of 8" in sentence(never)


def test_the_scenario_that_fails_most_is_scanned() -> None:
    shaky, sure = scenario(0.02, 0, 0), scenario(0.09, 0, 0)
    found = flip(lambda k: k[:, 0] < 0.033, [shaky, sure], diagnosis("execution", "delay"))
    assert found is not None
    assert found.scenario is sure


@pytest.mark.parametrize(
    ("scenarios", "said"),
    [
        ([], diagnosis("execution", "delay")),
        ([scenario(0.1, 0, 0)], diagnosis("policy")),
        ([scenario(0.1, 0, 0)], diagnosis("sensor", "delay")),
        ([scenario(0.0, 0, 0)], diagnosis("execution", "delay")),
    ],
)
def test_nothing_to_scan_is_none(scenarios: list[Scenario], said: Diagnosis) -> None:
    assert flip(lambda k: k[:, 0] < 0.033, scenarios, said) is None
