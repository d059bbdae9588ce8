from collections.abc import Callable

import numpy as np
import pytest

from gaploop.core import (
    Channel,
    Contract,
    Counterfactual,
    Diagnosis,
    Episode,
    Knob,
    KnobSpace,
    Label,
    LayoutVariable,
    Posterior,
    Prior,
    Reproduction,
    Scenario,
    Signal,
    Target,
    TaskSpec,
    spawn,
)  # fmt: skip


def knob(name: str, path: str) -> Knob:
    return Knob(
        name=name, gap="sensor", unit="m", prior=Prior(low=-1.0, high=1.0), nominal=0.0,
        targets=(Target(path=path),),
    )  # fmt: skip


@pytest.fixture
def space() -> KnobSpace:
    return KnobSpace(knobs=(knob("delay", "action:delay"), knob("bias", "sensor:hole.bias[0]")))


@pytest.fixture
def spec(space: KnobSpace) -> TaskSpec:
    return TaskSpec(
        name="t", robot="r", instruction="", control_dt=0.05, horizon=10,
        channels=(
            Channel(name="hole", key="observation.environment_state", columns=("x",), unit="m",
                    reads=("mocap:hole.pos[0]",)),
        ),
        command=("x",), command_unit="m", command_low=(-1.0,), command_high=(1.0,),
        layout=(
            LayoutVariable(name="hole", unit="m", low=-2.0, high=2.0,
                           targets=(Target(path="mocap:hole.pos[0]"),)),
            LayoutVariable(name="start", unit="m", low=0.0, high=1.0,
                           targets=(Target(path="qpos:x"),)),
        ),
        knobs=space, stages=("move",), contract=Contract(),
    )  # fmt: skip


@pytest.fixture
def posterior(space: KnobSpace) -> Posterior:
    particles = np.random.default_rng(0).uniform(-0.2, 0.2, (200, 2))
    return Posterior(
        space=space, particles=particles, weights=np.full(200, 1 / 200), shipped=particles
    )


@pytest.fixture
def episode() -> Callable[..., Episode]:
    def make(i: int, success: bool | None, margin: float = 1.0, **facts: object) -> Episode:
        times = np.arange(3) * 0.05
        signals = {
            "action": Signal(name="action", times=times, values=np.full((3, 1), float(i))),
            "observation.environment_state": Signal(
                name="observation.environment_state", times=times,
                values=np.array([[0.4], [0.5], [0.6]]),
            ),
        }  # fmt: skip
        labels = [Label(subject="", key=k, value=v, author="test") for k, v in facts.items()]
        if success is not None and "outcome" not in facts:
            value = {"success": success, "second": success, "margin": margin}
            labels.append(Label(subject="", key="outcome", value=value, author="test"))
        return Episode(signals=signals, facts=tuple(labels))

    return make


@pytest.fixture
def diagnosis() -> Callable[..., Diagnosis]:
    def make(episode: str, verdict: str = "execution", kind: str = "late commands") -> Diagnosis:
        return Diagnosis(episode=episode, verdict=verdict, kind=kind, probabilities={verdict: 1.0})

    return make


@pytest.fixture
def reproduction(space: KnobSpace) -> Callable[..., Reproduction]:
    def make(episode: str, *, p_after: float = 0.9, value: float = 0.1) -> Reproduction:
        scenarios = tuple(
            Scenario(
                task="t", world="w", layout=np.array([0.1, 0.5]), knobs=np.array([value, 0.0]),
                knob_names=space.names, seed=spawn(1, episode, i), horizon=10, origin=episode,
            )
            for i in range(4)
        )  # fmt: skip
        flip = Counterfactual(
            scenario=scenarios[0], knob="delay", unit="m", value=value, flip=0.05, flip_lo=0.04,
            flip_hi=0.06, p_before=0.1, p_after=p_after, n=40, scan=np.array([value, 0.0]),
            response=np.array([0.1, p_after]), monotone=True,
        )  # fmt: skip
        return Reproduction(
            episode=episode, reproduced=30, n=40, scenarios=scenarios, counterfactual=flip
        )

    return make
