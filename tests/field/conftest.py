from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import Episode, Label, Signal
from gaploop.store.datasets import write_dataset


@pytest.fixture
def log() -> Callable[..., Path]:
    """Writes a small LeRobot v3 folder, as a robot with task `peg` would leave."""

    def make(folder: Path, *, first: int = 0, n: int = 2, robot: str = "gantry") -> Path:
        times = np.arange(5) / 20.0
        episodes = []
        for i in range(first, first + n):
            signals = {
                key: Signal(name=key, unit="m", times=times, values=np.full((5, width), float(i)))
                for key, width in (
                    ("action", 3), ("observation.state", 3), ("observation.environment_state", 2)
                )
            }  # fmt: skip
            fact = Label(subject="", key="outcome", value={"success": i % 2 == 0}, author="me")
            episodes.append(Episode(signals=signals, task="peg", robot=robot, facts=(fact,)))
        write_dataset(folder, episodes, fps=20, robot=robot)
        return folder

    return make


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy of the plain simulator, hardly trained: only its form matters here."""
    pytest.importorskip("torch", reason="the train extra makes the policy of these tests")
    from gaploop.generate import GenerateConfig, generate
    from gaploop.sim import World
    from gaploop.tasks.peg import Peg
    from gaploop.train.config import TrainConfig
    from gaploop.train.stage import fit_policy

    folder = tmp_path_factory.mktemp("policy") / "p"
    made = generate(World(Peg()), None, (), GenerateConfig(demos=16), 0)
    fit_policy([made.episodes], [1.0], Peg().spec, TrainConfig(steps=40, width=32), 0, folder)
    return folder
