"""What the wiring decides by itself: when a posterior stands."""

from types import SimpleNamespace
from typing import Any

import pytest

from gaploop import wiring
from gaploop.core import Mend


def turn(*logs: tuple[bool | None, bool]) -> Any:
    """A round with these (success, helped) whose policy carries no mend."""
    told = [SimpleNamespace(success=success, helped=helped) for success, helped in logs]
    return SimpleNamespace(logs=lambda: told, mends=(), policy_folder=lambda name, back: back)


def posterior(shifts: Any = None) -> Any:
    return SimpleNamespace(episodes=("a",), shifts=shifts or {})


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> list[Mend]:
    """Mends of the policy that acted the round before."""
    mends: list[Mend] = []
    monkeypatch.setattr("gaploop.policies.mend.read_mends", lambda folder: tuple(mends))
    return mends


@pytest.mark.parametrize(
    ("log", "stands"),
    [((True, False), True), ((True, True), False), ((False, False), False), ((None, False), False)],
)
def test_a_posterior_stands_where_the_policy_did_everything_alone(
    before: list[Mend], log: tuple[bool | None, bool], stands: bool
) -> None:
    assert wiring._stands(turn((True, False), log), posterior()) is stands


def test_it_does_not_where_units_differ_or_mends_changed(before: list[Mend]) -> None:
    assert not wiring._stands(turn((True, False)), posterior({"unit-1": 0}))
    mend = Mend(feature="action", cause="mechanical", order=(0,), scale=(1.0,), offset=(0.1,))
    before.append(mend)
    assert not wiring._stands(turn((True, False)), posterior())
