from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gaploop.core import CAUSES, ConfigError, HardSet, UnknownNameError
from gaploop.curate import CurateConfig, remedies
from gaploop.curate.prescribe import prescribe

Make = Callable[..., Any]
EMPTY = HardSet(version=1, buckets=())


def test_the_table_covers_every_cause() -> None:
    table = remedies()
    assert set(table) == set(CAUSES)
    assert not any(table[c].trains for c in ("contract", "mechanical", "unknown"))


def test_the_lift_is_the_measured_response(diagnosis: Make, reproduction: Make) -> None:
    (p,) = prescribe([diagnosis("e")], [reproduction("e", p_after=0.9)], EMPTY, CurateConfig())
    # without an exam case of its own it is checked on `calibrated`, where 30 of 40 failed
    assert p.bucket == "calibrated"
    assert p.lift == pytest.approx(100 * (0.9 - 10 / 40))
    assert p.lift_lo < p.lift - 15
    assert p.lift < p.lift_hi <= 100


def test_more_simulations_narrow_the_prediction(diagnosis: Make, reproduction: Make) -> None:
    config = CurateConfig(shortfall=0.0)
    one = prescribe([diagnosis("a")], [reproduction("a")], EMPTY, config)[0]
    ids = [str(i) for i in range(9)]
    many = prescribe(
        [diagnosis(i) for i in ids], [reproduction(i) for i in ids], EMPTY, config
    )[0]  # fmt: skip
    assert many.lift_hi - many.lift_lo < 0.5 * (one.lift_hi - one.lift_lo)


def test_without_a_counterfactual_all_the_headroom_is_open(diagnosis: Make) -> None:
    (p,) = prescribe([diagnosis("e")], [], EMPTY, CurateConfig())
    assert (p.lift_lo, p.lift_hi) == (0.0, 100.0)


def test_mending_promises_no_bucket(diagnosis: Make, reproduction: Make) -> None:
    (p,) = prescribe(
        [diagnosis("e", "contract", "degrees")], [reproduction("e")], EMPTY, CurateConfig()
    )
    assert (p.trains, p.remedy, p.lift, p.lift_hi) == (False, "mend", 0.0, 0.0)
    assert "degrees" in p.sentence


def test_one_prescription_a_kind(diagnosis: Make) -> None:
    given = [diagnosis("a"), diagnosis("b"), diagnosis("c", "sensor", "biased hole pose")]
    written = prescribe(given, [], EMPTY, CurateConfig())
    assert [p.episodes for p in written] == [("a", "b"), ("c",)]


def test_a_table_that_is_off_names_its_row(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[contract]\nremedy = "mend"\n')
    with pytest.raises(ConfigError, match=r"\[contract\]"):
        remedies(str(file))
    file.write_text("[weather]\n")
    with pytest.raises(UnknownNameError, match="weather"):
        remedies(str(file))
    with pytest.raises(ConfigError, match="cannot be read"):
        remedies(str(tmp_path / "none.toml"))
