import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.core import ContractError, InputError
from gaploop.policies import ChunkRunner
from gaploop.store.datasets import read_dataset, write_dataset
from gaploop.tasks.peg import Peg
from gaploop.train import windows

SPEC = Peg().spec


class Wobble:
    """A policy that uses all it sees, so that its observations matter."""

    def __init__(self, contract):
        self.contract = contract

    def chunk(self, observation):
        h = self.contract.chunk
        drift = np.linspace(0, 1e-3, h, dtype=np.float32)[None, :, None]
        return observation[:, -8:-5, None].transpose(0, 2, 1) * np.float32(0.9) - drift


def contract_for(spec):
    from gaploop.core import PolicyContract

    return PolicyContract(
        contract=spec.contract, inputs=spec.inputs, columns=spec.frame_columns,
        history=spec.history, chunk=8, execute=3, normaliser="",
    )  # fmt: skip


@pytest.mark.parametrize("stored", [False, True])
def test_a_policy_trains_on_the_very_bits_that_it_is_fed(world, make_log, tmp_path, stored):
    """A rollout with noise and delay; windows from its log, in memory and read from a dataset."""
    knobs = world.space.nominal.copy()
    knobs[world.space.index("delay")] = 0.05
    attempts = world.attempts(5, 7, knobs=knobs)
    runner = ChunkRunner(Wobble(contract_for(world.spec)))
    recording = world.rollout(attempts, runner, observe=True)
    episodes = make_log(world, attempts, recording)
    if stored:
        write_dataset(tmp_path / "log", episodes, fps=20, robot="gantry")
        episodes = list(read_dataset(tmp_path / "log"))
    made = windows(episodes, world.spec, 16)
    fed = recording.observation.transpose(1, 0, 2).reshape(len(made), -1)
    assert recording.observation.dtype == made.obs.dtype == np.float32
    assert np.array_equal(made.obs, fed)
    assert np.array_equal(made.chunks[:, 0], recording.command.transpose(1, 0, 2).reshape(-1, 3))


def test_the_expert_too(demos):
    made = windows(demos.episodes, demos.spec, 16)
    fed = demos.recording.observation.transpose(1, 0, 2).reshape(len(made), -1)
    assert np.array_equal(made.obs, fed)


@given(steps=st.integers(1, 30), chunk=st.integers(1, 20), seed=st.integers(0, 99))
def test_chunks_hold_what_came_next(make_episode, steps, chunk, seed):
    rng = np.random.default_rng(seed)
    action = rng.uniform(-0.05, 0.01, (steps, 3)).astype(np.float32)
    weight = rng.uniform(0.1, 2, steps).astype(np.float32)
    one = make_episode(
        SPEC,
        {
            "observation.state": rng.normal(size=(steps, 3)),
            "observation.environment_state": rng.normal(size=(steps, 2)),
            "action": action,
            "frame_weight": weight,
        },
    )
    made = windows([one, one], SPEC, chunk, after=0.25)
    assert made.chunks.shape == (2 * steps, chunk, 3)
    for t in range(steps):
        for j in range(chunk):
            at, past = min(t + j, steps - 1), t + j >= steps
            assert np.array_equal(made.chunks[steps + t, j], action[at])
            expected = np.float32(weight[at] * 0.25) if past else weight[at]
            assert made.weights[t, j] == pytest.approx(expected, rel=1e-6)
    assert made.episode.tolist() == [0] * steps + [1] * steps
    assert made.step.tolist() == [*range(steps)] * 2
    frame = made.obs.reshape(2 * steps, SPEC.history, -1)[:, -1]
    assert np.array_equal(frame[1:steps, -3:], action[:-1])
    assert not frame[0, -3:].any()


def test_without_weights_every_frame_counts_once(several, change):
    made = windows([change(e, "frame_weight", values=None) for e in several], SPEC, 4, after=0.0)
    inside = made.step[:, None] + np.arange(4) < 44
    assert np.array_equal(made.weights, inside.astype(np.float32))


def nan_at(signal, row, column):
    values = signal.values.copy()
    values.reshape(len(values), -1)[row, column] = np.nan
    return values


def test_nan_is_refused_with_its_place(several, change):
    for key, column in (("action", 2), ("observation.state", 0), ("frame_weight", 0)):
        values = nan_at(several[2].signals[key], 5, column)
        bad = dataclasses.replace(change(several[2], key, values=values), source="demos, episode 2")
        message = rf"demos, episode 2: '{key}' is nan at row 5, column {column}"
        with pytest.raises(InputError, match=message):
            windows([*several[:2], bad], SPEC, 16)


@pytest.mark.parametrize(
    ("key", "changes", "kind", "message"),
    [
        ("action", {"times": np.empty(0), "values": np.empty((0, 3))}, InputError, "is empty"),
        ("action", {"values": None}, InputError, "has no 'action'.*It has: frame_weight"),
        ("action", {"values": np.zeros((44, 2))}, ContractError, "2 columns, the task expects 3"),
        ("action", {"values": np.full((44, 3), -40.0)}, ContractError, "takes -0.06 to 0.06 m"),
        ("action", {"times": np.arange(44) / 50}, ContractError, "at 50 Hz, .* runs at 20 Hz"),
        ("observation.state", {"columns": ("y", "x", "z")}, ContractError, "columns y, x, z"),
        (
            "observation.state",
            {"times": np.arange(43) / 20, "values": np.zeros((43, 3))},
            InputError,
            "43 rows and 'action' has 44",
        ),
        ("observation.environment_state", {"values": None}, InputError, "which the policy needs"),
        ("frame_weight", {"values": np.zeros(44)}, InputError, "not all zero"),
        ("frame_weight", {"values": np.full(44, -1.0)}, InputError, "none negative"),
    ],
)
def test_data_that_cannot_be_trained_on(several, change, key, changes, kind, message):
    with pytest.raises(kind, match=message):
        windows([change(several[0], key, **changes)], SPEC, 16)


def test_a_command_a_little_outside_is_kept_inside(several, change):
    values = several[0].signals["action"].values.copy()
    values[3, 0] = 0.07
    made = windows([change(several[0], "action", values=values)], SPEC, 1)
    assert made.chunks[3, 0, 0] == np.float32(0.06)


def test_no_episodes():
    with pytest.raises(InputError, match="no episodes of task 'peg'"):
        windows([], SPEC, 16)
