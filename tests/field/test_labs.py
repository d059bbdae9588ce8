import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import ConfigError, FieldError, UnknownNameError, registry
from gaploop.field import labs
from gaploop.field.families import FAMILIES
from gaploop.field.probes import Misled, knowing
from gaploop.field.truth import stand_in, truth_world
from gaploop.store.datasets import read_dataset
from gaploop.tasks.peg import Peg


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_seed_is_off_and_inside_its_prior(seed: int) -> None:
    world, knobs = truth_world("lab-mix", seed, Peg())
    space = Peg().spec.knobs
    assert world.space.names[: len(space)] == space.names
    assert np.all((knobs >= world.space.low) & (knobs <= world.space.high))
    off = knobs[: len(space)] != space.nominal
    assert off.sum() >= 6
    outside = dict(zip(world.space.names, knobs, strict=True))
    assert outside["outside_stiction"] > 0
    assert outside["outside_play"] > 0
    assert outside["outside_lost"] > 0


def test_seeds_differ_and_repeat() -> None:
    drawn = [truth_world("lab-mix", s, Peg())[1] for s in (3, 4, 3)]
    assert np.array_equal(drawn[0], drawn[2])
    assert not np.any(drawn[0][:5] == drawn[1][:5])


@pytest.mark.parametrize("seed", [0, 1])
def test_the_expert_manages_and_who_trusts_the_readings_does_not(seed: int) -> None:
    world, knobs = truth_world("lab-mix", seed, Peg())
    attempts = world.attempts(50, 11, knobs=knobs)
    able = world.task.judge(world.rollout(attempts, world.task.expert()))
    fooled = world.task.judge(world.rollout(attempts, Misled(world.task.expert(), world.spec)))
    assert able.success.mean() > 0.9
    assert fooled.success.mean() < 0.3


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(UnknownNameError, match="lab-mix"):
        truth_world("lab-mixx", 0, Peg())
    with pytest.raises(ConfigError, match="lab-mix:SEED"):
        labs.lab_mix("seven")
    assert registry.load("fields", "lab-mix") is labs.lab_mix


def test_the_log_shows_what_a_robot_logs_and_no_more(policy: Path, tmp_path: Path) -> None:
    labs.lab_mix("7", task="peg").collect(policy, 6, 5, tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    episodes = list(read_dataset(tmp_path / "out"))
    assert len(episodes) == 6
    keys = {"action", "observation.state", "observation.environment_state"}
    for episode in episodes:
        assert set(episode.signals) == keys
        assert episode.world == "stand-in"
        assert [f.key for f in episode.facts] == ["outcome"]
        assert episode.facts[0].author == labs.DETECTOR
    text = "".join(f.read_text() for f in (tmp_path / "out" / "meta").rglob("*.json*"))
    world, knobs = truth_world("lab-mix", 7, Peg())
    assert not any(name in text for name in world.space.names)
    assert not any(json.dumps(float(v)) in text for v in knobs if v not in (0.0, 1.0))


def test_the_same_run_leaves_the_same_attempts(policy: Path) -> None:
    one, two, other = (
        [e.id for e in labs.attempt("lab-mix", 7, "peg", policy, 4, s)] for s in (1, 1, 2)
    )
    assert one == two
    assert set(one).isdisjoint(other)


def test_a_policy_that_is_none_gets_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FieldError, match=r"The stand-in lab-mix:0 failed: .*nowhere"):
        labs.lab_mix(0).collect(tmp_path / "nowhere", 2, 0, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_families_leave_room_to_be_calibrated() -> None:
    for family in FAMILIES.values():
        assert 0 < family.least < family.most < 1


def test_a_stand_in_ends_with_the_process_that_started_it(policy: Path, tmp_path: Path) -> None:
    text = (
        "import sys; from pathlib import Path; from gaploop.field import Lab;"
        f"Lab(family='lab-mix', seed=0, task='peg').collect(Path({str(policy)!r}), 4000, 0,"
        f" Path({str(tmp_path / 'out')!r}))"
    )
    loop = subprocess.Popen([sys.executable, "-c", text])
    deadline = time.monotonic() + 60
    while not (children := _children(loop.pid)):
        assert loop.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(1.0)
    loop.kill()
    loop.wait()
    while any(Path(f"/proc/{c}").exists() for c in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not (tmp_path / "out").exists()
    labs.lab_mix(0).collect(policy, 2, 0, tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def _children(pid: int) -> list[str]:
    file = Path(f"/proc/{pid}/task/{pid}/children")
    if not file.exists():
        pytest.skip("this kernel does not list child processes")
    return file.read_text().split()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_opens_its_gaps_and_no_other(family: str) -> None:
    how, spec = FAMILIES[family], Peg().spec
    truth = stand_in(family, 5, Peg())
    for row in truth.knobs:
        for knob, value in zip(spec.knobs.knobs, row, strict=False):
            assert (value != knob.nominal) == (knob.gap in how.gaps), knob.name
            inside = knob.prior.low <= value <= knob.prior.high
            assert inside or family == "lab-out"
    own = [k for k in truth.world.space.names if k.startswith("outside_")]
    # every world has something that no task knob expresses, but for the one that is to have none
    assert bool(own) == (family != "lab-plain")
    attempts = truth.attempts(32, 1)
    assert knowing(truth.world, attempts) >= how.able


def test_out_of_prior_means_out() -> None:
    space = Peg().spec.knobs
    for seed in range(4):
        row = stand_in("lab-out", seed, Peg()).knobs[0, : len(space)]
        past = (row < space.low) | (row > space.high)
        assert {space.knobs[i].gap for i in np.flatnonzero(past)} == {
            "sensor", "dynamics", "execution"
        }  # fmt: skip
        assert np.all(row[space.low >= 0] >= 0)


def test_units_take_turns_and_wear() -> None:
    truth = stand_in("lab-d", 3, Peg())
    assert truth.units(4) == ["lab-d:3/1", "lab-d:3/2", "lab-d:3/3", "lab-d:3/1"]
    at = truth.world.space.index("zero_x")
    first, third = (truth.attempts(6, 1, round=r).knobs[:, at] for r in (1, 3))
    assert len(np.unique(first)) == 3
    assert np.all(np.abs(third) > np.abs(first))
    assert np.array_equal(first[:3], first[3:])
    late = truth.worn(100)
    assert np.all((late >= truth.world.space.low) & (late <= truth.world.space.high))


def test_only_what_is_disturbed_moves_on_the_way() -> None:
    truth = stand_in("lab-e", 1, Peg())
    attempts = truth.attempts(40, 2)
    record = truth.world.rollout(attempts, Peg().expert())
    space = truth.world.space
    shift = attempts.knobs[:, [space.index(f"outside_nudge_hole_{a}") for a in "xy"]]
    moved = record.truth["hole"][-1] - record.truth["hole"][0]
    assert np.allclose(moved, shift, atol=1e-12)
    nudged = np.any(shift != 0, axis=1)
    assert 0.3 < nudged.mean() < 0.9
    low, high = (np.array([getattr(v, s) for v in Peg().spec.layout]) for s in ("low", "high"))
    outside = (attempts.layout < low) | (attempts.layout > high)
    assert outside.any()
    assert np.array_equal(truth.attempts(7, 2).knobs, attempts.knobs[:7])


def test_the_log_says_which_unit(policy: Path) -> None:
    episodes = labs.attempt("lab-d", 7, "peg", policy, 4, 1, 2)
    assert [e.unit for e in episodes] == ["lab-d:7/1", "lab-d:7/2", "lab-d:7/3", "lab-d:7/1"]
    again = labs.attempt("lab-d", 7, "peg", policy, 4, 1, 3)
    assert {e.id for e in episodes}.isdisjoint(e.id for e in again)


def test_the_task_template_has_a_stand_in(tmp_path, monkeypatch):
    from importlib import resources

    from gaploop.core import registry
    from gaploop.field.truth import truth_world

    text = resources.files("gaploop.tasks.template").joinpath("task.py.txt").read_text()
    (tmp_path / "template_task.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    world, knobs = truth_world("lab-mix", 0, registry.load("tasks", "template_task:MyTask")())
    assert len(knobs) == len(world.space) > len(world.task.spec.knobs)
