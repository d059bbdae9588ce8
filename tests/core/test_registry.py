"""Names that lead nowhere, and what somebody else's code does when it is asked."""

import pytest

from gaploop.core import UnknownNameError, UsageError, registry


def refused(group, name, *arguments):
    with pytest.raises(UsageError) as caught:
        registry.make(group, name, *arguments)
    return str(caught.value)


@pytest.mark.parametrize("name", ["lab-mx:0", "lab-mx", "labmix:0"])
def test_a_misspelt_field_is_answered_with_the_closest(name):
    with pytest.raises(UnknownNameError, match="Did you mean 'lab-mix'"):
        registry.make("fields", name)


def test_a_misspelt_task_is_answered_with_the_closest():
    assert "Did you mean 'peg'" in refused("tasks", "pge:X")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere_at_all:X", "No module named 'nowhere_at_all'"),
        ("os.path:nope", "nope"),
        ("os:path", "not callable"),
        ("sys:exit", "SystemExit"),
        ("json:dumps", "TypeError"),
        ("builtins:dict", "has no `spec`"),
        ("..x:y", "There is no task named"),
        (":", "There is no task named"),
    ],
)
def test_what_is_no_task_is_a_usage_error(name, words):
    assert words in refused("tasks", name)


def test_a_fault_in_the_code_of_a_task_is_placed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "a_broken_task.py").write_text("def f(:\n")
    (tmp_path / "a_raising_task.py").write_text("class X:\n  def __init__(self):\n    {}['k']\n")
    assert "a_broken_task.py, line 1" in refused("tasks", "a_broken_task:X")
    said = refused("tasks", "a_raising_task:X")
    assert "KeyError" in said
    assert "a_raising_task.py, line 3" in said
