"""Episodes to store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import Contract, Episode, Feature, Label, Signal, declared
from gaploop.store import Workcell

Make = Callable[..., list[Episode]]


def make_episode(index: int, *, steps: int = 12, seed: int = 0, fps: float = 20.0) -> Episode:
    """A gantry-like episode of random numbers, a function of its arguments alone."""
    rng = np.random.default_rng([seed, index])
    times = np.arange(steps) * (1.0 / fps)

    def signal(name: str, unit: str, columns: tuple[str, ...]) -> Signal:
        values = rng.normal(size=(steps, len(columns)))
        return Signal(name=name, unit=unit, columns=columns, times=times, values=values)

    weight = rng.random(steps).astype(np.float32)
    signals = {
        "observation.state": signal("observation.state", "m", ("x", "y", "z")),
        "action": signal("action", "m", ("x", "y", "z")),
        "observation.environment_state": signal("observation.environment_state", "m", ("hx", "hy")),
        "frame_weight": Signal(name="frame_weight", times=times, values=weight),
    }
    contract = Contract(
        features=(Feature(key="action", columns=("x", "y", "z"), unit=declared("m")),),
        log_rate=declared(fps),
    )
    bare = Episode(
        signals=signals, contract=contract, robot="gantry", unit="g-7", task="peg",
        instruction="put the peg into the hole", world="stand-in", origin="rollout",
        policy="ab" * 32, parents=("cd" * 32,),
    )  # fmt: skip
    outcome = {"success": bool(index % 2), "margin": 0.1 + index, "onset": float("nan")}
    fact = Label(subject=bare.id, key="outcome", value=outcome, author="peg@1", span=(0.0, 0.1))
    return Episode(
        **{f: getattr(bare, f) for f in Episode.__dataclass_fields__ if f != "facts"}, facts=(fact,)
    )


@pytest.fixture
def make() -> Make:
    """n episodes; further arguments as in `make_episode`."""

    def many(n: int, **arguments: float) -> list[Episode]:
        return [make_episode(i, **arguments) for i in range(n)]  # type: ignore[arg-type]

    return many


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Workcell]:
    """An empty workcell."""
    with Workcell.create(tmp_path / "cell", 'robot = "gantry"\n') as made:
        yield made
