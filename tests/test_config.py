"""gaploop.toml is read strictly: a typing error never becomes a default."""

import pytest

from gaploop.config import LoopConfig, load
from gaploop.core import ConfigError


def read(tmp_path, text):
    path = tmp_path / "gaploop.toml"
    path.write_text(text)
    return load(path, LoopConfig)


def test_an_empty_file_is_all_defaults(tmp_path):
    assert read(tmp_path, "") == LoopConfig()


def test_sections_are_the_stages_settings(tmp_path):
    config = read(tmp_path, 'field = "inbox:logs"\n[train]\nsteps = 7\n')
    assert config.train.steps == 7
    assert config.field == "inbox:logs"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("trails = 3", ["'trails'", "Did you mean 'trials'?", "gaploop.toml"]),
        ("[train]\nstep = 3", ["[train]", "'step'", "'steps'"]),
        ("[trian]\nsteps = 3", ["'trian'", "'train'"]),
        ("trials = 'ten'", ["trials", "int", "str"]),
        ("trials = 0", ["trials is 0", "at least 1"]),
        ("[train]\nsteps = 0", ["train.steps is 0"]),
        ("trials = ", ["not TOML"]),
        ("trials = 1.5", ["trials", "int"]),
    ],
)
def test_a_fault_is_named_with_file_and_key(tmp_path, text, words):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(ConfigError, match="gaploop init"):
        load(tmp_path / "gaploop.toml", LoopConfig)
