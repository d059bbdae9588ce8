"""Histories are the same bits in a rollout, in training data and in a runner."""

import numpy as np

from gaploop.sim import ObservationBuilder, World, frames, frames_to_history
from gaploop.tasks.peg import Peg


def test_rollout_and_recorded_logs_give_the_same_histories():
    world = World(Peg())
    knobs = world.space.sample(np.random.default_rng(0), 5)
    recording = world.rollout(world.attempts(5, 0, knobs=knobs), world.task.expert(), observe=True)
    single = {k: v.astype(np.float32) for k, v in recording.signals.items()}
    built = frames_to_history(
        frames(world.spec, single, recording.command.astype(np.float32)), world.spec.history
    )
    assert recording.observation is not None
    assert built.dtype == recording.observation.dtype == np.float32
    assert np.array_equal(built, recording.observation)


def test_the_first_frame_stands_in_for_what_was_before():
    values = np.arange(12.0, dtype=np.float32).reshape(6, 1, 2)
    history = frames_to_history(values, 3)
    assert history[0, 0].tolist() == [0, 1, 0, 1, 0, 1]
    assert history[1, 0].tolist() == [0, 1, 0, 1, 2, 3]
    assert history[5, 0].tolist() == [6, 7, 8, 9, 10, 11]


def test_frames_hold_the_command_before_and_zeros_at_first():
    spec = Peg().spec
    signals = {"q": np.ones((3, 1, 3)), "hole": np.full((3, 1, 2), 2.0)}
    command = np.arange(1.0, 10.0).reshape(3, 1, 3)
    built = frames(spec, signals, command)
    assert built.shape == (3, 1, len(spec.frame_columns))
    assert built[0, 0].tolist() == [1, 1, 1, 2, 2, 0, 0, 0]
    assert built[2, 0, 5:].tolist() == [4, 5, 6]


def test_a_builder_forgets_on_reset():
    builder = ObservationBuilder(Peg().spec)
    reading = {"q": np.ones((2, 3)), "hole": np.ones((2, 2))}
    builder.reset(2)
    first = builder.push(reading, np.zeros((2, 3))).copy()
    builder.push({k: 5 * v for k, v in reading.items()}, np.ones((2, 3)))
    builder.reset(2)
    assert np.array_equal(builder.push(reading, np.zeros((2, 3))), first)
