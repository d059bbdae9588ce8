"""On the peg world, with a truth the calibration never sees."""

import numpy as np
import pytest

from gaploop.calibrate import CalibrateConfig, calibrate
from gaploop.core import generator
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes
from gaploop.tasks.peg import Peg

TRUTH = {"gain": 0.91, "delay": 0.04, "stiffness": 3500.0, "hole_bias_x": 2e-3}
SMALL = CalibrateConfig(logs=4, held_out=2, budget=120, walkers=24, burn=10, steps=12)


@pytest.fixture(scope="module")
def world():
    return World(Peg())


def truth(world):
    values = world.space.nominal.copy()
    for name, value in TRUTH.items():
        values[world.space.index(name)] = value
    return values


def logs(world, *, n, touch, seed=0):
    """An expert that aims with some scatter, and stays above the walls unless it may touch."""

    class Shaky:
        def reset(self, n):
            self.expert = world.task.expert()
            self.expert.reset(n)
            self.off = generator(seed, "aim").normal(0.0, 3e-4, (n, 2))

        def act(self, step, observation, state):
            command = self.expert.act(step, observation, state | {"hole": state["hole"] + self.off})
            if not touch:
                command[:, 2] = np.maximum(command[:, 2], -0.022)
            return command

    attempts = world.attempts(n, seed, knobs=truth(world))
    recording = world.rollout(attempts, Shaky())
    judged = world.task.judge(recording)
    return to_episodes(
        world, attempts, recording, judged, origin="rollout", policy="", world_kind="stand-in"
    )


def sd_of_prior(posterior, name):
    at = posterior.space.index(name)
    return posterior.sd[at] / posterior.space.knobs[at].prior.width


@pytest.fixture(scope="module")
def free(world):
    return calibrate(world, logs(world, n=6, touch=False), SMALL, 3)


def test_execution_comes_back_from_free_motion(free):
    for name, tolerance in (("gain", 0.008), ("delay", 0.012)):
        found = free.verdict(name)
        assert found.verdict == "identified"
        assert found.mean == pytest.approx(TRUTH[name], abs=tolerance)
        assert found.redraw_acceptance < 0.3
    assert sd_of_prior(free, "gain") < 0.1
    assert sd_of_prior(free, "delay") < 0.4


@pytest.mark.parametrize("name", ["hole_bias_x", "hole_bias_y", "clearance", "wall_friction"])
def test_what_no_episode_touched_comes_back_as_its_prior(free, name):
    found, prior = free.verdict(name), free.space.knobs[free.space.index(name)].prior
    assert found.verdict in ("no effect", "not identifiable")
    assert found.redraw_acceptance > 0.95
    assert 0.8 < sd_of_prior(free, name) < 1.2
    assert abs(found.mean - prior.from_unit(np.array([0.5]))[0]) < 0.6 * prior.width
    at = free.space.index(name)
    assert free.shipped[:, at].std() > 0.8 * prior.width


def test_pose_noise_comes_from_its_closed_form(world, free):
    found = free.verdict("hole_noise")
    assert found.mean == pytest.approx(
        world.space.nominal[world.space.index("hole_noise")], rel=0.2
    )
    assert free.noise["hole"] == pytest.approx(np.full(2, 2e-4), rel=0.2)


def test_shipped_is_never_narrower_and_the_checks_are_there(free):
    unit, wide = free.space.to_unit(free.particles), free.space.to_unit(free.shipped)
    assert np.all(wide.std(axis=0) > 0.97 * unit.std(axis=0))
    assert np.all(wide.std(axis=0) > 0.9 * SMALL.least / np.sqrt(12))
    assert {"misspecification", "rhat"} <= {c.name for c in free.checks}
    assert not free.misspecified
    assert free.discrepancy["q"].shape == (3,)
    assert len(free.episodes) == 4


def test_same_seed_same_posterior(world):
    tiny = CalibrateConfig(
        logs=2, held_out=1, budget=40, starts=2, probes=2, refine=1, walkers=8, burn=4, steps=3
    )
    episodes = logs(world, n=3, touch=True)
    first, again = (calibrate(world, episodes, tiny, 5) for _ in range(2))
    assert np.array_equal(first.particles, again.particles)
    assert np.array_equal(first.shipped, again.shipped)
    warm = calibrate(world, episodes, tiny, 5, previous=first)
    assert not np.array_equal(first.particles, warm.particles)


def test_without_a_log_the_prior_is_the_answer(world):
    posterior = calibrate(world, [], CalibrateConfig(), 0)
    assert all(v.verdict == "not identifiable" for v in posterior.verdicts)
    assert not posterior.checks[0].ok
    width = np.array([k.prior.width for k in world.space.knobs])
    assert posterior.sd == pytest.approx(width, rel=0.15)


@pytest.mark.slow
def test_insertions_make_the_bias_visible(world):
    posterior = calibrate(world, logs(world, n=20, touch=True), CalibrateConfig(), 3)
    assert posterior.verdict("gain").mean == pytest.approx(0.91, abs=0.01)
    bias = posterior.verdict("hole_bias_x")
    assert sd_of_prior(posterior, "hole_bias_x") < 0.6
    assert bias.mean == pytest.approx(2e-3, abs=1.5e-3)
    assert bias.redraw_acceptance < 0.6
