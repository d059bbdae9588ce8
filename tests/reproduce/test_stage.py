import numpy as np
import pytest

from gaploop.core import Attempts, Diagnosis, KnobEstimate, Reproduction
from gaploop.policies import ChunkRunner
from gaploop.reproduce import reproduce
from gaploop.reproduce.config import ReproduceConfig
from gaploop.sim import World
from gaploop.tasks.peg import Peg
from gaploop.testing.blind import Blind
from gaploop.testing.faults import Fault, Planted, calibrated, plant

WORLD = World(Peg())
POLICY = Blind(WORLD.spec)
CONFIG = ReproduceConfig()
KNOWN = {"delay": 0.003, "gain": 0.004, "stiffness": 80.0, "hole_noise": 5e-5}


@pytest.fixture(scope="module")
def weak() -> Planted:
    found = plant(WORLD, POLICY, Fault(name="weak", knobs={"gain": 0.9}), seed=5)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def met(weak: Planted) -> Reproduction:
    return run(weak)


def run(planted: Planted, verdict: str = "execution") -> Reproduction:
    said = Diagnosis(
        episode=planted.episode.id, verdict=verdict, kind="weak gain", probabilities={verdict: 1.0},
        knobs=(KnobEstimate(name="gain", unit="1", estimate=0.9, lo=0.893, hi=0.907),),
    )  # fmt: skip
    posterior = calibrated(WORLD, planted.robot, known=KNOWN, seed=3)
    return reproduce(WORLD, POLICY, posterior, planted.episode, said, CONFIG, 1)


def test_a_failure_comes_back_and_its_scenarios_fail_again(met: Reproduction) -> None:
    assert met.n == CONFIG.reruns
    assert met.reproduced > met.n / 2
    assert 0 < len(met.scenarios) <= CONFIG.keep
    attempts = Attempts(
        layout=np.stack([s.layout for s in met.scenarios]),
        knobs=np.stack([s.knobs for s in met.scenarios]),
        seeds=np.array([s.seed for s in met.scenarios], dtype=np.uint64),
    )
    again = WORLD.task.judge(WORLD.rollout(attempts, ChunkRunner(POLICY)))
    assert not again.success.any()


def test_the_flip_lies_where_the_truth_flips(weak: Planted, met: Reproduction) -> None:
    flip = met.counterfactual
    assert flip is not None
    assert flip.knob == "gain"
    at = np.array([flip.flip_lo - 0.02, flip.flip_hi + 0.02])
    knobs = np.tile(WORLD.space.nominal, (2, 1))
    knobs[:, WORLD.space.index("gain")] = at
    layout = np.tile(met.scenarios[0].layout, (2, 1))
    attempts = Attempts(layout=layout, knobs=knobs, seeds=np.array([3, 3], dtype=np.uint64))
    judged = WORLD.task.judge(WORLD.rollout(attempts, ChunkRunner(POLICY)))
    assert judged.success.tolist() == [False, True]
    assert met.sentence.startswith("It would have succeeded in")


def test_the_diagnosed_replay_is_nearer_to_the_log_than_the_trained_one(
    weak: Planted, met: Reproduction
) -> None:
    logged = weak.episode.signals["observation.state"].values

    def off(replayed: np.ndarray) -> float:
        return float(np.sqrt(np.mean((replayed - logged) ** 2)))

    assert off(met.replay["observation.state"]) < 0.2 * off(met.replay_trained["observation.state"])


def test_same_seed_same_reproduction(weak: Planted, met: Reproduction) -> None:
    again = run(weak)
    assert again.sentence == met.sentence
    assert again.reproduced == met.reproduced
    assert [s.seed for s in again.scenarios] == [s.seed for s in met.scenarios]


def test_a_contract_failure_is_not_replayed(weak: Planted) -> None:
    met = run(weak, "contract")
    assert (met.reproduced, met.n, met.scenarios) == (0, 0, ())
