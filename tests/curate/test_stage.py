from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gaploop.core import Curation, Episode, Posterior, TaskSpec, UsageError, digest
from gaploop.curate import CurateConfig, curate, imitable

Make = Callable[..., Any]


@pytest.fixture
def round_one(
    spec: TaskSpec, posterior: Posterior, episode: Make, diagnosis: Make, reproduction: Make
) -> tuple[list[Episode], Curation]:
    episodes = [episode(i, False) for i in range(8)] + [
        episode(10 + i, True, margin=0.1 * (i + 1)) for i in range(4)
    ]
    failed = [e.id for e in episodes[:6]]  # two failures stay undiagnosed
    curation = curate(
        episodes, [diagnosis(i) for i in failed], [reproduction(i) for i in failed], None,
        CurateConfig(), 3, spec=spec, posterior=posterior,
    )  # fmt: skip
    return episodes, curation


def test_every_episode_goes_somewhere_with_a_reason(
    round_one: tuple[list[Episode], Curation],
) -> None:
    episodes, curation = round_one
    assert [a.episode for a in curation.admissions] == [e.id for e in episodes]
    assert all(a.reason for a in curation.admissions)
    where = [a.destination for a in curation.admissions]
    assert set(where[:6]) == {"train", "hard set"}
    assert where[6:8] == ["set aside"] * 2
    assert where[8:] == ["train"] * 4


def test_only_successes_may_be_imitated(round_one: tuple[list[Episode], Curation]) -> None:
    episodes, curation = round_one
    assert [e.id for e in imitable(curation, episodes)] == [e.id for e in episodes[8:]]


def test_no_exam_failure_is_imitated_nor_any_exam_scenario(
    round_one: tuple[list[Episode], Curation],
) -> None:
    """What is imitated are attempts of the field, and its failures are not among them."""
    episodes, curation = round_one
    imitated = {e.id for e in imitable(curation, episodes)}
    assert not imitated & set(curation.hard_set.origins)
    examined = [s for b in curation.hard_set.buckets for s in b.scenarios]
    assert {s.origin for s in examined if s.origin in imitated} == imitated  # `worked` alone
    assert all(b.name == "worked" for b in curation.hard_set.buckets
               if any(s.origin in imitated for s in b.scenarios))  # fmt: skip
    assert [b.name for b in curation.hard_set.buckets if b.fresh] == ["calibrated"]


@pytest.mark.parametrize(
    ("cause", "helped", "trains"),
    [
        ("execution", False, True), ("mechanical", False, False), ("mechanical", True, False),
        ("contract", True, False), ("unknown", False, False), ("unknown", True, True),
        ("", False, False), ("", True, True),
    ],
)  # fmt: skip
def test_a_correction_is_reason_to_train_and_a_success_is_none(
    spec: TaskSpec, posterior: Posterior, episode: Make, diagnosis: Make,
    cause: str, helped: bool, trains: bool,
) -> None:  # fmt: skip
    won = episode(1, True, **({"intervention": {"start": 0.1}} if helped else {}))
    failed = episode(2, False)
    diagnoses = [diagnosis(failed.id, cause, "x")] if cause else []
    curation = curate(
        [won, failed], diagnoses, [], None, CurateConfig(), 0, spec=spec, posterior=posterior
    )
    assert curation.trains is trains


def test_no_exam_scenario_is_trained_around(round_one: tuple[list[Episode], Curation]) -> None:
    _, curation = round_one
    origins = curation.hard_set.origins
    assert {origins[s.origin] for s in curation.around} == {"trainable"}
    bucket = curation.hard_set.bucket("late commands")
    assert bucket is not None
    assert {origins[s.origin] for s in bucket.scenarios} == {"exam"}
    examined = {s.seed for b in curation.hard_set.buckets for s in b.scenarios}
    assert not examined & {s.seed for s in curation.around}
    assert len(examined) == sum(len(b.scenarios) for b in curation.hard_set.buckets)


def test_half_of_a_kind_bucket_is_fresh(
    round_one: tuple[list[Episode], Curation], reproduction: Make
) -> None:
    _, curation = round_one
    bucket = curation.hard_set.bucket("late commands")
    assert bucket is not None
    own = [s for s in bucket.scenarios if np.array_equal(s.layout, [0.1, 0.5])]
    assert 2 * len(own) == len(bucket.scenarios) > 0


def test_the_split_never_moves(
    round_one: tuple[list[Episode], Curation],
    spec: TaskSpec, posterior: Posterior, episode: Make, diagnosis: Make, reproduction: Make,
) -> None:  # fmt: skip
    _, first = round_one
    later = [episode(50 + i, False) for i in range(3)]
    ids = [e.id for e in later]
    second = curate(
        later, [diagnosis(i) for i in ids], [reproduction(i) for i in ids], first.hard_set,
        CurateConfig(exam_share=0.9), 4, spec=spec, posterior=posterior,
    )  # fmt: skip
    assert second.hard_set.version == 2
    assert first.hard_set.origins.items() <= second.hard_set.origins.items()
    assert first.hard_set.version == 1


def test_worked_takes_the_bias_off_the_reading(
    round_one: tuple[list[Episode], Curation],
) -> None:
    _, curation = round_one
    worked = curation.hard_set.bucket("worked")
    assert worked is not None
    assert len(worked.scenarios) == 100
    plain = worked.scenarios[0]  # reading 0.5 on average, less the bias this draw claims
    assert plain.layout[0] == pytest.approx(0.5 - plain.knobs[1])


def test_nothing_worked_is_an_empty_bucket(
    spec: TaskSpec, posterior: Posterior, episode: Make
) -> None:
    curation = curate(
        [episode(1, False)], [], [], None, CurateConfig(), 0, spec=spec, posterior=posterior
    )
    worked = curation.hard_set.bucket("worked")
    assert worked is not None
    assert worked.scenarios == ()


def test_a_case_the_posterior_has_ruled_out_is_posed_anew(
    spec: TaskSpec, posterior: Posterior, episode: Make, diagnosis: Make, reproduction: Make
) -> None:
    failed = episode(1, False)
    config = CurateConfig(exam_share=1.0)
    first = curate(
        [failed], [diagnosis(failed.id)], [reproduction(failed.id, value=0.8)], None, config, 0,
        spec=spec, posterior=posterior,
    )  # fmt: skip
    second = curate([], [], [], first.hard_set, config, 1, spec=spec, posterior=posterior)
    old, new = first.hard_set.bucket("late commands"), second.hard_set.bucket("late commands")
    assert old is not None
    assert new is not None
    assert {s.knobs[0] for s in old.scenarios} == {0.8}
    assert all(abs(s.knobs[0]) <= 0.2 for s in new.scenarios)
    assert [s.seed for s in old.scenarios] == [s.seed for s in new.scenarios]


def test_same_seed_same_bytes(
    round_one: tuple[list[Episode], Curation],
    spec: TaskSpec, posterior: Posterior, diagnosis: Make, reproduction: Make,
) -> None:  # fmt: skip
    episodes, curation = round_one
    failed = [e.id for e in episodes[:6]]
    again = curate(
        episodes, [diagnosis(i) for i in failed], [reproduction(i) for i in failed], None,
        CurateConfig(), 3, spec=spec, posterior=posterior,
    )  # fmt: skip
    assert digest(again) == digest(curation)


def test_a_foreign_diagnosis_is_refused(
    spec: TaskSpec, posterior: Posterior, episode: Make, diagnosis: Make
) -> None:
    with pytest.raises(UsageError, match="not among the episodes"):
        curate(
            [episode(1, False)], [diagnosis("ab" * 32)], [], None, CurateConfig(), 0,
            spec=spec, posterior=posterior,
        )  # fmt: skip
