from collections.abc import Callable
from typing import Any

import pytest

from gaploop.core import Bucket, HardSet, Prescription, digest
from gaploop.evaluate import EvaluateConfig, evaluate

Make = Callable[..., Any]


def bucket(name: str, scenarios: tuple) -> Bucket:
    return Bucket(name=name, ability="action", predicate="", scenarios=scenarios, minimum=10)


@pytest.fixture
def hard_set(scenario: Make) -> HardSet:
    return HardSet(
        version=1,
        buckets=(
            bucket("easy", tuple(scenario(i, 0.0, "easy") for i in range(40))),
            bucket("hard", tuple(scenario(i, 0.5, "hard") for i in range(40))),
            bucket("worked", ()),
        ),
    )


def exam(world: Any, new: Any, old: Any, hard_set: HardSet, **more: Any):
    return evaluate(
        world, new, old, hard_set, more.pop("reproductions", ()), more.pop("prescriptions", ()),
        EvaluateConfig(), 5, policy_id="new", against_id="old",
    )  # fmt: skip


def test_it_says_what_rose_and_what_did_not(world: Any, policy: Make, hard_set: HardSet) -> None:
    found = exam(world, policy(0.9), policy(0.4), hard_set)
    directions = {c.bucket: c.direction for c in found.changes}
    assert directions == {"easy": "unchanged", "hard": "rose", "worked": "unchanged"}
    assert [(s.k, s.n) for s in found.scores] == [(40, 40), (40, 40), (0, 0)]
    assert [(s.k, s.n) for s in found.baseline] == [(40, 40), (0, 40), (0, 0)]
    assert world.batches == [80, 80]  # one batch a policy


def test_a_bucket_below_its_minimum_says_nothing(world: Any, policy: Make, scenario: Make) -> None:
    for n, direction in ((9, "unchanged"), (10, "rose")):
        few = HardSet(
            version=1, buckets=(bucket("few", tuple(scenario(i, 0.5) for i in range(n))),)
        )
        found = exam(world, policy(0.9), policy(0.4), few)
        assert found.changes[0].after_k == n
        assert found.changes[0].direction == direction


def test_swapped_policies_fall(world: Any, policy: Make, hard_set: HardSet) -> None:
    rose = exam(world, policy(0.9), policy(0.4), hard_set).changes[1]
    fell = exam(world, policy(0.4), policy(0.9), hard_set).changes[1]
    assert fell.direction == "fell"
    assert (fell.lo, fell.hi) == pytest.approx((-rose.hi, -rose.lo))


def test_equal_policies_change_nothing(world: Any, policy: Make, hard_set: HardSet) -> None:
    found = exam(world, policy(0.6), policy(0.6), hard_set)
    assert {c.direction for c in found.changes} == {"unchanged"}
    assert found.scores[0].seeds == found.baseline[0].seeds


def test_diverged_attempts_count_for_neither(world: Any, policy: Make, hard_set: HardSet) -> None:
    world.void_above = 0.1
    found = exam(world, policy(0.9), policy(0.4), hard_set)
    assert [s.n for s in found.scores] == [0, 0, 0]


def test_healing_needs_the_siblings_too(
    world: Any, policy: Make, hard_set: HardSet, reproduction: Make
) -> None:
    met = (reproduction(0.5, "a"), reproduction(0.75, "b"))
    found = exam(world, policy(0.8), policy(0.4), hard_set, reproductions=met)
    first, second = found.healed
    assert (first.healed, first.own_k, first.siblings_k, first.siblings_n) == (True, 3, 20, 20)
    assert (first.before_k, second.healed) == (0, False)


def test_predictions_stand_beside_what_was_measured(
    world: Any, policy: Make, hard_set: HardSet
) -> None:
    written = Prescription(
        cause="sensor", remedy="recalibrate", trains=True, sentence="", episodes=("a",),
        bucket="hard", lift=80.0, lift_lo=50.0, lift_hi=95.0,
    )  # fmt: skip
    found = exam(world, policy(0.9), policy(0.4), hard_set, prescriptions=(written,))
    assert found.kept == (("hard", 80.0, 100.0),)


def test_same_seed_same_exam(
    world: Any, policy: Make, hard_set: HardSet, reproduction: Make
) -> None:
    met = (reproduction(0.5),)
    one, two = (
        exam(world, policy(0.6), policy(0.4), hard_set, reproductions=met) for _ in range(2)
    )
    assert digest(one) == digest(two)
