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
