from dataclasses import replace

import numpy as np
import pytest

from gaploop.core import Episode, Mend
from gaploop.field.miswired import FAULTS, miswired
from gaploop.policies import ChunkRunner
from gaploop.policies.mend import as_new, compose, told
from gaploop.policies.path import path_mends
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes
from gaploop.tasks.peg import Peg
from gaploop.testing.blind import Blind


@pytest.fixture(scope="module")
def world() -> World:
    return World(Peg())


@pytest.fixture(scope="module")
def contract(world: World):
    return replace(
        Blind(world.spec).contract,
        input_mean=(0.0, 0.0, -0.02, 0.0, 0.0, 0.0, 0.0, -0.02),
        input_std=(0.012, 0.012, 0.012, 0.0144, 0.0144, 0.012, 0.012, 0.015),
    )


def _logs(world: World, contract, fault: str, n: int = 8) -> list[Episode]:
    """Logs of a policy that is fed, and whose log holds, what the faulty path makes of it."""
    path = (miswired(world.spec, fault),) if fault else ()
    policy = Blind(world.spec)
    attempts = world.attempts(n, 6)
    record = world.rollout(attempts, ChunkRunner(policy, mends=path))
    made = to_episodes(
        world, attempts, record, world.task.judge(record), origin="rollout", policy="",
        world_kind="stand-in",
    )  # fmt: skip
    return [as_new(told(e, path)) for e in made]


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_faulty_path_is_mended_exactly(world: World, contract, fault: str) -> None:
    (mend,) = path_mends(contract, _logs(world, contract, fault))
    whole = compose([miswired(world.spec, fault)], [mend])[0]
    values = np.random.default_rng(0).normal(size=(4, len(whole.order)))
    assert np.allclose(whole.read(values), values)
    assert mend.cause == "contract"
    assert mend.sentence


def test_a_sound_path_needs_nothing(world: World, contract) -> None:
    assert path_mends(contract, _logs(world, contract, "")) == ()
    assert path_mends(contract, []) == ()


def test_a_mended_log_shows_no_fault_any_more(world: World, contract) -> None:
    logs = _logs(world, contract, "mm")
    found: tuple[Mend, ...] = path_mends(contract, logs)
    assert path_mends(contract, [told(e, found) for e in logs]) == ()


def test_a_column_nobody_read_is_no_unit(world: World, contract) -> None:
    def blank(episode: Episode) -> Episode:
        state = episode.signals["observation.state"]
        nothing = replace(state, values=np.full_like(state.values, np.nan))
        return replace(episode, signals={**episode.signals, "observation.state": nothing})

    assert path_mends(contract, [blank(e) for e in _logs(world, contract, "")]) == ()
