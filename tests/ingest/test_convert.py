"""Any log as a dataset: numbers kept, clocks brought together, damage told."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.ingest.ros_files import joint_topics, mcap_bytes

from gaploop.cli import main
from gaploop.core import Contract, Episode, InputError, Label, Signal
from gaploop.ingest.align import on_grid
from gaploop.ingest.convert import convert
from gaploop.store.datasets import read_dataset


def _episode(times: np.ndarray, commands: np.ndarray) -> Episode:
    signals = {
        "action": Signal(
            name="action", unit="rad", columns=("a",), times=commands, values=commands[:, None]
        ),
        "observation.state": Signal(
            name="observation.state", unit="rad", columns=("a",), times=times,
            values=2 * times[:, None],
        ),
        "observation.mode": Signal(
            name="observation.mode", unit="1", columns=("m",), times=commands,
            values=np.arange(len(commands))[:, None],
        ),
    }  # fmt: skip
    bare = Episode(signals=signals, contract=Contract(), source="made up")
    fact = Label(subject=bare.id, key="intervention", value={}, author="x", span=(0.5, 0.7))
    return Episode(signals=signals, contract=Contract(), source="made up", facts=(fact,))


def test_commands_are_held_and_readings_interpolated() -> None:
    episode = _episode(np.arange(0, 2, 0.013), np.arange(0.1, 1.5, 0.1))
    made = on_grid(episode, 50.0)
    action, state = made.signals["action"], made.signals["observation.state"]
    assert np.allclose(action.times, np.arange(len(action.times)) / 50)
    at = 0.1 + action.times
    assert np.allclose(state.values[:, 0], 2 * at)
    assert np.allclose(action.values[:, 0], np.floor(at * 10 + 1e-6) / 10)
    assert made.signals["observation.mode"].values.dtype.kind == "i"
    assert made.parents == (episode.id,)
    assert made.fact("resampled")["fps"] == 50.0
    span = next(f.span for f in made.facts if f.key == "intervention")
    assert span == pytest.approx((0.4, 0.6))


def test_what_lies_on_the_grid_comes_back_as_it_is() -> None:
    times = np.arange(40) / 20
    episode = _episode(times, times)
    assert on_grid(episode, 20.0) is episode


def test_signals_that_do_not_overlap_are_refused() -> None:
    episode = _episode(np.arange(10.0), np.arange(50.0, 60.0))
    with pytest.raises(InputError, match=r"overlap from 50.000 s to 9.000 s"):
        on_grid(episode, 10.0)


def test_a_ros_log_becomes_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.mcap"
    content = mcap_bytes(joint_topics())
    path.write_bytes(content[: int(0.8 * len(content))])
    assert main(["convert", str(path), str(tmp_path / "v3"), "--fps", "100", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["format"] == "ros"
    assert len(told["losses"]) == 1
    (episode,) = read_dataset(tmp_path / "v3")
    assert episode.signals["action"].columns == ("shoulder", "elbow", "wrist")
    assert episode.fact("clock")["received_after_s"] == pytest.approx(2e-3)
    assert main(["convert", str(path), str(tmp_path / "v3")]) == 1


def test_tables_keep_double_precision(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((30, 2))
    np.savez(tmp_path / "a.npz", x=x)
    (tmp_path / "gaploop.map.toml").write_text(
        'rate = 50.0\n[signals."observation.state"]\ncolumns = ["x"]\n'
    )
    made = convert(tmp_path / "a.npz", tmp_path / "v3")
    assert (made.episodes, made.frames, made.fps) == (1, 30, 50.0)
    (episode,) = read_dataset(tmp_path / "v3")
    assert np.array_equal(episode.signals["observation.state"].values, x)


@pytest.mark.parametrize(
    ("folder", "frames"), [("bridge_rlds", 500), ("robosuite_demos/lift_1.4.1", 1384)]
)
def test_real_logs_keep_every_number(data: Path, tmp_path: Path, folder: str, frames: int) -> None:
    from gaploop.ingest import find_reader

    made = convert(data / folder, tmp_path / "v3")
    assert made.frames == frames
    source = find_reader(data / folder).read(data / folder)
    for ours, theirs in zip(read_dataset(tmp_path / "v3"), source, strict=True):
        for key, signal in theirs.signals.items():
            assert np.array_equal(ours.signals[key].values, signal.values), key
