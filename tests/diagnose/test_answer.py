import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.core import CAUSES
from gaploop.diagnose.answer import Findings, probabilities
from gaploop.diagnose.config import DiagnoseConfig

CONFIG = DiagnoseConfig()


def best(found: Findings) -> str:
    p = probabilities(found, CONFIG)
    return max(p, key=lambda c: p[c])


CLEAR = {
    "shares": {"sensor": 0.0, "execution": 1.0},
    "off": {"sensor": 1.0, "execution": 1e4},
    "as_is": (0, 8),
    "trained": (24, 24),
    "misfit": 1.0,
}


def test_the_gap_that_rescues_and_is_seen_is_the_answer() -> None:
    assert best(Findings(**CLEAR)) == "execution"


def test_a_bystander_that_is_plainly_there_is_not_blamed() -> None:
    assert best(Findings(**{**CLEAR, "off": {"sensor": 1e9, "execution": 20.0}})) == "execution"


def test_physics_is_not_blamed_while_a_contract_test_is_red() -> None:
    assert best(Findings(**{**CLEAR, "contract": 1e3})) == "contract"


def test_a_policy_that_fails_where_it_was_trained_is_its_own_cause() -> None:
    assert best(Findings(**{**CLEAR, "trained": (2, 24)})) == "policy"


def test_a_bad_replay_that_is_not_reproduced_is_unknown() -> None:
    found = Findings(**{**CLEAR, "as_is": (8, 8), "misfit": 9.0, "shares": {"sensor": 0.0}})
    assert best(found) == "unknown"


def test_nothing_known_is_unknown() -> None:
    assert best(Findings()) == "unknown"


@given(
    contract=st.floats(0, 1e6),
    share=st.floats(-1, 1),
    off=st.floats(1e-6, 1e6),
    k=st.integers(0, 8),
    t=st.integers(0, 24),
    misfit=st.floats(0, 100),
)
def test_always_a_distribution_over_the_causes(
    contract: float, share: float, off: float, k: int, t: int, misfit: float
) -> None:
    p = probabilities(
        Findings(
            contract=contract,
            shares={"sensor": share, "execution": 0.3},
            off={"sensor": off, "execution": 1.0},
            as_is=(k, 8),
            trained=(t, 24),
            misfit=misfit,
        ),
        CONFIG,
    )
    assert tuple(p) == CAUSES
    assert sum(p.values()) == pytest.approx(1.0)
    assert all(0 <= v <= 1 for v in p.values())
    assert p["visual"] == 0.0  # nothing looked at pixels
