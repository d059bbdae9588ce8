"""Another stage in a row of the loop is another stage, in the ledger too."""

from dataclasses import replace
from pathlib import Path

from gaploop.config import LoopConfig
from gaploop.loop import ROUND, Stage, advance
from gaploop.store import Workcell, source_digest
from gaploop.turn import Turn


def row(worked: list[str], variant: str, says: str = "") -> Stage:
    def run(turn: Turn) -> dict[str, str]:
        worked.append(variant)
        return {"diagnoses": turn.cell.objects.put((says or variant,))}

    return Stage("diagnose", (), ("diagnoses",), run, ("diagnose",), variant=variant)


def test_a_variant_is_not_the_stage_it_stands_for(tmp_path: Path) -> None:
    config, worked = LoopConfig(task="peg", field="lab-a:0"), []
    Workcell.create(tmp_path / "cell", "").close()
    with Workcell.open(tmp_path / "cell") as cell, cell.lock():
        found = {}
        for variant in ("", "one", "two", "one", ""):
            advance(cell, config, 1, rows=[row(worked, variant)])
            ref = cell.ledger.refs()["diagnoses@r1"]
            assert found.setdefault(variant, ref) == ref
    assert worked == ["", "one", "two"]
    assert len(set(found.values())) == 3


def test_a_variant_is_keyed_by_its_own_module(tmp_path: Path) -> None:
    config = LoopConfig(task="peg", field="lab-a:0")
    Workcell.create(tmp_path / "cell", "").close()
    with Workcell.open(tmp_path / "cell") as cell, cell.lock():
        advance(cell, config, 1, rows=[row([], "one"), replace(row([], ""), name="curate")])
        kept = {run.stage: run.environment for run in cell.ledger.runs()}
    assert kept["diagnose"]["variant"] == "one"
    assert kept["diagnose"]["source:variant"] == source_digest(__name__)
    assert not any("variant" in key for key in kept["curate"])


def test_the_loop_itself_has_no_variant() -> None:
    assert not any(stage.variant for stage in ROUND)
