from types import SimpleNamespace

import numpy as np
import pytest

from gaploop.core import InputError, Posterior, Scenario, generator
from gaploop.generate import GenerateConfig, generate
from gaploop.generate.noise import Pushed
from gaploop.sim import World
from gaploop.tasks.peg import Peg


@pytest.fixture(scope="module")
def world() -> World:
    return World(Peg())


@pytest.fixture(scope="module")
def posterior(world: World) -> Posterior:
    particles = world.space.sample(generator(0, "test"), 100)
    return Posterior(
        space=world.space, particles=particles, weights=np.full(100, 0.01), shipped=particles[:40]
    )


@pytest.fixture(scope="module")
def failure(world: World) -> Scenario:
    return Scenario(
        task="peg", world=world.digest, layout=np.array([0.02, -0.02]),
        knobs=world.space.nominal, knob_names=world.space.names, seed=1, horizon=44, origin="e",
    )  # fmt: skip


def knobs_of(episode) -> np.ndarray:
    return np.array(list(episode.fact("attempt")["knobs"].values()))


def start_of(episode) -> np.ndarray:
    return np.array(list(episode.fact("layout").values()))


def test_round_zero_is_the_plain_simulator(world: World) -> None:
    made = generate(world, None, (), GenerateConfig(demos=20), 1)
    assert len(made.episodes) == 20
    assert {(e.origin, e.world) for e in made.episodes} == {("generated", "sim")}
    assert all(np.array_equal(knobs_of(e), world.space.nominal) for e in made.episodes)
    assert all(e.success and e.fact("outcome")["second"] for e in made.episodes)


def test_knobs_come_from_what_is_shipped(world: World, posterior: Posterior) -> None:
    made = generate(world, posterior, (), GenerateConfig(demos=20), 1)
    shipped = {row.tobytes() for row in posterior.shipped}
    assert all(knobs_of(e).tobytes() in shipped for e in made.episodes)
    assert made.gate.n >= made.gate.k >= 20
    for row in made.gate.knobs:
        assert (sum(row.k), sum(row.n)) == (made.gate.k, made.gate.n)
        assert list(row.edges) == sorted(row.edges)


def test_half_of_the_starts_lie_around_the_failure(
    world: World, posterior: Posterior, failure: Scenario
) -> None:
    config = GenerateConfig(demos=40, jitter=0.02)
    made = generate(world, posterior, (failure,), config, 1)
    near = [np.all(np.abs(start_of(e) - failure.layout) <= 0.001) for e in made.episodes]
    assert sum(near) == 20
    assert not any(np.array_equal(start_of(e), failure.layout) for e in made.episodes)


def test_a_failure_may_keep_its_own_knobs(
    world: World, posterior: Posterior, failure: Scenario
) -> None:
    config = GenerateConfig(demos=20, own_knobs=1.0)
    made = generate(world, posterior, (failure,), config, 1)
    assert sum(np.array_equal(knobs_of(e), failure.knobs) for e in made.episodes) == 10


def test_same_seed_same_episodes(world: World, posterior: Posterior, failure: Scenario) -> None:
    config = GenerateConfig(demos=8, noise=0.02)
    one, two = (generate(world, posterior, (failure,), config, 3) for _ in range(2))
    assert [e.id for e in one.episodes] == [e.id for e in two.episodes]
    other = generate(world, posterior, (failure,), config, 4)
    assert {e.id for e in one.episodes}.isdisjoint(e.id for e in other.episodes)


def test_an_expert_that_never_passes_is_named(world: World) -> None:
    class Still:
        def reset(self, n: int) -> None:
            self.n = n

        def act(self, step: int, observation: np.ndarray, truth: dict) -> np.ndarray:
            return np.zeros((self.n, 3))

    task = Peg()
    lazy = SimpleNamespace(
        spec=task.spec, mjcf=task.mjcf, judge=task.judge, expert=Still
    )  # fmt: skip
    with pytest.raises(InputError, match="passed none of 64"):
        generate(World(lazy), None, (), GenerateConfig(demos=4), 0)


def test_the_push_fades_and_the_clean_command_is_kept(world: World) -> None:
    class Constant:
        def reset(self, n: int) -> None:
            self.n = n

        def act(self, step: int, observation: np.ndarray, truth: dict) -> np.ndarray:
            return np.full((self.n, 3), -0.01)

    pushed = Pushed(Constant(), world.spec, 0.05, 0.5, 0.8, 7)
    pushed.reset(64)
    sent = np.stack([pushed.act(t, np.zeros((64, 1)), {}) for t in range(44)])
    away = np.abs(sent + 0.01).mean(axis=(1, 2))
    assert away[1] > 5 * away[20] > 0
    assert np.all(away[22:] == 0)
    assert np.all(pushed.commands == -0.01)
    low, high = np.array(world.spec.command_low), np.array(world.spec.command_high)
    assert np.all((sent >= low) & (sent <= high))
