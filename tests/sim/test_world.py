"""Worlds are reproducible bit for bit, and a diverged simulation is never an attempt."""

from pathlib import Path

import numpy as np
import pytest

from gaploop.core import (
    Attempts,
    InputError,
    Knob,
    KnobError,
    KnobSpace,
    Prior,
    Target,
)
from gaploop.sim import World
from gaploop.sim.scenario import compare
from gaploop.tasks.peg import Peg


def _knob(name: str, *paths: str, low: float, high: float, nominal: float = 0.0) -> Knob:
    return Knob(
        name=name, gap="execution", unit="1", nominal=nominal, prior=Prior(low=low, high=high),
        targets=tuple(Target(path=p) for p in paths),
    )  # fmt: skip


EFFECTS = (
    _knob("jitter", "action:jitter", low=0.0, high=0.05),
    _knob("lost", "action:lost", low=0.0, high=0.3),
    _knob("deadband", "action:deadband", low=0.0, high=1e-3),
    _knob("backlash", "action:backlash[0]", "action:backlash[1]", low=0.0, high=5e-4),
    _knob("limit", "action:limit", low=0.03, high=0.1, nominal=0.1),
    _knob("speed", "action:rate", low=0.05, high=1.0, nominal=1.0),
    _knob("latency", "sensor:hole.latency", low=0.0, high=0.1),
    _knob("rate", "sensor:q.rate", low=5.0, high=50.0, nominal=20.0),
    _knob("dropout", "sensor:q.dropout", low=0.0, high=0.5),
    _knob("step", "sensor:q.step", low=0.0, high=1e-4),
    _knob("drift", "sensor:hole.drift[0]", low=-1e-3, high=1e-3),
    _knob("spread", "sensor:hole.spread", low=0.0, high=1e-3),
    _knob("scale", "sensor:q.scale[0]", low=0.9, high=1.1, nominal=1.0),
    _knob("coulomb", "effect:stribeck.coulomb", low=0.0, high=0.3),
    _knob("static", "effect:stribeck.static", low=0.3, high=0.8, nominal=0.3),
    _knob("push", "effect:push.force[0]", low=-1.0, high=1.0),
    _knob("push_length", "effect:push.length", low=0.0, high=0.5),
    _knob("tilt", "opt:gravity[0]", low=-0.2, high=0.2),
)


@pytest.fixture(scope="module")
def world() -> World:
    """The peg with every effect on top of its own knobs."""
    peg = Peg()
    return World(peg, space=KnobSpace(knobs=(*peg.spec.knobs.knobs, *EFFECTS)))


@pytest.fixture(scope="module")
def attempts(world: World) -> Attempts:
    """A mixture: every knob drawn, but half of the effects off in every attempt."""
    rng = np.random.default_rng(3)
    knobs = world.space.sample(rng, 24)
    off = rng.random(knobs.shape) < 0.5
    return world.attempts(24, 5, knobs=np.where(off, world.space.nominal, knobs))


@pytest.mark.parametrize("i", [0, 7, 23])
def test_one_attempt_alone_is_bit_equal_to_its_run_in_a_batch(world, attempts, i):
    whole = world.rollout(attempts, world.task.expert())
    alone = world.rollout(attempts.take(np.array([i])), world.task.expert())
    for name, values in whole.truth.items():
        assert np.array_equal(values[:, i], alone.truth[name][:, 0]), name
    for name, values in whole.signals.items():
        assert np.array_equal(values[:, i], alone.signals[name][:, 0]), name


def test_order_and_thread_count_change_no_bit(world, attempts):
    first = world.rollout(attempts, world.task.expert())
    other = World(world.task, threads=3, space=world.space)
    back = np.arange(24)[::-1]
    second = other.rollout(attempts.take(back), other.task.expert())
    assert np.array_equal(first.truth["q"], second.truth["q"][:, back])
    assert np.array_equal(first.signals["hole"], second.signals["hole"][:, back])


def test_replay_of_logged_commands_is_bit_equal(world, attempts):
    logged = world.rollout(attempts, world.task.expert())
    assert compare(logged, world.replay(attempts, logged.command)) == "bit-equal"
    nudged = logged.command.copy()
    nudged[3] += 1e-4
    assert compare(logged, world.replay(attempts, nudged)) == "different"


def test_a_shorter_replay_is_a_prefix(world, attempts):
    logged = world.rollout(attempts, world.task.expert())
    short = world.replay(attempts, logged.command[:10])
    assert np.array_equal(short.signals["q"], logged.signals["q"][:10])


def test_what_one_run_sets_does_not_reach_the_next(world, attempts):
    plain = world.attempts(24, 5)
    fresh = World(world.task, space=world.space).rollout(plain, world.task.expert())
    world.rollout(attempts, world.task.expert())
    assert compare(fresh, world.rollout(plain, world.task.expert())) == "bit-equal"


def test_effects_at_neutral_equal_a_world_without_them(world):
    neutral = world.space.nominal.copy()
    for name, value in {"limit": 10.0, "rate": 1e6, "speed": 1e6, "static": 0.0}.items():
        neutral[world.space.index(name)] = value
    for name in ("push_length", "tilt", "coulomb"):
        neutral[world.space.index(name)] = 0.0
    bare = World(world.task)
    without = bare.rollout(bare.attempts(4, 1), bare.task.expert())
    with_them = world.rollout(world.attempts(4, 1, knobs=neutral), world.task.expert())
    assert compare(without, with_them) == "bit-equal"


def test_attempts_are_a_prefix_of_more(world):
    few, many = world.attempts(3, 9), world.attempts(7, 9)
    assert np.array_equal(few.layout, many.layout[:3])
    assert np.array_equal(few.seeds, many.seeds[:3])
    assert not np.array_equal(few.layout, world.attempts(3, 10).layout)


def test_noise_free_replay_ignores_the_seed(world, attempts):
    logged = world.rollout(attempts, world.task.expert())
    other = Attempts(layout=attempts.layout, knobs=attempts.knobs, seeds=attempts.seeds + 1)
    quiet = [world.replay(a, logged.command, noise=False) for a in (attempts, other)]
    assert compare(quiet[0], quiet[1]) == "bit-equal"
    assert compare(logged, quiet[0]) == "different"


class _Broken:
    """Sends NaN to one attempt."""

    def reset(self, n: int) -> None:
        self.n = n

    def act(self, step, observation, truth):
        command = np.zeros((self.n, 3))
        command[1] = np.nan if step == 4 else 0.0
        return command


def test_a_command_that_is_not_finite_voids_its_attempt_alone():
    world = World(Peg())
    recording = world.rollout(world.attempts(3, 0), _Broken())
    assert recording.void.tolist() == [False, True, False]
    judged = world.task.judge(recording)
    assert not judged.success[1]
    assert not judged.second[1]
    assert judged.tags[1] == "void"


def test_an_unstable_simulation_is_void_and_leaves_no_log_file(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    # a start speed beyond what MuJoCo calls finite: it resets that simulation and goes on
    wild = _knob("wild", "qvel:x", low=-1e12, high=1e12)
    world = World(Peg(), space=KnobSpace(knobs=(wild,)))
    knobs = np.array([[0.0], [1e11], [0.0]])
    attempts = world.attempts(3, 0, knobs=knobs)
    recording = world.rollout(attempts, world.task.expert())
    assert recording.void.tolist() == [False, True, False]
    assert world.task.judge(recording).success.tolist() == [True, False, True]
    assert list(Path(tmp_path).iterdir()) == []
    assert capfd.readouterr() == ("", "")
    # and the next run of the same size starts clean
    healthy = world.rollout(world.attempts(3, 0, knobs=np.array([0.0])), world.task.expert())
    assert not healthy.void.any()


def test_a_delay_beyond_the_buffer_is_refused():
    world = World(Peg())
    knobs = world.space.nominal
    knobs[world.space.index("delay")] = 0.7
    with pytest.raises(KnobError, match=r"action:delay cannot be 0\.7 in attempt 0"):
        world.rollout(world.attempts(2, 0, knobs=knobs), world.task.expert())
    knobs[world.space.index("delay")] = -0.01
    with pytest.raises(KnobError, match=r"from 0 to 0\.5"):
        world.rollout(world.attempts(2, 0, knobs=knobs), world.task.expert())


def test_wrong_shapes_and_values_are_refused():
    world = World(Peg())
    with pytest.raises(InputError, match="shape"):
        world.attempts(2, 0, knobs=np.zeros(3))
    with pytest.raises(InputError, match="cannot be replayed"):
        world.replay(world.attempts(2, 0), np.zeros((44, 3, 3)))
    attempts = world.attempts(2, 0)
    attempts.knobs[1, 0] = np.nan
    with pytest.raises(KnobError, match="'clearance' of attempt 1 is nan"):
        world.rollout(attempts, world.task.expert())


def test_digest_follows_model_and_knobs():
    peg = Peg()
    assert World(peg).digest == World(Peg()).digest
    fewer = KnobSpace(knobs=peg.spec.knobs.knobs[:-1])
    assert World(peg, space=fewer).digest != World(peg).digest
