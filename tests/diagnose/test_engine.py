"""Planted faults, truth by intervention; the diagnosing side sees the log and a posterior."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gaploop.core import CAUSES, Diagnosis, InputError, Knob, KnobSpace, Prior, Target
from gaploop.diagnose import diagnose
from gaploop.diagnose.config import DiagnoseConfig
from gaploop.sim import World
from gaploop.tasks.peg import Peg
from gaploop.testing.blind import Blind
from gaploop.testing.faults import Fault, Planted, calibrated, plant

WORLD = World(Peg())
CONFIG = DiagnoseConfig()
EARLY = {"delay": 0.003, "gain": 0.004, "stiffness": 80.0, "hole_noise": 5e-5}
"""What a first round identifies: the command path, and nothing that only contact shows."""
LATE = {**EARLY, "hole_bias_x": 6e-4, "hole_bias_y": 6e-4, "clearance": 2.5e-4}


@cache
def _planted(fault: tuple[tuple[str, float], ...], aim: float) -> Planted:
    found = plant(WORLD, Blind(WORLD.spec, aim=aim), Fault(name="f", knobs=dict(fault)), seed=5)
    assert found is not None
    return found


def planted(fault: dict[str, float], *, aim: float = 0.0) -> Planted:
    return _planted(tuple(fault.items()), aim)


def answer(
    found: Planted,
    known: dict[str, float],
    *,
    aim: float = 0.0,
    trained: np.ndarray | None = None,
) -> Diagnosis:
    robot = found.robot[: len(WORLD.space)]
    posterior = calibrated(WORLD, robot, known=known, seed=3)
    policy = Blind(WORLD.spec, aim=aim)
    return diagnose(WORLD, policy, posterior, found.episode, CONFIG, 1, trained=trained)


@pytest.mark.parametrize(
    ("fault", "known", "truth", "kind"),
    [
        ({"gain": 0.9}, EARLY, "execution", "weak gain"),
        ({"gain": 0.91, "delay": 0.08}, LATE, "execution", "weak gain"),
        ({"hole_bias_x": 3.3e-3}, LATE, "sensor", "biased hole pose"),
        ({"hole_bias_x": -3.3e-3, "delay": 0.08, "wall_friction": 0.5}, LATE, "sensor",
         "biased hole pose"),
    ],
)  # fmt: skip
def test_the_gap_whose_removal_rescues_is_named(
    fault: dict[str, float], known: dict[str, float], truth: str, kind: str
) -> None:
    found = planted(fault)
    assert found.truth == truth
    said = answer(found, known)
    assert (said.verdict, said.kind) == (truth, kind)
    assert said.probabilities[truth] > 0.6
    assert said.rescue[truth][0] >= 6
    assert said.knobs
    assert any(k.name in fault for k in said.knobs)
    if "delay" in fault and truth == "sensor":  # a bystander is listed and not blamed
        assert any(text.startswith("execution (late commands)") for text in said.present)


@pytest.mark.parametrize(
    ("fault", "truth", "kind"),
    [
        ({"clearance": 0.6e-3}, "dynamics", "tight fit"),
        ({"zero_x": -1.2e-3}, "mechanical", "joint zero offset"),
    ],
)
def test_contact_gaps_are_named_once_the_logs_know_all_the_rest(
    fault: dict[str, float], truth: str, kind: str
) -> None:
    found = planted(fault, aim=0.002)
    assert found.truth == truth
    known = dict.fromkeys(("hole_bias_x", "hole_bias_y", "clearance", "zero_x", "zero_y"), 1e-4)
    said = answer(found, {**EARLY, **known}, aim=0.002)
    assert (said.verdict, said.kind) == (truth, kind)


def test_a_policy_that_misses_by_itself_is_its_own_cause() -> None:
    found = planted({}, aim=0.006)
    assert found.truth == "policy"
    said = answer(found, LATE, aim=0.006)
    assert said.verdict == "policy"
    assert not said.knobs


def test_a_gap_the_policy_was_trained_on_is_no_excuse() -> None:
    found = planted({"gain": 0.9})
    said = answer(found, EARLY, trained=np.tile(found.robot, (4, 1)))
    assert said.verdict == "policy"


def test_one_episode_cannot_tell_hand_from_eye_and_says_so() -> None:
    found = planted({"zero_x": -1.2e-3}, aim=0.0019)
    assert found.truth == "mechanical"
    said = answer(found, EARLY, aim=0.0019)
    assert said.verdict in ("sensor", "mechanical")
    assert any(text.startswith("sensor or mechanical") for text in said.not_seen)


def test_a_force_no_knob_expresses_is_not_explained_away() -> None:
    push = Knob(
        name="push", gap="dynamics", unit="N", prior=Prior(low=-60.0, high=60.0), nominal=0.0,
        targets=(Target(path="effect:push.force[1]"),),
    )  # fmt: skip
    length = Knob(
        name="length", gap="dynamics", unit="s", prior=Prior(low=0.0, high=9.0), nominal=9.0,
        targets=(Target(path="effect:push.length"),),
    )  # fmt: skip
    outside = World(Peg(), space=KnobSpace(knobs=(*WORLD.space.knobs, push, length)))
    found = plant(outside, Blind(outside.spec), Fault(name="f", knobs={"push": 35.0}), seed=5)
    assert found is not None
    said = answer(found, LATE)
    assert said.verdict == "unknown"
    assert "replay the recorded commands" in said.probe


def test_the_answer_is_a_distribution_and_repeats_bit_for_bit() -> None:
    found = planted({"gain": 0.9})
    one, two = answer(found, EARLY), answer(found, EARLY)
    assert one == two
    assert set(one.probabilities) == set(CAUSES)
    assert sum(one.probabilities.values()) == pytest.approx(1.0)
    assert one.episode == found.episode.id
    assert one.stage in WORLD.spec.stages


def test_a_missing_signal_is_one_sentence() -> None:
    episode = planted({"gain": 0.9}).episode
    signals = {k: v for k, v in episode.signals.items() if k != "observation.environment_state"}
    posterior = calibrated(WORLD, WORLD.space.nominal, known=EARLY, seed=3)
    with pytest.raises(InputError, match="has no signal"):
        diagnose(WORLD, Blind(WORLD.spec), posterior, replace(episode, signals=signals), CONFIG, 1)


def test_physics_is_not_asked_while_the_rate_is_wrong() -> None:
    found = planted({"gain": 0.9})
    signals = {k: replace(s, times=2.0 * s.times) for k, s in found.episode.signals.items()}
    said = answer(replace(found, episode=replace(found.episode, signals=signals)), EARLY)
    assert said.verdict == "contract"
    assert said.kind == "rate mismatch"
    assert not said.rescue
