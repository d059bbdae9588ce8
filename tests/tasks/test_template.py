"""The template of a user's own task is a task, as it is."""

import subprocess
import sys
from importlib import resources
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

from gaploop.testing.tasks import check_task

TEMPLATE = resources.files("gaploop.tasks.template").joinpath("task.py.txt")


@pytest.fixture
def template(tmp_path):
    """The template as an imported module."""
    (tmp_path / "my_task.py").write_text(TEMPLATE.read_text("utf-8"))
    loader = SourceFileLoader("my_task", str(tmp_path / "my_task.py"))
    module = module_from_spec(spec_from_loader("my_task", loader))
    loader.exec_module(module)
    return module


def test_the_template_passes_the_conformance_checks(template):
    assert check_task(template.MyTask()) == 1.0


def test_the_template_runs_as_a_script(tmp_path):
    (tmp_path / "my_task.py").write_text(TEMPLATE.read_text("utf-8"))
    done = subprocess.run(
        [sys.executable, "my_task.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "expert succeeds in 100%" in done.stdout


def test_the_checks_catch_a_task_that_counts_everything_as_success(template):
    class Lenient(template.MyTask):
        def judge(self, recording):
            judged = super().judge(recording)
            judged.success[:] = True
            return judged

    with pytest.raises(AssertionError, match="success"):
        check_task(Lenient())


def test_the_checks_catch_an_expert_that_fails(template):
    class Lazy(template.Expert):
        def act(self, step, observation, truth):
            return 0.5 * super().act(step, observation, truth)

    class Slack(template.MyTask):
        def expert(self):
            return Lazy()

    with pytest.raises(AssertionError, match="its expert succeeds in"):
        check_task(Slack())
