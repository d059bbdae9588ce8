from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from gaploop.core import (
    Attempts,
    Contract,
    Judgement,
    Knob,
    KnobSpace,
    LayoutVariable,
    Prior,
    Recording,
    Reproduction,
    Scenario,
    Target,
    TaskSpec,
    spawn,
)


class Threshold:
    """A controller that succeeds while |knob| stays below its skill; noise by seed."""

    def __init__(self, skill: float) -> None:
        self.skill = skill

    def reset(self, n: int) -> None: ...

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        raise AssertionError("the fake world never asks")


class FakeWorld:
    """Judges attempts by the controller's skill, deterministic a seed."""

    def __init__(self) -> None:
        self.space = KnobSpace(
            knobs=(
                Knob(
                    name="bias", gap="sensor", unit="m", prior=Prior(low=-1.0, high=1.0),
                    nominal=0.0, targets=(Target(path="sensor:hole.bias[0]"),),
                ),
            )
        )  # fmt: skip
        spec = TaskSpec(
            name="t", robot="r", instruction="", control_dt=0.1, horizon=2, channels=(),
            command=("x",), command_unit="m", command_low=(-1.0,), command_high=(1.0,),
            layout=(LayoutVariable(name="x", unit="m", low=0.0, high=1.0, targets=()),),
            knobs=self.space, stages=(), contract=Contract(),
        )  # fmt: skip
        self.spec = spec
        self.task = SimpleNamespace(spec=spec, judge=self._judge)
        self.batches: list[int] = []
        self.void_above = np.inf

    def rollout(self, attempts: Attempts, controller: Threshold) -> Recording:
        self.batches.append(len(attempts))
        luck = np.array([spawn(int(s), "luck") / 2**64 for s in attempts.seeds])
        won = np.abs(attempts.knobs[:, 0]) + 0.2 * luck < controller.skill
        return Recording(
            dt=0.1, command=np.zeros((2, len(attempts), 1)), signals={},
            truth={"won": won[None, :, None]}, void=attempts.layout[:, 0] > self.void_above,
        )  # fmt: skip

    @staticmethod
    def _judge(recording: Recording) -> Judgement:
        won = recording.truth["won"][0, :, 0].astype(bool) & ~recording.void
        zero = np.zeros(len(won))
        return Judgement(
            success=won, second=won, stage=zero.astype(int), margin=zero, onset=zero,
            weights=np.ones((2, len(won)), np.float32),
        )  # fmt: skip


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


@pytest.fixture
def policy() -> type[Threshold]:
    return Threshold


@pytest.fixture
def scenario() -> Callable[..., Scenario]:
    def make(i: int, bias: float, origin: str = "e") -> Scenario:
        return Scenario(
            task="t", world="w", layout=np.array([0.5]), knobs=np.array([bias]),
            knob_names=("bias",), seed=spawn(7, origin, i), horizon=2, origin=origin,
        )  # fmt: skip

    return make


@pytest.fixture
def reproduction(scenario: Callable[..., Scenario]) -> Callable[..., Reproduction]:
    def make(bias: float, episode: str = "e") -> Reproduction:
        return Reproduction(
            episode=episode, reproduced=3, n=3,
            scenarios=tuple(scenario(i, bias, episode) for i in range(3)),
        )  # fmt: skip

    return make
