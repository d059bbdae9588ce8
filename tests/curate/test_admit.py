from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaploop.core import Diagnosis, Episode
from gaploop.curate import remedies
from gaploop.curate.admit import admit, side, trouble


@given(st.lists(st.text(min_size=1), unique=True, min_size=1))
def test_the_side_depends_on_the_id_alone(ids: list[str]) -> None:
    assert [side(i, 0.5) for i in ids] == [side(i, 0.5) for i in ids]
    assert all(side(i, 0.0) == "trainable" and side(i, 1.0) == "exam" for i in ids)


def test_the_share_is_kept() -> None:
    exam = sum(side(str(i), 0.3) == "exam" for i in range(4000))
    assert abs(exam / 4000 - 0.3) < 0.03


def test_disagreeing_checks_are_set_aside(episode: Callable[..., Episode]) -> None:
    liar = episode(1, True, outcome={"success": True, "second": False})
    assert "disagree" in (trouble(liar) or "")
    (admission,) = admit([liar], [], {}, remedies())
    assert admission.destination == "set aside"


def test_an_unjudged_or_broken_episode_is_set_aside(episode: Callable[..., Episode]) -> None:
    assert trouble(episode(1, None)) == "nobody judged its outcome"
    assert "action" in (trouble(episode(np.nan, True)) or "")


def test_a_mechanical_fault_spends_no_training(
    episode: Callable[..., Episode], diagnosis: Callable[..., Diagnosis]
) -> None:
    failed = episode(1, False)
    for cause in ("mechanical", "contract", "unknown"):
        (admission,) = admit(
            [failed], [diagnosis(failed.id, cause, "x")], {failed.id: "trainable"}, remedies()
        )  # fmt: skip
        assert admission.destination == "diagnostics"


def test_a_correction_goes_in(episode: Callable[..., Episode]) -> None:
    helped = episode(1, True, intervention={"start": 0.1})
    (admission,) = admit([helped], [], {}, remedies())
    assert admission.destination == "train"
    assert "A person stepped in" in admission.reason


def test_a_success_goes_in_and_a_helped_failure_does_not(
    episode: Callable[..., Episode], diagnosis: Callable[..., Diagnosis]
) -> None:
    won, lost = episode(1, True), episode(2, False, intervention={"start": 0.1})
    found = admit([won, lost], [diagnosis(lost.id)], {lost.id: "exam"}, remedies())
    assert [a.destination for a in found] == ["train", "hard set"]
    assert "field success" in found[0].reason
