"""What the benchmark `diagnosis` makes of its cells, on figures made up for it."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gaploop.core import Curation, Diagnosis, Exam, HardSet, Prescription
from gaploop.store import Workcell
from gaploop.studies import TOLD, prior_box

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def diagnosis(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import diagnosis

    return diagnosis


def made_up(diagnosis: ModuleType, cell: Any, **changed: Any) -> Any:
    """Worlds differ by 10 points a seed; as it is ends 30 above shuffled, 10 above uniform."""
    given = cell.parameters
    gain = {"as it is": 80, "shuffled": 20, "uniform": 60, "planted": 100}[given["way"]]
    rounds, planted = given["rounds"], given["way"] == "planted"
    values = {
        "k": [10, *[10 + 20 * given["seed"] + gain] * rounds], "n": [200] * (rounds + 1),
        "spent": 50.0, "causes": [["contract"] if planted else ["sensor", "policy"]] * rounds,
        "training": [[not planted, int(planted and k == 0)] for k in range(rounds)],
        "trained": [[] if planted else ["policy", "sensor"]] * rounds,
    }  # fmt: skip
    return diagnosis.Result(cell=cell, values=values | changed, wall=1.0, cpu=1.0)


def test_the_grid_pairs_every_world_and_fits_an_hour(diagnosis: ModuleType) -> None:
    grid = diagnosis.cells(False)
    assert len({c.name for c in grid}) == len(grid)
    for task in ("peg", "slide"):
        for family in ("lab-mix", "lab-d"):
            for way in diagnosis.WAYS:
                mine = {"task": task, "family": family, "way": way}.items()
                seeds = [c.parameters["seed"] for c in grid if mine <= c.parameters.items()]
                assert seeds == [0, 1, 2, 3, 4]
    planted = [c for c in grid if c.parameters["way"] == diagnosis.PLANTED]
    assert [c.name for c in planted][:2] == ["peg/lab-a:0+mm/planted", "peg/lab-a:1+mm/planted"]
    assert len(planted) == 15
    assert sum(c.cost for c in grid) / diagnosis.WORKERS < 3600
    assert sum(c.cost for c in diagnosis.cells(True)) / diagnosis.WORKERS < 300


def test_three_loops_differ_in_one_thing(diagnosis: ModuleType) -> None:
    asis, shuffled, uniform = (
        diagnosis.configured(dict(c.parameters)) for c in diagnosis.cells(True)[:3]
    )
    assert asis == shuffled
    assert asis.generate.around > 0.0 == uniform.generate.around
    assert asis.field == uniform.field == "lab-mix:0"
    planted = diagnosis.configured(dict(diagnosis.cells(False)[-1].parameters))
    assert (planted.field, planted.rounds) == ("lab-a:4+flipped", 2)


def test_each_way_runs_its_own_loop(diagnosis: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def loop(config: Any, cell: Path, *, told: str) -> list[Path]:
        asked.append(told)
        return [cell / str(k) for k in range(config.rounds + 1)]

    def success(*given: Any, round: int, fault: str) -> tuple[int, int]:
        asked.append((given[3].name, round, fault))
        return round, 10

    monkeypatch.setattr(diagnosis, "run_loop", loop)
    monkeypatch.setattr(diagnosis, "field_success", success)
    monkeypatch.setattr(diagnosis, "history", lambda cell, rounds: {"trained": [[]] * rounds})
    found = [diagnosis.run(c) for c in (*diagnosis.cells(True), diagnosis.cells(False)[-1])]
    assert [a for a in asked if isinstance(a, str)] == ["", "shuffled", "alike", "", ""]
    assert set(diagnosis.INSTEAD.values()) == set(TOLD)
    assert asked[-3:] == [("0", 1, "flipped"), ("1", 2, "flipped"), ("2", 3, "flipped")]
    assert found[0]["k"] == [1, 2, 3]
    assert found[0]["trained"] == [[], []]


def test_differences_are_paired_by_seed(diagnosis: ModuleType) -> None:
    results = [made_up(diagnosis, c) for c in diagnosis.cells(False)]
    page = diagnosis.table(results)
    rows = {(r[1], r[2], r[3]): r for r in _rows(page) if len(r) == 13}
    asis, shuffled, uniform = (rows["peg", "lab-mix", way] for way in diagnosis.WAYS)
    assert asis[6].startswith("65 [")
    assert asis[7] == ""
    assert shuffled[6].startswith("35 [")
    # every seed differs by the same 30 points: far narrower than the seeds' own spread
    low, high = map(int, shuffled[7].removeprefix("+30 [").rstrip("]").split(", "))
    assert 20 < low < 30 < high < 40
    assert uniform[7].startswith("+10 [")
    assert shuffled[8:11] == ["10/10", "policy 10, sensor 10", "0"]
    assert "as it is less shuffled: +30 [+" in page
    assert "over 20 pairs of loops" in page


def test_a_mean_is_not_paired_with_another_seed(diagnosis: ModuleType) -> None:
    every = [made_up(diagnosis, c) for c in diagnosis.cells(False) if "peg/lab-mix" in c.name]
    some = [r for r in every if "lab-mix:0/as it is" not in r.cell.name]
    page = diagnosis.table(some)
    assert "as it is less shuffled: +30 [" in page
    assert "over 4 pairs of loops" in page


def test_planted_faults_tell_what_was_mended_and_trained(diagnosis: ModuleType) -> None:
    chosen = [c for c in diagnosis.cells(False) if c.parameters["way"] == diagnosis.PLANTED]
    page = diagnosis.table([made_up(diagnosis, c) for c in chosen])
    [row] = [r for r in _rows(page) if r[1] == "contract: mm"]
    assert row[2:5] == ["peg", "lab-a", "5"]
    assert row[5].startswith("5 [")
    # 10 + 100 and 20 a seed, of 200
    assert row[6].startswith("75 [")
    assert row[7].startswith("+70 [")
    assert row[8:12] == ["0/10", "", "5", "contract 10"]
    assert "called contract or mechanical: 0/30." in page
    assert "under a planted contract fault: 0/30, mends 15." in page


def test_units_off_their_zeros_stand_beside_planted_faults(diagnosis: ModuleType) -> None:
    chosen = [c for c in diagnosis.cells(False) if c.parameters["family"] == "lab-d"]
    page = diagnosis.table([made_up(diagnosis, c) for c in chosen])
    rows = {r[2]: r for r in _rows(page) if r[1] == "mechanical"}
    assert set(rows) == {"peg", "slide"}
    # as it is alone: 10 + 80 and 20 a seed, of 200
    assert rows["slide"][4] == "5"
    assert rows["slide"][6].startswith("65 [")
    assert rows["slide"][8] == "10/10"


def test_a_training_that_no_cause_asks_for_is_not_hidden(diagnosis: ModuleType) -> None:
    chosen = [c for c in diagnosis.cells(False) if c.parameters["way"] == diagnosis.PLANTED]
    results = [made_up(diagnosis, c) for c in chosen[1:]]
    bad = {"trained": [["contract", "sensor"], []], "training": [[True, 0], [False, 0]]}
    page = diagnosis.table([made_up(diagnosis, chosen[0], **bad), *results])
    assert "called contract or mechanical: 1/30." in page
    assert "under a planted contract fault: 1/30, mends 14." in page


def test_a_short_grid_has_a_table_too(diagnosis: ModuleType) -> None:
    page = diagnosis.table([made_up(diagnosis, c) for c in diagnosis.cells(True)])
    assert "+30 (too few seeds)" in page
    assert "Planted" not in page
    alone = diagnosis.table([made_up(diagnosis, diagnosis.cells(True)[1])])
    assert "| shuffled" in alone
    assert "nan" not in alone
    assert "Over all these worlds" not in alone


def test_a_history_tells_what_a_round_trained_for(diagnosis: ModuleType, tmp_path: Path) -> None:
    from benchmarks._looping import history

    exam = Exam(
        policy="new", against="old", hard_set="", scores=(), baseline=(), changes=(), healed=()
    )
    answer = Diagnosis(episode="e", verdict="sensor", kind="", probabilities={"sensor": 1.0})
    Workcell.create(tmp_path / "cell", "").close()
    with Workcell.open(tmp_path / "cell") as cell:

        def keep(name: str, value: Any) -> None:
            cell.ledger.set_ref(name, cell.objects.put(value))

        for k, causes in ((1, ("sensor", "policy", "sensor")), (2, ("sensor",))):
            prescriptions = tuple(
                Prescription(
                    cause=c, remedy="train", trains=c != "policy", sentence="", episodes=("e",),
                    bucket="calibrated", lift=0.0, lift_lo=0.0, lift_hi=0.0,
                )
                for c in causes
            )  # fmt: skip
            keep(f"exam@r{k}", exam)
            keep(f"posterior@r{k}", prior_box("peg", 1.0, 0))
            keep(f"diagnoses@r{k}", (answer,))
            nothing = HardSet(version=k, buckets=())
            keep(f"curation@r{k}", Curation(
                prescriptions=prescriptions, admissions=(), hard_set=nothing, around=()
            ))  # fmt: skip
        keep("training@r1", {"steps": 1})
    found = history(tmp_path / "cell", 2)
    assert found["trained"] == [["sensor"], []]
    assert found["training"] == [[True, 0], [False, 0]]
    assert found["causes"] == [["sensor"], ["sensor"]]


def _rows(page: str) -> list[list[str]]:
    return [[p.strip() for p in line.split("|")] for line in page.splitlines() if line[:1] == "|"]
