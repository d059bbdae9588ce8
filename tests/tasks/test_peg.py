"""The peg: what succeeds, what fails, and why."""

import numpy as np
import pytest

from gaploop.core import registry
from gaploop.sim import World
from gaploop.tasks.peg import DEPTH, HEIGHT, Peg
from gaploop.testing.tasks import check_task


@pytest.fixture(scope="module")
def world() -> World:
    return World(Peg())


def _knobs(world: World, **values: float) -> np.ndarray:
    knobs = world.space.nominal
    for name, value in values.items():
        knobs[world.space.index(name)] = value
    return knobs


class Trusting:
    """The expert, told that the hole is where a biased sensor shows it."""

    def __init__(self, world: World, bias: tuple[float, float]) -> None:
        self.expert, self.bias = world.task.expert(), np.array(bias)

    def reset(self, n: int) -> None:
        self.expert.reset(n)

    def act(self, step, observation, truth):
        return self.expert.act(step, observation, {**truth, "hole": truth["hole"] + self.bias})


def test_it_is_registered_and_sound():
    assert registry.load("tasks", "peg") is Peg
    assert check_task(Peg()) == 1.0


def test_its_knobs_cover_five_gaps(world):
    assert {k.gap for k in world.space.knobs} == {
        "sensor", "dynamics", "execution", "mechanical", "task",
    }  # fmt: skip
    assert 9 <= len(world.space) <= 12


def test_the_expert_succeeds_nearly_everywhere_in_the_prior(world):
    knobs = world.space.sample(np.random.default_rng(0), 200)
    judged = world.task.judge(
        world.rollout(world.attempts(200, 0, knobs=knobs), world.task.expert())
    )
    assert judged.success.mean() > 0.97


@pytest.mark.parametrize(("bias", "low", "high"), [(1e-3, 0.97, 1.0), (3e-3, 0.0, 0.05)])
def test_trust_in_a_biased_pose_misses_the_window(world, bias, low, high):
    attempts = world.attempts(60, 1)
    judged = world.task.judge(world.rollout(attempts, Trusting(world, (bias, 0.0))))
    assert low <= judged.success.mean() <= high
    failed = ~judged.success
    assert {t for t, f in zip(judged.tags, failed, strict=True) if f} <= {"on_rim"}
    assert (judged.margin[failed] < 0).all()
    assert (judged.onset[failed] < 2.2).all()
    assert np.allclose(judged.extra["rim_offset"][failed], bias, atol=1e-3)


def test_a_nominal_plan_fails_behind_a_delay_and_a_short_gain(world):
    attempts = world.attempts(60, 1)
    plan = world.rollout(attempts, world.task.expert()).command
    other = world.attempts(60, 1, knobs=_knobs(world, delay=0.06, gain=0.9))
    assert world.task.judge(world.replay(attempts, plan)).success.all()
    assert world.task.judge(world.replay(other, plan)).success.mean() < 0.05


def test_success_must_hold_to_the_end(world):
    attempts = world.attempts(4, 1)
    recording = world.rollout(attempts, world.task.expert())
    assert world.task.judge(recording).success.all()
    recording.truth["q"][-2, 0, 2] = -HEIGHT - DEPTH + 1e-4
    judged = world.task.judge(recording)
    assert judged.success.tolist() == [False, True, True, True]
    assert judged.tags[0] == "late"
    assert judged.stage[0] == 3


def test_the_second_check_sees_a_peg_beside_the_hole(world):
    """Depth alone is fooled where the plate is not; the corners are not between the walls."""
    attempts = world.attempts(4, 1)
    recording = world.rollout(attempts, world.task.expert())
    recording.truth["walls"][:, 1] += 0.004
    judged = world.task.judge(recording)
    assert judged.success.all()
    assert judged.second.tolist() == [True, False, True, True]


def test_joint_zero_and_pose_bias_look_alike(world):
    """A shifted joint zero moves the peg as a biased pose does, seen from the measured joints."""
    attempts = world.attempts(8, 2, knobs=_knobs(world, zero_x=1e-3))
    plan = world.rollout(world.attempts(8, 2), world.task.expert()).command
    recording = world.replay(attempts, plan)
    shift = recording.signals["q"][20] - recording.truth["q"][20]
    assert np.allclose(shift, [1e-3, 0.0, 0.0], atol=1e-9)


def test_frames_near_the_rim_weigh_more(world):
    recording = world.rollout(world.attempts(8, 0), world.task.expert())
    weights = world.task.judge(recording).weights
    height = HEIGHT + recording.truth["q"][:-1, :, 2]
    assert np.allclose(weights.mean(axis=0), 1.0, atol=1e-5)
    assert weights[np.abs(height - 0.004) < 0.003].mean() > 2 * weights[height > 0.02].mean()
