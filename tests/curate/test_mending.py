from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gaploop.core import (
    Curation,
    Diagnosis,
    Episode,
    KnobSpace,
    Mend,
    Posterior,
    Signal,
    TaskSpec,
)  # fmt: skip
from gaploop.curate import CurateConfig, curate
from gaploop.tasks.peg import Peg
from gaploop.wiring import aimed

SPEC: TaskSpec = Peg().spec
SPACE: KnobSpace = SPEC.knobs
AT = SPACE.index("zero_x")
PATH = Mend(
    feature="observation.environment_state", cause="contract", order=(0, 1),
    scale=(1e-3, 1e-3), offset=(0.0, 0.0), sentence="told in mm",
)  # fmt: skip


def _posterior(**shifts: float) -> Posterior:
    rng = np.random.default_rng(0)
    particles = np.tile(SPACE.nominal, (200, 1))
    particles[:, AT] = 1e-4 * rng.standard_normal(200)
    rows = {u: np.where(np.arange(len(SPACE)) == AT, v, 0.0) for u, v in shifts.items()}
    return Posterior(
        space=SPACE, particles=particles, weights=np.full(200, 1 / 200), shipped=particles,
        shifts=rows,
    )  # fmt: skip


def _curate(
    episodes: list[Episode], diagnoses: list[Diagnosis], posterior: Posterior,
    path: tuple[Mend, ...] = (),
) -> Curation:  # fmt: skip
    return curate(
        episodes, diagnoses, [], None, CurateConfig(calibrated=9, worked=6), 0,
        spec=SPEC, posterior=posterior, path=path,
    )  # fmt: skip


@pytest.fixture
def fleet(episode: Callable[..., Episode]) -> list[Episode]:
    """Six attempts of three units, the first one failed."""
    times = np.arange(3) * 0.05
    key = "observation.environment_state"
    pose = Signal(name=key, times=times, values=np.full((3, 2), 0.01))
    made = [episode(i, i > 0) for i in range(6)]
    return [
        replace(e, unit="abc"[i % 3], signals={**e.signals, key: pose}) for i, e in enumerate(made)
    ]


def test_a_mechanical_cause_mends_every_unit_that_is_off(
    fleet: list[Episode], diagnosis: Callable[..., Diagnosis]
) -> None:
    failed = diagnosis(fleet[0].id, "mechanical", "joint zero offset")
    curation = _curate(fleet, [failed], _posterior(a=2e-3, b=-1e-3, c=0.0))
    assert {m.unit for m in curation.mends} == {"a", "b"}
    assert {m.feature for m in curation.mends} == {"action", "observation.state"}
    (prescription,) = curation.prescriptions
    assert not prescription.trains
    assert "zero_x +2.0" in prescription.sentence
    assert "without training" in prescription.sentence
    assert curation.around == ()


@pytest.mark.parametrize("verdict", ["execution", "policy", "unknown"])
def test_other_causes_mend_nothing(
    fleet: list[Episode], diagnosis: Callable[..., Diagnosis], verdict: str
) -> None:
    given = [diagnosis(fleet[0].id, verdict)]
    assert _curate(fleet, given, _posterior(a=2e-3), (PATH,)).mends == ()


def test_what_is_not_identified_needs_a_person(
    fleet: list[Episode], diagnosis: Callable[..., Diagnosis]
) -> None:
    wide = _posterior()
    particles = wide.particles.copy()
    particles[:, AT] = np.random.default_rng(1).normal(1e-3, 1.4e-3, len(particles))
    wide = replace(wide, particles=particles)
    curation = _curate(fleet, [diagnosis(fleet[0].id, "mechanical", "")], wide)
    assert curation.mends == ()
    assert "looked at" in curation.prescriptions[0].sentence


def test_a_contract_cause_mends_the_path(
    fleet: list[Episode], diagnosis: Callable[..., Diagnosis]
) -> None:
    given = [diagnosis(fleet[0].id, "contract", "units mismatch")]
    curation = _curate(fleet, given, _posterior(a=2e-3), (PATH,))
    assert curation.mends == (PATH,)
    assert not any(p.trains for p in curation.prescriptions)


def test_the_exam_is_held_on_every_unit_as_it_is(
    fleet: list[Episode], diagnosis: Callable[..., Diagnosis]
) -> None:
    curation = _curate(fleet, [], _posterior(a=2e-3, b=-1e-3, c=0.0))
    for name in ("calibrated", "worked"):
        bucket = curation.hard_set.bucket(name)
        assert bucket is not None
        expected = {"a": 2e-3, "b": -1e-3, "c": 0.0}
        assert {s.unit for s in bucket.scenarios} == set(expected)
        for scenario in bucket.scenarios:
            assert scenario.knobs[AT] == pytest.approx(expected[scenario.unit], abs=5e-4)


def test_training_waits_for_the_mend(
    fleet: list[Episode], diagnosis: Callable[..., Diagnosis]
) -> None:
    given = [
        diagnosis(fleet[0].id, "mechanical", "joint zero offset"),
        diagnosis(fleet[3].id, "execution", "late commands"),
    ]
    posterior = _posterior(a=2e-3)
    curation = _curate(fleet, given, posterior)
    assert curation.mends
    assert [p.trains for p in curation.prescriptions] == [False, False]
    assert "Waits" in curation.prescriptions[1].sentence
    refused = curate(
        fleet, given, [], None, CurateConfig(calibrated=9, worked=6), 0, spec=SPEC,
        posterior=posterior, mend=False,
    )  # fmt: skip
    assert refused.mends == ()
    assert [p.trains for p in refused.prescriptions] == [False, True]


def test_data_is_made_for_every_unit_in_turn() -> None:
    target = aimed(_posterior(a=2e-3, b=-1e-3))
    assert target.shipped[0::2, AT].mean() == pytest.approx(2e-3, abs=1e-4)
    assert target.shipped[1::2, AT].mean() == pytest.approx(-1e-3, abs=1e-4)
    assert not target.shifts
    alike = _posterior()
    assert aimed(alike) is alike
