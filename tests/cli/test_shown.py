"""Figures as people read them: equal decimals, one unit, no figure written as 7.5e+02."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.cli.shown import LINES, changes, figure, interval, reason, won
from gaploop.core import BucketChange, Decision, Exam, FieldRun, Healed


@pytest.mark.parametrize(
    ("mean", "sd", "unit", "said"),
    [
        (1.11294, 0.0030, "1", ("1.1129", "0.0030")),
        (0.01344, 0.013, "s", ("13", "13 ms")),
        (2953.2, 751.0, "N/m", ("2953", "751 N/m")),
        (-3.048e-6, 6e-4, "m", ("0.00", "0.60 mm")),
        (-2.46e-3, 6.6e-4, "m", ("-2.46", "0.66 mm")),
        (9.97, 0.0999, "1", ("9.97", "0.10")),
        (0.4, 0.0, "1", ("0.400", "0.000")),
    ],
)
def test_a_figure_is_as_fine_as_its_spread(mean, sd, unit, said):
    assert figure(mean, sd, unit) == said


@given(
    mean=st.floats(-1e6, 1e6, allow_subnormal=False),
    sd=st.floats(1e-9, 1e6, allow_subnormal=False),
)
def test_what_is_written_is_within_a_digit_of_the_spread(mean, sd):
    middle, spread = figure(mean, sd, "1")
    assert "e" not in middle + spread
    assert abs(float(middle) - mean) <= 0.06 * sd or abs(float(middle) - mean) <= 0.5
    assert float(spread) == pytest.approx(sd, rel=0.06) or sd > 10


def test_an_interval_is_as_fine_as_the_figure():
    assert interval(0.22004, 0.3868, "1", 0.049) == "[0.220, 0.387]"


def exam(n):
    change = BucketChange(
        bucket="worked", before_k=0, after_k=n, n=n, p_value=1.0, lo=0.0, hi=0.0, direction="rose"
    )
    healed = Healed(
        episode="a" * 64, own_k=3, own_n=6, siblings_k=9, siblings_n=20, before_k=1, healed=False
    )
    return Exam(
        policy="p", against="q", hard_set="h", scores=(), baseline=(), changes=(change,),
        healed=(healed,),
    )  # fmt: skip


def test_a_bucket_without_attempts_has_no_rate():
    bucket, failure = changes(exam(0))
    assert "no attempt to score" in bucket
    assert "->" not in bucket
    assert failure == "ep:aaaaaaaa own 3/6, siblings 1 -> 9 of 20: not healed"
    assert "0 ->   5 of 5" in next(changes(exam(5)))


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Held, the old policy stays: no bucket rose.", "no bucket rose."),
        ("Rejected: `worked` fell: 9 points.", "`worked` fell: 9 points."),
        ("Nothing to weigh.", "Nothing to weigh."),
    ],
)
def test_a_verdict_is_said_once(sentence, said):
    decision = Decision(policy="p", against="q", verdict="hold", gates=(), sentence=sentence)
    assert reason(decision) == said
    assert next(LINES["decision"](decision)) == f"hold: {said}"


def test_what_a_person_helped_with_stands_apart():
    alone = FieldRun(policy="p", k=12, n=20)
    assert won(alone) == "12/20 [39, 78] % succeeded"
    watched = FieldRun(policy="p", k=12, n=20, helped=5, takeovers=5)
    assert won(watched) == "12/20 [39, 78] % alone, 5 with help (25 takeovers per 100)"


def test_a_decision_names_the_policy_gone_back_to():
    decision = Decision(
        policy="c" * 64, against="b" * 64, verdict="roll back", gates=(), back_to="a" * 64,
        sentence="Rolled back to the earlier policy: 3/20 in the field, 16/20 with aaaaaaaa.",
    )  # fmt: skip
    first, second, *_ = LINES["decision"](decision)
    assert first == "roll back: 3/20 in the field, 16/20 with aaaaaaaa."
    assert second == "  acts again: policy aaaaaaaa"
