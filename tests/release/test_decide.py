from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from gaploop.core import BucketChange, Exam, Healed, Score
from gaploop.release import ReleaseRule, decide
from gaploop.stats import paired_change


def change(bucket: str, n: int, before: int, after: int, *, fresh: bool = False) -> BucketChange:
    """The better policy wins wherever the other one does."""
    old, new = np.arange(n) < before, np.arange(n) < after
    found = paired_change(old, new)
    direction: Literal["rose", "fell", "unchanged"] = "unchanged"
    if found.p_value < 0.05:
        direction = "rose" if found.change > 0 else "fell"
    return BucketChange(
        bucket=bucket, before_k=before, after_k=after, n=n, p_value=found.p_value,
        lo=100 * found.lo, hi=100 * found.hi, direction=direction, fresh=fresh,
    )  # fmt: skip


def verdict(*changes: BucketChange) -> str:
    return decide(_exam(*changes), ReleaseRule()).verdict


def _exam(*changes: BucketChange) -> Exam:
    return Exam(
        policy="new", against="old", hard_set="h", scores=(), baseline=(), changes=changes,
        healed=(),
    )  # fmt: skip


def test_better_and_not_worse_is_promoted() -> None:
    decision = decide(
        _exam(change("worked", 100, 95, 96), change("late", 60, 5, 50)), ReleaseRule()
    )
    assert decision.verdict == "promote"
    assert all(g.passed for g in decision.gates)
    assert "5/60 -> 50/60" in decision.sentence
    assert decision.rule["worked_margin"] == 10.0


def test_nothing_worked_so_nothing_can_be_lost() -> None:
    assert verdict(change("worked", 0, 0, 0), change("late", 60, 5, 50)) == "promote"


def test_no_evidence_means_no() -> None:
    assert verdict() == "need more data"
    assert verdict(change("late", 60, 5, 50)) == "need more data"  # nobody asked about `worked`
    assert verdict(change("worked", 20, 20, 20), change("late", 60, 5, 50)) == "need more data"
    assert verdict(change("worked", 100, 90, 90), change("late", 10, 0, 9)) == "need more data"


def test_harm_rejects_even_with_a_gain_elsewhere() -> None:
    gain = change("late", 60, 5, 50)
    assert verdict(change("worked", 100, 95, 70), gain) == "reject"
    assert verdict(change("worked", 100, 95, 95), gain, change("tight", 60, 40, 20)) == "reject"


def test_a_small_fall_within_the_margin_does_not_stop() -> None:
    gain = change("late", 60, 5, 50)
    small = change("tight", 200, 190, 182)
    assert small.direction == "fell"
    assert verdict(change("worked", 100, 95, 95), gain, small) == "promote"


def test_harmless_but_not_better_is_held() -> None:
    decision = decide(
        _exam(change("worked", 100, 95, 95), change("late", 60, 50, 51)), ReleaseRule()
    )
    assert decision.verdict == "hold"
    assert "no bucket rose" in decision.sentence


@pytest.mark.parametrize(("siblings", "healed", "expected"), [(1, 0, "hold"), (19, 1, "promote")])
def test_what_only_learnt_the_exam_by_heart_is_held(siblings, healed, expected) -> None:
    failure = Healed(
        episode="e", own_k=6, own_n=6, siblings_k=siblings, siblings_n=20, before_k=0,
        healed=bool(healed),
    )  # fmt: skip
    exam = _exam(change("worked", 100, 95, 95), change("late", 60, 5, 50))
    decision = decide(replace(exam, healed=(failure,)), ReleaseRule())
    assert decision.verdict == expected
    assert f"healed {healed} of 1" in decision.sentence


@pytest.mark.parametrize(("after", "expected"), [(41, "promote"), (2, "hold")])
def test_a_rise_at_fresh_starts_needs_no_healed_failure(after: int, expected: str) -> None:
    failure = Healed(
        episode="e", own_k=6, own_n=6, siblings_k=1, siblings_n=20, before_k=0, healed=False
    )
    changes = change("worked", 100, 95, 95), change("late", 60, 5, 50)
    fresh = change("anywhere", 150, 0, after, fresh=True)
    exam = replace(_exam(*changes, fresh), healed=(failure,))
    decision = decide(exam, ReleaseRule())
    assert decision.verdict == expected
    assert ("no bucket of fresh starts rose" in decision.sentence) == (expected == "hold")


@pytest.mark.parametrize(("siblings", "expected"), [(1, "hold"), (19, "promote")])
def test_small_buckets_speak_together(siblings: int, expected: str) -> None:
    """Three more of 12 are too few to tell, three times as many are not."""
    names = ("a", "b", "c", "worked")

    def scores(ks: tuple[int, ...]) -> tuple[Score, ...]:
        return tuple(
            Score(
                policy="", bucket=b, k=k, n=12, lo=0, hi=1,
                outcomes=tuple(i < k for i in range(12)),
            )
            for b, k in zip(names, ks, strict=True)
        )  # fmt: skip

    changes = [replace(change(b, 12, 2, 5), direction="unchanged") for b in names[:3]]
    failure = Healed(
        episode="e", own_k=6, own_n=6, siblings_k=siblings, siblings_n=20, before_k=0,
        healed=siblings > 10,
    )  # fmt: skip
    exam = replace(
        _exam(*changes, change("worked", 100, 95, 95)), healed=(failure,),
        baseline=scores((2, 2, 2, 2)), scores=scores((5, 5, 5, 2)),
    )  # fmt: skip
    decision = decide(exam, ReleaseRule())
    assert decision.verdict == expected
    assert "all but `worked` together 6/36 -> 15/36" in decision.sentence
    one = replace(exam, baseline=exam.baseline[2:], scores=exam.scores[2:])
    assert "no bucket rose" in decide(one, ReleaseRule()).sentence


@pytest.mark.parametrize("n", [30, 300])
def test_every_gate_says_what_it_could_have_seen(n: int) -> None:
    decision = decide(_exam(change("worked", n, n, n), change("late", n, 0, n)), ReleaseRule())
    worked = decision.gates[0]
    assert 0 < worked.detectable < (30 if n == 30 else 8)


def test_the_rule_is_stored_with_the_decision() -> None:
    strict = ReleaseRule(worked_margin=1.0)
    exam = _exam(change("worked", 100, 95, 95), change("late", 60, 5, 50))
    decision = decide(exam, strict)
    assert (decision.verdict, decision.rule["worked_margin"]) == ("need more data", 1.0)
