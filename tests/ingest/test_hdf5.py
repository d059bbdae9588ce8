"""HDF5 layouts: order, alignment and outcomes right; cut and lying files refused or salvaged."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from gaploop.core import Episode, InputError, Loss
from gaploop.ingest import check, find_reader
from gaploop.store.datasets import read_dataset, write_dataset
from gaploop.testing.readers import check_reader

h5py = pytest.importorskip("h5py", reason="HDF5 needs the extra hdf5")
from gaploop.ingest.readers.hdf5 import Hdf5Reader, guard  # noqa: E402

MODEL = "<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody></mujoco>"


def _steps(count: int) -> np.ndarray:
    """Row i holds i: an observation that counts its steps shows every shift."""
    return np.arange(count, dtype=np.float64)[:, None]


def write_robomimic(path: Path, demos: int = 12, rows: int = 15) -> Path:
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env_args"] = json.dumps(
            {"env_name": "Lift", "env_kwargs": {"control_freq": 25, "robots": ["Panda"],
             "controller_configs": {"type": "OSC_POSE", "control_delta": True}}}
        )  # fmt: skip
        for n in range(demos):
            demo = data.create_group(f"demo_{n}")
            demo.attrs["model_file"] = MODEL
            demo["actions"] = np.full((rows, 7), float(n)) + _steps(rows)
            demo["states"] = np.concatenate([_steps(rows) / 25, _steps(rows), _steps(rows)], axis=1)
            demo["obs/eef_pos"] = np.repeat(_steps(rows), 3, axis=1)
            demo["obs/image"] = np.zeros((rows, 4, 4, 3), np.uint8)
            demo["rewards"] = (np.arange(rows) == rows - 1) * float(n % 2)
        file["mask/train"] = np.array([f"demo_{n}".encode() for n in range(demos - 2)])
        file["mask/valid"] = np.array([f"demo_{n}".encode() for n in range(demos - 2, demos)])
    return path


def write_maniskill(path: Path, rows: int = 12) -> Path:
    with h5py.File(path, "w") as file:
        for n in (0, 2, 10):
            group = file.create_group(f"traj_{n}")
            group["actions"] = _steps(rows)
            group["obs/agent/qpos"] = _steps(rows + 1)
            group["success"] = np.arange(rows) > (5 if n else rows)
    told = {
        "env_info": {"env_id": "PickCube-v1", "env_kwargs": {"control_freq": 20}},
        "episodes": [{"episode_id": n, "control_mode": "pd_ee_delta_pose"} for n in (0, 2, 10)],
    }
    path.with_suffix(".json").write_text(json.dumps(told))
    return path


def write_droid(path: Path, rows: int = 20) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file["action/joint_position"] = np.repeat(_steps(rows), 7, axis=1)
        file["action/gripper_position"] = _steps(rows) / rows
        file["observation/robot_state/joint_positions"] = np.repeat(_steps(rows), 7, axis=1)
        file["observation/timestamp/control"] = _steps(rows)
    (path.parent / "metadata_x.json").write_text(json.dumps({"current_task": "open the drawer"}))
    return path


def _read(path: Path) -> list[Episode]:
    return list(Hdf5Reader().read(path))


def test_robomimic(tmp_path: Path) -> None:
    path = write_robomimic(tmp_path / "x.hdf5")
    episodes = _read(path)
    # demo_2 before demo_10, which texts would turn round
    assert [e.signals["action"].values[0, 0] for e in episodes] == list(range(12))
    assert [e.success for e in episodes[:2]] == [False, True]
    assert [e.fact("split") for e in episodes[9:]] == ["train", "valid", "valid"]
    first = episodes[0]
    assert first.contract.log_rate.value == 25
    assert first.contract.action_mode.value == "delta"
    assert first.signals["action"].columns[-1] == "gripper"
    assert "observation.image" not in first.signals
    assert find_reader(path).name == "hdf5"


def test_states_can_be_set_in_their_model(tmp_path: Path) -> None:
    episode = _read(write_robomimic(tmp_path / "x.hdf5"))[0]
    mj: Any = mujoco
    model = mj.MjModel.from_xml_string(episode.fact("model")["mjcf"])
    states = episode.signals["simulator_state"].values
    assert states.shape[1] == 1 + model.nq + model.nv


def test_maniskill_has_one_observation_more(tmp_path: Path) -> None:
    """The observation counts steps, so does the action: pair i must hold i twice."""
    episodes = _read(write_maniskill(tmp_path / "x.h5"))
    assert len(episodes) == 3
    for e in episodes:
        action, seen = e.signals["action"], e.signals["observation.agent.qpos"]
        assert (len(action.times), len(seen.times)) == (12, 13)
        assert np.array_equal(action.times, seen.times[:-1])
        assert np.array_equal(action.values, seen.values[:-1])
    assert [e.success for e in episodes] == [False, True, True]
    assert episodes[0].contract.action_space.value == "end_effector"
    assert episodes[0].contract.action_mode.value == "delta"


def test_maniskill_without_the_last_observation_is_lost(tmp_path: Path) -> None:
    path = write_maniskill(tmp_path / "x.h5")
    with h5py.File(path, "a") as file:
        del file["traj_2/obs/agent/qpos"]
        file["traj_2/obs/agent/qpos"] = _steps(12)
    found = list(Hdf5Reader().salvage(path))
    assert [type(f) for f in found] == [Episode, Loss, Episode]
    assert "12 observations for 12 actions" in str(found[1])


def test_molmobot_states_precede_the_next_action(tmp_path: Path) -> None:
    """Stored: action i with the state it led to, i + 1. Read: the state it was chosen on."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["house_1/actions"] = _steps(12)
        file["house_1/obs/qpos"] = _steps(12) + 1
    (episode,) = _read(tmp_path / "x.h5")
    assert np.array_equal(
        episode.signals["action"].values, episode.signals["observation.qpos"].values
    )


def test_droid(tmp_path: Path) -> None:
    write_droid(tmp_path / "success" / "a" / "trajectory.h5")
    write_droid(tmp_path / "failure" / "b" / "trajectory.h5")
    episodes = _read(tmp_path)
    assert [e.success for e in episodes] == [False, True]
    contract = episodes[0].contract
    assert contract.gripper_polarity.value == "1 = closed"
    assert contract.log_rate.value == 15.0
    assert episodes[0].task == "open the drawer"
    assert episodes[0].signals["action"].unit == "rad"
    assert episodes[0].signals["action.gripper_position"].columns == ("gripper",)


def test_into_a_dataset_and_back(tmp_path: Path) -> None:
    episodes = _read(write_robomimic(tmp_path / "x.hdf5", demos=3))
    write_dataset(tmp_path / "v3", episodes, fps=25.0, robot="Panda")
    for ours, theirs in zip(read_dataset(tmp_path / "v3"), episodes, strict=True):
        assert ours.id == theirs.id
        assert len(ours.signals["action"].times) == len(theirs.signals["action"].times)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_cut_file_is_named_and_the_others_read(tmp_path: Path, share: float) -> None:
    write_robomimic(tmp_path / "a.hdf5", demos=2)
    content = write_robomimic(tmp_path / "b.hdf5").read_bytes()
    (tmp_path / "b.hdf5").write_bytes(content[: int(share * len(content))])
    found = list(Hdf5Reader().salvage(tmp_path))
    assert [type(f) for f in found] == [Episode, Episode, Loss]
    assert "b.hdf5: is cut" in str(found[2])
    report = check(tmp_path)
    assert report.episodes == 2
    assert "truncated_file" in {f.code for f in report.findings}
    with pytest.raises(InputError, match="no whole episode"):
        check(tmp_path / "b.hdf5")


def test_links_out_of_the_file_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "secret.bin", "w") as file:
        file["x"] = np.ones((20, 7))
    path = tmp_path / "x.hdf5"
    with h5py.File(path, "w") as file:
        file["data/demo_0/actions"] = h5py.ExternalLink(str(tmp_path / "secret.bin"), "x")
        file["data/demo_1/actions"] = np.ones((20, 7))
    found = list(Hdf5Reader().salvage(path))
    assert [type(f) for f in found] == [Loss, Episode]
    assert "link into another file" in str(found[0])


def test_an_array_that_claims_too_much_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("data/demo_0/actions", shape=(2**31, 7), chunks=(1024, 7), dtype="f8")
        file["data/demo_1/actions"] = np.ones((20, 7))
    found = list(Hdf5Reader().salvage(path))
    assert [type(f) for f in found] == [Loss, Episode]
    assert "claims" in str(found[0])


def test_the_kit(tmp_path: Path) -> None:
    check_reader(Hdf5Reader(), write_robomimic(tmp_path / "x.hdf5", demos=2))


_FLIP = """
import sys, numpy as np
from pathlib import Path
from typing import Any
from gaploop.core import InputError
from gaploop.ingest.readers.hdf5 import Hdf5Reader
source, copy = Path(sys.argv[1]), Path(sys.argv[2])
content, rng = source.read_bytes(), np.random.default_rng(0)
for _ in range(150):
    garbled = bytearray(content)
    for at in rng.integers(len(content), size=int(rng.integers(1, 9))):
        garbled[at] ^= int(rng.integers(1, 256))
    copy.write_bytes(garbled)
    try:
        for _ in Hdf5Reader().salvage(copy): pass
    except InputError: pass
print("done")
"""


def test_flipped_bytes_never_crash(tmp_path: Path) -> None:
    source = write_robomimic(tmp_path / "x.hdf5", demos=2, rows=10)
    ran = subprocess.run(
        [sys.executable, "-c", _FLIP, str(source), str(tmp_path / "y.hdf5")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.stdout.strip() == "done", (ran.returncode, ran.stderr[-500:])


def test_whole_files_lack_nothing(tmp_path: Path) -> None:
    path = write_robomimic(tmp_path / "x.hdf5", demos=1)
    assert guard.missing_bytes(path) == 0
    path.write_bytes(path.read_bytes()[:-7])
    assert guard.missing_bytes(path) == 7


def test_real_demonstrations(data: Path) -> None:
    report = check(data / "robosuite_demos")
    assert (report.format, report.episodes) == ("hdf5", 8)
    assert all(f.severity != "error" for f in report.findings)
    for episode in _read(data / "robosuite_demos"):
        model = episode.fact("model")["mjcf"]
        assert "<mujoco" in model
        states = episode.signals["simulator_state"].values
        assert len(states) == len(episode.signals["action"].times)
        assert episode.contract.action_mode.value == "delta"
