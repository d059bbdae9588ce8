"""The real lerobot opens what we write, and we read what it writes.

lerobot needs Python 3.12 and a torch of its own, so it lives in an environment beside:
$GAPLOOP_PEERS/lerobot, by default ~/.cache/gaploop-peers/lerobot. The test makes it
where a python3.12 is at hand, some minutes once; otherwise it skips.
"""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import Contract, Episode, Label, Signal, declared
from gaploop.store.datasets import open_dataset, read_dataset, write_dataset

pytestmark = [pytest.mark.interop, pytest.mark.slow]
HERE = Path(__file__).parent


def python312() -> str | None:
    """A Python 3.12: on the path, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    inside = sorted(pyenv.glob("3.12.*/bin/python3.12"))
    found = [*map(str, inside), shutil.which("python3.12")]
    for candidate in filter(None, found):
        # a shim answers to the name and may have nothing behind it
        if subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


@pytest.fixture(scope="module")
def lerobot() -> Path:
    """The Python of the environment that holds lerobot."""
    peers = Path(os.environ.get("GAPLOOP_PEERS", Path.home() / ".cache" / "gaploop-peers"))
    folder = peers / "lerobot"
    if not (folder / "ready").exists():
        python = python312()
        if python is None:
            pytest.skip(f"no lerobot in {folder}, and no python3.12 to install it with")
        command = ["sh", str(HERE / "setup_lerobot.sh"), str(folder), python]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"lerobot could not be installed: {done.stderr[-300:]}")
    return folder / "bin" / "python"


def run(python: Path, script: str, *arguments: Path, home: Path) -> None:
    environment = {
        **os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "HF_LEROBOT_HOME": str(home),
        "HF_DATASETS_CACHE": str(home / "datasets"),
    }  # fmt: skip
    environment.pop("PYTHONPATH", None)
    command = [str(python), str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]


def episodes(n: int, steps: int) -> list[Episode]:
    made: list[Episode] = []
    for index in range(n):
        rng = np.random.default_rng(index)
        length = steps + index % 3
        times = np.arange(length) / 20

        def signal(
            name: str, values: np.ndarray, times: np.ndarray = times, columns: tuple[str, ...] = ()
        ) -> Signal:
            return Signal(name=name, unit="m", columns=columns, times=times, values=values)

        signals = [
            signal("observation.state", rng.normal(size=(length, 3)), columns=("x", "y", "z")),
            signal("observation.environment_state", rng.normal(size=(length, 2))),
            signal("action", rng.normal(size=(length, 3)).astype(np.float32)),
            signal("frame_weight", rng.random(length)),
            signal("stage", rng.integers(0, 5, length)),
            signal("next.success", np.arange(length) == index),
        ]
        made.append(
            Episode(
                signals={s.name: s for s in signals},
                contract=Contract(log_rate=declared(20.0)),
                instruction=f"put peg {index % 2} into its hole",
                facts=(Label(subject="", key="outcome", value={"success": True}, author="t"),),
            )
        )
    return made


def test_lerobot_opens_ours(lerobot: Path, tmp_path: Path) -> None:
    ours = episodes(130, steps=40)  # more than one row group
    write_dataset(tmp_path / "d", ours, fps=20, robot="gantry")
    run(lerobot, "open_with_lerobot.py", tmp_path / "d", tmp_path / "out.npz", home=tmp_path)
    with np.load(tmp_path / "out.npz") as theirs:
        assert (theirs["fps"], theirs["episodes"], theirs["robot"]) == (20, 130, "gantry")
        for key in ours[0].signals:
            values = np.concatenate([e.signals[key].values for e in ours])
            if values.dtype.kind == "f":
                values = values.astype(np.float32)
            np.testing.assert_array_equal(theirs[key], values)
            assert theirs[key].dtype == values.dtype
        lengths = [len(e.signals["action"].times) for e in ours]
        np.testing.assert_array_equal(theirs["starts"], np.cumsum([0, *lengths[:-1]]))
        np.testing.assert_array_equal(
            theirs["frame_index"], np.concatenate([np.arange(n) for n in lengths])
        )
        np.testing.assert_array_equal(theirs["episode_index"], np.repeat(np.arange(130), lengths))
        np.testing.assert_array_equal(theirs["index"], np.arange(sum(lengths)))
        np.testing.assert_array_equal(
            theirs["timestamp"], (theirs["frame_index"] / 20).astype(np.float32)
        )
        texts = np.repeat([e.instruction for e in ours], lengths)
        np.testing.assert_array_equal(theirs["task"], texts)
        np.testing.assert_array_equal(theirs["chunk"], ours[0].signals["action"].values[:4])
        every = np.concatenate([e.signals["action"].values for e in ours]).astype(float)
        np.testing.assert_allclose(theirs["stats/action/mean"], every.mean(0), rtol=1e-12)
        np.testing.assert_allclose(theirs["stats/action/q99"], np.quantile(every, 0.99, axis=0))


def test_we_read_lerobots(lerobot: Path, tmp_path: Path) -> None:
    run(lerobot, "write_with_lerobot.py", tmp_path / "d", home=tmp_path)
    dataset = open_dataset(tmp_path / "d")
    assert list(dataset.info.cameras) == ["observation.images.top"]
    assert (dataset.info.fps, dataset.info.robot, len(dataset)) == (30.0, "so101", 4)
    rng = np.random.default_rng(5)
    for index, episode in enumerate(read_dataset(tmp_path / "d")):
        assert episode.instruction == f"task {index % 2}"
        assert episode.success is (index == 2)
        np.testing.assert_array_equal(episode.signals["action"].times, np.arange(5 + index) / 30)
        for row in range(5 + index):
            for key, width in (("observation.state", 3), ("action", 2)):
                expected = rng.normal(size=width).astype(np.float32)
                np.testing.assert_array_equal(episode.signals[key].values[row], expected)
            rng.integers(255, size=(8, 8, 3), dtype=np.uint8)  # the picture, which is not read
    assert episode.signals["observation.state"].columns == ("x", "y", "z")
