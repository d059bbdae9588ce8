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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 100_000, ["not TOML"]),
        ("seed = " + "9" * 5000, ["not TOML"]),
        ("trials = 99999999999", ["trials is 99999999999", "at most"]),
        ("[train]\nlr = inf", ["train.lr is inf", "finite"]),
        ("[calibrate]\nheld_out = -1", ["calibrate.held_out is -1"]),
        ("[calibrate]\nbudget = 0", ["calibrate.budget is 0"]),
        ("[diagnose]\nhealthy = 0", ["diagnose.healthy is 0"]),
        ("[diagnose]\nparticles = 0", ["diagnose.particles is 0"]),
        ("[reproduce]\nreruns = 0", ["reproduce.reruns is 0"]),
        ("[curate]\ncalibrated = -1", ["curate.calibrated is -1"]),
        ("[curate]\nexam_share = 1.5", ["curate.exam_share is 1.5"]),
        ("[generate]\ndemos = 0", ["generate.demos is 0"]),
        ("[evaluate]\nsiblings = 0", ["evaluate.siblings is 0"]),
        ("[evaluate]\nalpha = 1.0", ["evaluate.alpha is 1.0"]),
        ("[release]\npower = 0.0", ["release.power is 0.0"]),
        ("[screen]\nshortest = 0", ["screen.shortest is 0"]),
        ("[train]\nsteps = 'x'", ["train.steps: expected int, got str"]),
    ],
)
def test_a_setting_no_run_could_use_is_refused_at_once(tmp_path, text, words):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_byte_order_mark_is_no_fault(tmp_path):
    path = tmp_path / "gaploop.toml"
    path.write_bytes(b"\xef\xbb\xbftrials = 7\n")
    assert load(path, LoopConfig).trials == 7


def test_a_folder_in_place_of_the_file_is_named(tmp_path):
    (tmp_path / "gaploop.toml").mkdir()
    with pytest.raises(ConfigError, match=r"gaploop\.toml cannot be read"):
        load(tmp_path / "gaploop.toml", LoopConfig)
