import dataclasses
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from gaploop.core import ContractError, InputError, UsageError, generator
from gaploop.policies import ChunkRunner, check_fit, check_golden, load_policy, policy_digest
from gaploop.store.datasets import write_dataset
from gaploop.train import TrainConfig, fit_policy, train

SMALL = TrainConfig(steps=60, batch=64, width=32, lr=3e-3, held_out=0.2)


@pytest.fixture(scope="module")
def trained(demos, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained") / "policy"
    return fit_policy([demos.episodes], [1.0], demos.spec, SMALL, 3, out)


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def test_the_policy_fits_its_task_and_runs_as_it_was_trained(trained, demos):
    policy = load_policy(trained.folder)
    assert check_fit(policy.contract, demos.spec) == ()
    assert check_golden(policy) == trained.golden_error
    assert trained.golden_error <= policy.contract.golden.tolerance
    assert len(policy.contract.golden.observations) == SMALL.golden
    assert trained.policy == policy_digest(trained.folder)
    recording = demos.world.rollout(demos.attempts, ChunkRunner(policy))
    assert np.isfinite(recording.command).all()


def test_the_contract_says_what_it_was_made_of(trained, demos):
    contract = load_policy(trained.folder).contract
    assert contract.columns == demos.spec.frame_columns
    assert (contract.history, contract.chunk, contract.execute) == (4, 16, 8)
    assert contract.contract.control_rate.value == 20.0
    assert contract.provenance["episodes"] == "24"
    assert contract.provenance["real episodes"] == "0"
    assert contract.provenance["datasets"] == trained.sources[0].dataset
    assert contract.versions["torch"] == torch.__version__
    newest = demos.recording.signals["q"].reshape(-1, 3)
    np.testing.assert_allclose(contract.input_mean[:3], newest.mean(0), atol=4e-3)
    assert len(contract.input_std) == len(contract.columns)


def test_the_report_is_consistent(trained):
    assert [e.step for e in trained.curve] == [10, 20, 30, 40, 50, 60]
    assert trained.curve[-1].train < trained.curve[0].train / 2
    assert trained.train_loss < trained.curve[0].train
    assert trained.held_out_loss == trained.curve[-1].held_out
    assert len(trained.held_out_rms) == 3
    (source,) = trained.sources
    assert (source.episodes, source.real, source.frames, source.share) == (24, 0, 24 * 44, 1.0)
    assert source.epochs == pytest.approx(60 * 64 / (24 * 44))
    assert trained.episodes == 24


def test_the_same_seed_is_the_same_bytes_and_another_is_not(trained, demos, tmp_path):
    again = fit_policy([demos.episodes], [7.0], demos.spec, SMALL, 3, tmp_path / "again")
    assert files(again.folder) == files(trained.folder)
    assert again.curve == trained.curve
    other = fit_policy([demos.episodes], [1.0], demos.spec, SMALL, 4, tmp_path / "other")
    assert other.policy != trained.policy


def test_torch_is_left_as_it_was(demos, tmp_path):
    torch.manual_seed(5)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    fit_policy(
        [demos.episodes], [1.0], demos.spec, dataclasses.replace(SMALL, steps=2), 0, tmp_path / "p"
    )
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert torch.is_grad_enabled()


def test_folders_give_the_policy_that_memory_gives(trained, demos, tmp_path):
    write_dataset(tmp_path / "demos", demos.episodes, fps=20, robot="gantry")
    read = train([tmp_path / "demos"], [1.0], demos.spec, SMALL, 3, tmp_path / "policy")
    mine = (trained.folder / "policy.onnx").read_bytes()
    assert (read.folder / "policy.onnx").read_bytes() == mine


def test_a_folder_with_nan_is_refused_before_anything_is_written(demos, change, tmp_path):
    values = demos.episodes[1].signals["observation.state"].values.copy()
    values[7, 0] = np.nan
    bad = change(demos.episodes[1], "observation.state", values=values)
    with pytest.raises(InputError, match="nan at row 7"):
        fit_policy([[demos.episodes[0], bad]], [1.0], demos.spec, SMALL, 0, tmp_path / "p")
    assert not list(tmp_path.iterdir())


def test_weights_are_shares_of_the_batches(world, demos, make_demos, tmp_path):
    """A dataset of a sixth of the size and thrice the weight is three quarters of the batches."""
    few = make_demos(world, 4, 11).episodes
    report = fit_policy(
        [demos.episodes, few], [1.0, 3.0], demos.spec,
        dataclasses.replace(SMALL, steps=2), 0, tmp_path / "p",
    )  # fmt: skip
    assert [s.share for s in report.sources] == [0.25, 0.75]
    assert report.sources[1].epochs == pytest.approx(18 * report.sources[0].epochs)
    contract = load_policy(report.folder).contract
    assert contract.provenance["shares"] == "0.2500 0.7500"


def test_windows_are_drawn_in_those_shares():
    from gaploop.train.stage import _share

    class Part(list):
        pass

    kept = np.array([False, True, False, False, False])
    share = _share([Part([0, 1]), Part([0, 1, 2])], [1.0, 3.0], kept)
    np.testing.assert_allclose(share, [0.25, 0, 0.25, 0.25, 0.25])


def test_real_episodes_are_counted(demos, tmp_path):
    real = [dataclasses.replace(e, world="real") for e in demos.episodes[:3]]
    report = fit_policy(
        [[*demos.episodes[3:], *real]], [1.0], demos.spec,
        dataclasses.replace(SMALL, steps=1), 0, tmp_path / "p",
    )  # fmt: skip
    assert report.sources[0].real == 3
    assert load_policy(report.folder).contract.provenance["real episodes"] == "3"


def test_a_single_episode_is_trained_on_and_nothing_is_held_out(demos, tmp_path):
    report = fit_policy(
        [demos.episodes[:1]], [1.0], demos.spec,
        dataclasses.replace(SMALL, steps=5), 0, tmp_path / "p",
    )  # fmt: skip
    assert math.isnan(report.held_out_loss)
    assert report.held_out_rms == ()


@pytest.mark.parametrize(
    ("sources", "weights", "kind", "message"),
    [
        (0, [], InputError, "without episodes"),
        (1, [1.0, 1.0], UsageError, "expected a positive one each"),
        (1, [0.0], UsageError, "expected a positive one each"),
        (1, [float("nan")], UsageError, "expected a positive one each"),
    ],
)
def test_a_mixture_that_cannot_be(demos, tmp_path, sources, weights, kind, message):
    with pytest.raises(kind, match=message):
        fit_policy(
            [demos.episodes] * sources, weights, demos.spec, SMALL, 0, tmp_path / "p"
        )  # fmt: skip


def test_an_old_policy_is_not_overwritten(trained, demos):
    before = files(trained.folder)
    with pytest.raises(InputError, match="exists already"):
        fit_policy([demos.episodes], [1.0], demos.spec, SMALL, 3, trained.folder)
    assert files(trained.folder) == before


def test_a_policy_of_millimetres_is_refused(demos, change, tmp_path):
    values = 1000 * demos.episodes[0].signals["action"].values
    bad = change(demos.episodes[0], "action", values=values)
    with pytest.raises(ContractError, match="Check the unit"):
        fit_policy([[bad]], [1.0], demos.spec, SMALL, 0, tmp_path / "p")


def test_the_configuration_is_read_without_torch_or_mujoco():
    code = (
        "import sys, gaploop.train, gaploop.policies\n"
        "print([m for m in ('torch', 'mujoco', 'onnx', 'onnxruntime', 'pyarrow') "
        "if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.slow
def test_it_learns_to_insert(world, make_demos, tmp_path):
    """150 demonstrations, default settings: at least 97 % on starts never seen."""
    demos = make_demos(world, 150, 1)
    report = fit_policy([demos.episodes], [1.0], world.spec, TrainConfig(), 0, tmp_path / "p")
    attempts = world.attempts(300, 99)
    runner = ChunkRunner(load_policy(report.folder))
    success = world.task.judge(world.rollout(attempts, runner)).success
    assert success.sum() >= 291


@pytest.mark.slow
def test_history_lets_one_policy_serve_many_worlds(world, make_demos, tmp_path):
    """Trained over delay and gain, it acts in a slow world where a nominal one fails."""
    knobs = np.tile(world.space.nominal, (150, 1))
    draws = world.space.sample(generator(0, "knobs"), 150)
    for name in ("delay", "gain"):
        knobs[:, world.space.index(name)] = draws[:, world.space.index(name)]
    slow = world.space.nominal.copy()
    slow[world.space.index("gain")], slow[world.space.index("delay")] = 0.91, 0.05
    attempts = world.attempts(100, 99, knobs=slow)
    rate = []
    for name, given in (("nominal", None), ("wide", knobs)):
        demos = make_demos(world, 150, 2, given)
        out = tmp_path / name
        report = fit_policy([demos.episodes], [1.0], world.spec, TrainConfig(), 0, out)
        recording = world.rollout(attempts, ChunkRunner(load_policy(report.folder)))
        rate.append(world.task.judge(recording).success.mean())
    assert rate[0] < 0.3
    assert rate[1] > 0.7
