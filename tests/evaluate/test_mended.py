"""A mended policy is examined on the robots that need the mend, and on all others."""

from dataclasses import replace

import numpy as np
import pytest

from gaploop.core import Bucket, HardSet, Mend, Scenario, spawn
from gaploop.evaluate import EvaluateConfig, evaluate
from gaploop.policies.mend import zero_mends
from gaploop.sim import World
from gaploop.tasks.peg import Peg
from gaploop.testing.blind import Blind


@pytest.fixture(scope="module")
def world() -> World:
    return World(Peg())


def _bucket(world: World, unit: str, **off: float) -> Bucket:
    knobs = world.space.nominal
    for name, value in off.items():
        knobs[world.space.index(name)] = value
    scenarios = tuple(
        Scenario(
            task="peg", world=world.digest, layout=world.attempts(20, 1).layout[i], knobs=knobs,
            knob_names=world.space.names, seed=spawn(3, unit, i), horizon=44, unit=unit,
        )
        for i in range(20)
    )  # fmt: skip
    return Bucket(name=unit, ability="", predicate="", scenarios=scenarios, minimum=10)


def _exam(world: World, buckets: tuple[Bucket, ...], mends: tuple[Mend, ...]):
    policy = Blind(world.spec)
    hard_set = HardSet(version=1, buckets=buckets)
    found = evaluate(world, policy, policy, hard_set, (), (), EvaluateConfig(), 0, mends=mends)
    return {c.bucket: (c.before_k, c.after_k) for c in found.changes}


def test_only_the_unit_that_is_off_gains(world: World) -> None:
    off = {"zero_x": 3.5e-3, "zero_y": -3.5e-3}
    bad, good = _bucket(world, "bad", **off), _bucket(world, "good")
    values = np.array([off.get(name, 0.0) for name in world.space.names])
    mends = zero_mends(world.space, values, world.spec, "bad")
    found = _exam(world, (bad, good), mends)
    assert found["bad"][0] <= 4
    assert found["bad"][1] >= 18
    assert found["good"] == (20, 20)
    # the same mend on the wrong unit is caught by the exam
    wrong = _exam(world, (bad, good), tuple(replace(m, unit="good") for m in mends))
    assert wrong["bad"][1] <= 4
    assert wrong["good"][1] <= 4


def test_a_contract_mend_is_examined_on_the_faulty_path(world: World) -> None:
    mend = Mend(
        feature="observation.environment_state", cause="contract", order=(0, 1),
        scale=(1e-3, 1e-3), offset=(0.0, 0.0),
    )  # fmt: skip
    assert _exam(world, (_bucket(world, "any"),), (mend,))["any"] == (0, 20)
