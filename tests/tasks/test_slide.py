"""The slide: what succeeds, what fails, and why."""

import numpy as np
import pytest

from gaploop.core import registry
from gaploop.core.protocols import Planner
from gaploop.sim import World
from gaploop.sim.scenario import compare
from gaploop.tasks.slide import HOLD, LINE, TOLERANCE, Slide
from gaploop.testing.tasks import check_task


@pytest.fixture(scope="module")
def world() -> World:
    return World(Slide())


@pytest.fixture(scope="module")
def nominal(world):
    """(attempts, recording) of the expert in the plain simulator."""
    attempts = world.attempts(48, 1)
    return attempts, world.rollout(attempts, world.task.expert())


def _knobs(world: World, **values: float) -> np.ndarray:
    knobs = world.space.nominal
    for name, value in values.items():
        knobs[world.space.index(name)] = value
    return knobs


class Unprepared:
    """The expert without a world to plan in: it has the plain simulator's formula alone."""

    def __init__(self, world: World) -> None:
        self.expert = world.task.expert()
        self.reset, self.act = self.expert.reset, self.expert.act


def test_it_is_registered_and_sound():
    assert registry.load("tasks", "slide") is Slide
    assert check_task(Slide(), nominal=0.95) >= 0.95


def test_its_knobs_cover_five_gaps(world):
    assert {k.gap for k in world.space.knobs} == {
        "sensor", "dynamics", "execution", "mechanical", "task",
    }  # fmt: skip


def test_the_goal_is_as_far_as_the_task_says(world):
    layout = world.attempts(2000, 0).layout
    far = np.linalg.norm(layout[:, 2:] - layout[:, :2], axis=1)
    assert far.min() > 0.26
    assert far.max() < 0.38


def test_the_expert_succeeds_nearly_everywhere_in_the_prior(world):
    knobs = world.space.sample(np.random.default_rng(0), 200)
    judged = world.task.judge(
        world.rollout(world.attempts(200, 0, knobs=knobs), world.task.expert())
    )
    assert judged.success.mean() > 0.97


def test_without_a_world_to_plan_in_the_expert_knows_the_plain_one_only(world):
    assert isinstance(world.task.expert(), Planner)
    assert not isinstance(Unprepared(world), Planner)
    for knobs, low, high in (
        (world.space.nominal, 0.95, 1.0),
        (_knobs(world, puck_friction=0.25), 0.0, 0.05),
    ):
        recording = world.rollout(world.attempts(48, 0, knobs=knobs), Unprepared(world))
        assert low <= world.task.judge(recording).success.mean() <= high


def test_a_plan_does_not_depend_on_the_rest_of_the_batch(world):
    attempts = world.attempts(5, 3, knobs=world.space.sample(np.random.default_rng(3), 5))
    whole = world.rollout(attempts, world.task.expert())
    for i in range(5):
        alone = world.rollout(attempts.take(np.array([i])), world.task.expert())
        assert np.array_equal(alone.command[:, 0], whole.command[:, i])


@pytest.mark.parametrize(
    ("knob", "value", "tag"),
    [
        ("puck_friction", 0.22, "short"),
        ("puck_friction", 0.09, "long"),
        ("gain", 0.86, "short"),
        ("gain", 1.14, "long"),
        # the servo stands to the right of where it should: the puck goes left
        ("zero_y", 0.011, "left"),
        ("zero_y", -0.011, "right"),
    ],
)
def test_a_nominal_plan_fails_where_it_should(world, nominal, knob, value, tag):
    attempts, planned = nominal
    other = world.attempts(48, 1, knobs=_knobs(world, **{knob: value}))
    assert np.array_equal(other.layout, attempts.layout)
    judged = world.task.judge(world.replay(other, planned.command))
    failed = ~judged.success
    assert failed.mean() > 0.5
    words = [t for t, f in zip(judged.tags, failed, strict=True) if f]
    assert words.count(tag) > 0.9 * len(words)
    assert (judged.margin[failed] < 0).all()
    # nothing helps after the puck has left the tip
    assert (judged.onset[failed] < 1.0).all()


def test_a_biased_pose_aims_aside(world):
    """An expert that believes a pose 14 mm too far to the left hits its left side."""

    class Trusting(Unprepared):
        def __init__(self, world):
            super().__init__(world)
            act = self.act
            off = np.array([0.0, 0.014])
            self.act = lambda k, o, truth: act(k, o, {**truth, "puck": truth["puck"] + off})

    judged = world.task.judge(world.rollout(world.attempts(48, 1), Trusting(world)))
    assert judged.success.mean() < 0.2
    assert set(judged.tags) <= {"right", "at_goal"}


def test_how_far_it_slides_is_its_speed_squared_over_its_friction(world, nominal):
    _, planned = nominal
    for friction in (0.1, 0.2, 0.3):
        other = world.attempts(48, 1, knobs=_knobs(world, puck_friction=friction))
        recording = world.replay(other, planned.command)
        puck, speed = recording.truth["puck"], recording.truth["speed"]
        free = 40  # nothing touches it any more
        assert recording.truth["touch"][free:].max() == 0.0
        way = np.linalg.norm(puck[-1] - puck[free], axis=1)
        fast = np.linalg.norm(speed[free], axis=1)
        assert np.allclose(way, fast**2 / (2 * friction * 9.81), rtol=0.05, atol=8e-3)


def test_a_success_must_rest_and_hold(world, nominal):
    attempts, _ = nominal
    recording = world.rollout(attempts, world.task.expert())
    recording.truth["speed"][-2, 0] = [0.05, 0.0]
    recording.truth["puck"][-2, 1, 0] += 2 * TOLERANCE
    judged = world.task.judge(recording)
    assert judged.success.tolist() == [False, False] + [True] * 46
    assert judged.tags[0] == "moving"
    assert (judged.stage[:2] == [2, 3]).all()
    assert HOLD > 2


def test_who_passes_the_line_has_lost(world, nominal):
    attempts, _ = nominal
    recording = world.rollout(attempts, world.task.expert())
    recording.truth["q"][60, 0, 0] = LINE + 0.01
    judged = world.task.judge(recording)
    assert judged.success.tolist() == [False] + [True] * 47
    assert judged.tags[0] == "passed_line"
    assert judged.margin[0] < 0


def test_the_second_check_reads_neither_joints_nor_speed(world, nominal):
    attempts, _ = nominal
    recording = world.rollout(attempts, world.task.expert())
    recording.truth["q"][:] = recording.truth["speed"][:] = recording.truth["puck"][:] = np.nan
    assert world.task.judge(recording).second.all()
    recording.truth["places"][-1, 0, 0] += 0.01
    recording.truth["places"][:, 1, 2] += 0.05
    recording.truth["places"][50, 2, 4] = LINE + 0.01
    recording.truth["touch"][:, 3] = 0.0
    assert world.task.judge(recording).second.tolist() == [False] * 4 + [True] * 44


def test_the_second_check_agrees_over_the_prior(world, nominal):
    """Over successes and failures alike, but for pucks within a hair of the edge."""
    knobs = world.space.sample(np.random.default_rng(5), 48)
    judged = world.task.judge(world.replay(world.attempts(48, 1, knobs=knobs), nominal[1].command))
    assert 0.05 < judged.success.mean() < 0.6
    assert (judged.success == judged.second).mean() > 0.97


def test_frames_of_the_swing_weigh_more(world, nominal):
    judged = world.task.judge(nominal[1])
    assert np.allclose(judged.weights.mean(axis=0), 1.0, atol=1e-5)
    hit = (nominal[1].truth["touch"][:, :, 0] > 0.05).argmax(axis=0)
    rows = np.arange(48)
    assert (judged.weights[hit - 2, rows] > 4 * judged.weights[5]).all()


def test_an_untouched_puck_is_missed(world):
    attempts = world.attempts(4, 0)
    judged = world.task.judge(world.replay(attempts, np.zeros((100, 4, 2))))
    assert set(judged.tags) == {"missed"}
    assert (judged.stage == -1).all()


def test_planning_leaves_no_trace_in_the_world(world, nominal):
    attempts, recording = nominal
    again = world.replay(attempts, recording.command)
    assert compare(recording, again) == "bit-equal"
