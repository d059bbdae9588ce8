"""The command as a person or a program meets it: exit codes, one sentence, one JSON object."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gaploop.cli import VERBS, main


def run(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "gaploop.cli", *map(str, words)],
        capture_output=True, text=True, cwd=cwd, check=False, timeout=120,
    )  # fmt: skip


def fails(capsys, *words, code=1):
    """The sentence a failing call leaves; never a traceback."""
    assert main([str(w) for w in words]) == code
    said = capsys.readouterr()
    assert said.err.startswith("gaploop: ")
    assert len(said.err.strip().splitlines()) == 1
    return said.err


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as left:
        main([verb, "--help"])
    assert left.value.code == 0
    assert f"gaploop {verb}" in capsys.readouterr().out


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from gaploop.cli import main; main(['--help']);"
        "print(sorted({'numpy', 'mujoco', 'torch', 'scipy', 'pyarrow', 'duckdb', 'tyro'}"
        " & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_import_loads_no_heavy_library():
    code = (
        "import gaploop, sys; print(sorted({'torch', 'ray', 'duckdb', 'rerun'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_verb_is_a_usage_error_that_lists_the_verbs(capsys):
    assert "Did you mean 'release'?" in fails(capsys, "relase", code=2)


def test_an_unknown_flag_is_a_usage_error():
    done = run("loop", "--no-such-flag")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_missing_path(capsys, tmp_path):
    said = fails(capsys, "check", tmp_path / "nothing_here")
    assert "nothing_here" in said


def test_a_folder_that_is_no_dataset(capsys, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    assert str(tmp_path) in fails(capsys, "diagnose", tmp_path)


def test_no_workcell(capsys, tmp_path):
    assert "gaploop init" in fails(capsys, "loop", "--workcell", tmp_path, code=2)


def test_an_error_under_json_is_one_object(capsys, tmp_path):
    assert main(["check", str(tmp_path / "gone"), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["exit"] == 1
    assert "gone" in answer["error"]


def test_init_writes_a_configuration_that_loads(capsys, tmp_path):
    field = 'command:python "my runner.py" --out {out}'
    assert main(["init", str(tmp_path / "cell"), "--field", field, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["workcell"] == str(tmp_path / "cell")
    assert tomllib.loads((tmp_path / "cell" / "gaploop.toml").read_text())["field"] == field
    fails(capsys, "init", tmp_path / "cell")


def test_init_refuses_a_task_nobody_knows(capsys, tmp_path):
    assert "peg" in fails(capsys, "init", tmp_path / "cell", "--use", "pegg", code=2)
    assert not (tmp_path / "cell").exists()


def test_the_task_template_is_not_written_over(capsys, tmp_path):
    assert main(["init", "--task", str(tmp_path / "mine.py")]) == 0
    text = (tmp_path / "mine.py").read_text()
    assert "exists" in fails(capsys, "init", "--task", tmp_path / "mine.py", code=2)
    assert (tmp_path / "mine.py").read_text() == text


def test_doctor_names_what_is_off(capsys, tmp_path):
    assert main(["init", str(tmp_path)]) == 0
    assert main(["doctor", "--workcell", str(tmp_path)]) == 0
    with (tmp_path / "gaploop.toml").open("a") as file:
        file.write("\n[train]\nstepps = 3\n")
    capsys.readouterr()
    assert main(["doctor", "--workcell", str(tmp_path)]) == 1
    assert "'stepps'" in capsys.readouterr().out


def test_two_loops_on_one_workcell(capsys, tmp_path):
    from gaploop.store import Workcell

    Workcell.create(tmp_path / "cell", "").close()
    holder = subprocess.Popen(
        [sys.executable, "-c",
         "import sys; from gaploop.store import Workcell\n"
         f"with Workcell.open({str(tmp_path / 'cell')!r}) as c, c.lock():\n"
         "    print('held', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert str(holder.pid) in fails(capsys, "loop", "--workcell", tmp_path / "cell")
    finally:
        holder.communicate("")


def test_calibrate_wants_a_model_for_logs(capsys, tmp_path):
    assert "--system" in fails(capsys, "calibrate", tmp_path, code=2)


def real(name):
    folder = Path(os.environ.get("GAPLOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not (folder / name).exists():
        pytest.skip(f"no real data at {folder / name}; GAPLOOP_DATA says where it is")
    return folder / name


def test_check_and_diagnose_answer_on_the_failed_swing_up(capsys):
    log = next(real("simple_pendulum").glob("*failure*measured.csv"))
    assert main(["check", str(log), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "pendulum"
    assert main(["diagnose", str(log), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert sum(answer["probabilities"].values()) == pytest.approx(1.0)
    assert answer["not_seen"]
    assert "execution" in answer["probabilities"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["loop", "--no-such-flag"], "--no-such-flag"),
        (["loop", "--rounds", "many"], "--rounds"),
        (["loop", "--workcell"], "--workcell"),
        (["replay"], "ep:3f2a"),
        (["show", "a", "b"], "b"),
        (["calibrate", "x", "--system", "hydraulic"], "hydraulic"),
        (["loop", "--threads", "0"], "--threads is 0"),
    ],
)
def test_a_usage_error_is_one_sentence_or_one_object(capsys, words, said):
    assert said in fails(capsys, *words, code=2)
    assert main([words[0], "--json", *words[1:]]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["exit"] == 2
    assert said in answer["error"]


@pytest.mark.parametrize("verb", ["check", "diagnose", "ingest"])
def test_a_name_no_file_can_have(capsys, verb):
    assert "There is no file" in fails(capsys, verb, "x" * 5000)


def test_a_name_that_is_no_text(tmp_path):
    name = os.fsdecode(b"\xff\xfe")
    log = tmp_path / f"{name}_measured.csv"
    try:
        log.write_text("time,position,velocity,torque\n" + "0,1,1,1\n1,1,1,1\n" * 9)
    except OSError:
        pytest.skip("this file system keeps no such name")
    done = run("check", log)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in run("show", name, "--workcell", tmp_path).stderr


def test_a_file_in_place_of_a_workcell(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    for verb in ("loop", "train", "show", "log"):
        fails(capsys, verb, "--workcell", tmp_path / "file", code=2 if verb in "loop train" else 1)
    assert main(["doctor", "--workcell", str(tmp_path / "gone")]) == 1
    assert "gaploop init" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--field", "lab-mx:0"], "Did you mean 'lab-mix'"),
        (["--field", "lab-mix:seven"], "'seven' is no number"),
        (["--field", "command:robot"], "{out}"),
        (["--use", "os:path"], "os:path"),
    ],
)
def test_init_refuses_what_the_loop_would_refuse(capsys, tmp_path, words, said):
    assert said in fails(capsys, "init", tmp_path / "cell", *words, code=2)
    assert not (tmp_path / "cell").exists()


def test_demo_with_a_bad_field_leaves_nothing(capsys, tmp_path):
    assert "lab-mix" in fails(capsys, "demo", tmp_path / "cell", "--field", "lab-mx:1", code=2)
    assert not (tmp_path / "cell").exists()


def test_show_knows_a_thing_by_its_digest_alone(capsys, tmp_path):
    from gaploop.core import Decision
    from gaploop.store import Workcell
    from gaploop.store.cache import make_run

    with Workcell.create(tmp_path / "cell", "") as cell:
        decision = Decision(policy="a", against="b", verdict="hold", gates=(), sentence="No.")
        digest = cell.objects.put(decision)
        cell.ledger.set_ref("decision@r1", digest)
        key = cell.ledger.record(make_run("release", config=None, seed=0, inputs={}, extra={}))
    for ref, inside in ((digest[:10], "sentence"), (key[:10], "stage")):
        assert main(["show", ref, "--workcell", str(tmp_path / "cell"), "--json"]) == 0
        assert inside in json.loads(capsys.readouterr().out)["value"]


def test_a_full_disk_while_the_report_is_written(capsys, monkeypatch, tmp_path):
    import errno

    from gaploop.cli import start

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "page.html")

    monkeypatch.setattr(start, "_plugins", full)
    assert "page.html" in fails(capsys, "doctor", "--workcell", tmp_path)


@pytest.mark.parametrize("words", ["", "--help", "loop --help", "show --json", "check gone --json"])
@pytest.mark.parametrize("output", ["| true", ">&-", "> /dev/full"])
def test_an_output_that_takes_nothing_is_no_traceback(words, output):
    if output.endswith("full") and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    line = f"{sys.executable} -m gaploop.cli {words} {output}"
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, check=False, timeout=60
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.stdout == ""


def test_a_folder_that_was_removed_under_our_feet(tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    line = f"cd {here}; rmdir {here}; {sys.executable} -m gaploop.cli check gone"
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.startswith("gaploop: There is no file")


def test_show_knows_every_name_a_round_gives():
    from gaploop.cli.look import TYPES
    from gaploop.loop import ROUND, START

    folders = {"field", "data", "admitted", "policy", "candidate"}
    given = {name for stage in (*START, *ROUND) for name in stage.writes}
    assert given - folders == set(TYPES)
