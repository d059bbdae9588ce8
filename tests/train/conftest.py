"""Demonstrations from the real world and expert, made once."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from gaploop.core import Attempts, Episode, Recording, Signal, TaskSpec
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes
from gaploop.tasks.peg import Peg


@dataclasses.dataclass(frozen=True)
class Demos:
    world: World
    attempts: Attempts
    recording: Recording
    episodes: tuple[Episode, ...]

    @property
    def spec(self) -> TaskSpec:
        return self.world.spec


def episode(spec: TaskSpec, signals: dict[str, np.ndarray], **facts) -> Episode:
    """Signals (T, d) by feature key, at the task's rate."""
    keys = {c.key: c.columns for c in spec.observed} | {"action": spec.command}
    return Episode(
        signals={
            k: Signal(
                name=k, columns=keys.get(k, ()), times=np.arange(len(v)) * spec.control_dt, values=v
            )
            for k, v in signals.items()
        },
        contract=spec.contract, task=spec.name, robot=spec.robot, **facts,
    )  # fmt: skip


def logged(world: World, attempts: Attempts, recording: Recording, **facts) -> list[Episode]:
    """What a robot's log would hold of each attempt."""
    judgement = world.task.judge(recording)
    said = {"origin": "rollout", "policy": "", "world_kind": "sim"} | facts
    return to_episodes(world, attempts, recording, judgement, **said)


def demonstrate(world: World, n: int, seed: int, knobs: np.ndarray | None = None) -> Demos:
    attempts = world.attempts(n, seed, knobs=knobs)
    recording = world.rollout(attempts, world.task.expert(), observe=True)
    assert world.task.judge(recording).success.all()
    made = logged(world, attempts, recording, origin="demonstration")
    return Demos(world, attempts, recording, tuple(made))


@pytest.fixture(scope="session")
def world() -> World:
    return World(Peg())


@pytest.fixture(scope="session")
def demos(world: World) -> Demos:
    return demonstrate(world, 24, 1)


@pytest.fixture(scope="session")
def make_episode():
    return episode


@pytest.fixture(scope="session")
def make_demos():
    return demonstrate


@pytest.fixture(scope="session")
def make_log():
    return logged


def with_signal(e: Episode, key: str, **changes) -> Episode:
    """`e` with one signal changed, or removed when values is None."""
    signals = dict(e.signals)
    if changes.get("values", 0) is None:
        del signals[key]
    else:
        signals[key] = dataclasses.replace(signals[key], **changes)
    return dataclasses.replace(e, signals=signals)


@pytest.fixture(scope="session")
def change():
    return with_signal


@pytest.fixture
def several(demos: Demos) -> Sequence[Episode]:
    return demos.episodes[:4]
