import sqlite3
from pathlib import Path

import pytest

from gaploop.core import Label, Run, UnknownNameError, UsageError, WorkcellError
from gaploop.store import EpisodeRow, Ledger, Workcell, run_key


def a_run(**changes: object) -> Run:
    values = {
        "stage": "train", "version": "v", "config": "{}", "seed": 2**64 - 1,
        "inputs": {"a": "1" * 64}, "outputs": {"policy": "2" * 64}, "environment": {"numpy": "2"},
        "started": 1.5, "wall": 0.25,
    }  # fmt: skip
    return Run(**{**values, **changes})  # type: ignore[arg-type]


def test_a_run_comes_back(cell: Workcell) -> None:
    key = cell.ledger.record(a_run())
    assert cell.ledger.find(key) == a_run()
    assert cell.ledger.find("0" * 64) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"stage": "x"}, {"version": "x"}, {"config": "[]"}, {"seed": 1}, {"inputs": {"a": "x"}},
        {"environment": {"numpy": "1"}},
    ],
)  # fmt: skip
def test_whatever_goes_in_makes_the_key(changes: dict[str, object]) -> None:
    assert run_key(a_run(**changes)) != run_key(a_run())


@pytest.mark.parametrize("changes", [{"outputs": {}}, {"started": 9.0}, {"wall": 9.0}])
def test_what_comes_out_does_not(changes: dict[str, object]) -> None:
    assert run_key(a_run(**changes)) == run_key(a_run())


def test_the_newest_run_and_the_newest_name_win(cell: Workcell) -> None:
    key = cell.ledger.record(a_run())
    cell.ledger.record(a_run(outputs={"policy": "3" * 64}))
    found = cell.ledger.find(key)
    assert found is not None
    assert found.outputs == {"policy": "3" * 64}
    cell.ledger.set_ref("v1", "4" * 64)
    cell.ledger.set_ref("v1", "5" * 64)
    assert cell.ledger.refs() == {"v1": "5" * 64}
    assert cell.ledger.resolve("v1") == "5" * 64


def test_labels_come_back_in_order(cell: Workcell) -> None:
    labels = [
        Label(subject="s", key="outcome", value={"success": True, "x": [1.5, None]}, author="a@1"),
        Label(subject="s", key="note", value="…", author="me", confidence=0.5, span=(0.1, 2.0)),
        Label(subject="t", key="note", value=float("inf"), author="me"),
    ]
    cell.ledger.label(*labels)
    assert cell.ledger.labels("s") == labels[:2]
    assert cell.ledger.labels("s", "note") == labels[1:2]
    assert cell.ledger.labels(key="note") == labels[1:]
    assert cell.ledger.labels() == labels


def test_nothing_can_be_changed_or_removed(cell: Workcell) -> None:
    cell.ledger.set_ref("v1", "4" * 64)
    cell.ledger.record(a_run())
    cell.ledger.label(Label(subject="s", key="k", value=1, author="a"))
    cell.ledger.add_episodes([EpisodeRow(id="6" * 64, dataset="7" * 64, position=0, length=3)])
    with sqlite3.connect(cell.ledger.path) as other:
        for table in ("runs", "labels", "refs", "episodes"):
            for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET seq = 9"):
                with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                    other.execute(statement)
    other.close()


def test_a_transaction_holds_all_or_nothing(cell: Workcell) -> None:
    class Stop(Exception): ...

    def stage() -> None:
        with cell.ledger.transaction(), cell.ledger.transaction():
            cell.ledger.set_ref("v1", "4" * 64)
            cell.ledger.record(a_run())
            raise Stop

    with pytest.raises(Stop):
        stage()
    assert cell.ledger.refs() == {}
    assert cell.ledger.runs() == []
    cell.ledger.set_ref("v1", "4" * 64)
    assert cell.ledger.refs() == {"v1": "4" * 64}


def test_short_digests_resolve(cell: Workcell) -> None:
    cell.ledger.record(a_run(outputs={"policy": "abcd1" + "0" * 59}))
    cell.ledger.add_episodes(
        [EpisodeRow(id="abcd2" + "0" * 59, dataset="ef" * 32, position=0, length=3)]
    )
    assert cell.ledger.resolve("abcd1") == "abcd1" + "0" * 59
    assert cell.ledger.resolve("ep:abcd2") == "abcd2" + "0" * 59
    assert cell.ledger.resolve("EFEF") == "ef" * 32
    with pytest.raises(UsageError, match="could be 2 things"):
        cell.ledger.resolve("abcd")
    for unknown in ("abcdf", "abc", "nobody", ""):
        with pytest.raises(UnknownNameError):
            cell.ledger.resolve(unknown)


def test_an_unknown_name_lists_the_known(cell: Workcell) -> None:
    cell.ledger.set_ref("policy-v1", "4" * 64)
    with pytest.raises(UnknownNameError, match="Did you mean 'policy-v1'"):
        cell.ledger.resolve("policy-v2")


@pytest.mark.parametrize("damage", ["garbage", "cut", "middle"])
def test_a_damaged_ledger_is_one_sentence(tmp_path: Path, damage: str) -> None:
    with Workcell.create(tmp_path / "cell", "") as cell:
        cell.ledger.label(
            *(Label(subject=str(i), key="k", value="x" * 99, author="a") for i in range(999))
        )
    path = tmp_path / "cell" / "ledger.sqlite"
    content = bytearray(path.read_bytes())
    if damage == "garbage":
        content[:100] = b"\xff" * 100
    elif damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[8192:16384] = b"\x5a" * 8192
    path.write_bytes(content)
    with pytest.raises(WorkcellError, match=r"ledger.sqlite is damaged"):
        Workcell.open(tmp_path / "cell")


def test_a_ledger_of_another_format_is_refused(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "ledger.sqlite")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(WorkcellError, match="format 99"):
        Ledger(tmp_path / "ledger.sqlite")


def test_an_emptied_ledger_is_no_new_one(tmp_path: Path) -> None:
    Workcell.create(tmp_path / "cell", "").close()
    (tmp_path / "cell" / "ledger.sqlite").write_bytes(b"")
    with pytest.raises(WorkcellError, match=r"ledger\.sqlite is empty"):
        Workcell.open(tmp_path / "cell")


def test_a_row_whose_json_broke_is_damage(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    db = sqlite3.connect(ledger.path)
    row = "('k', 's', '1', '{', 'done')"
    db.execute(f"INSERT INTO runs (key, stage, seed, inputs, status) VALUES {row}")
    db.commit()
    db.close()
    for ask in (ledger.runs, lambda: ledger.find("k")):
        with pytest.raises(WorkcellError, match=r"ledger.sqlite is damaged") as caught:
            ask()
        assert "\n" not in str(caught.value)
    ledger.close()


def test_a_reference_that_is_no_text(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(UnknownNameError):
        ledger.resolve("\udcff")
    ledger.close()


def test_a_ledger_nobody_may_write_says_so(tmp_path: Path) -> None:
    with Workcell.create(tmp_path / "cell", "") as cell:
        error = sqlite3.OperationalError("attempt to write a readonly database")
        with pytest.raises(WorkcellError, match="may write to"), cell.ledger._guard():
            raise error
