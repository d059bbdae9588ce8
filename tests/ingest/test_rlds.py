"""RLDS without TensorFlow: numbers exact, damage named by byte, leakage between splits seen."""

import contextlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaploop.core import InputError, Loss
from gaploop.ingest import check
from gaploop.ingest.readers.rlds import RldsReader, oxe
from gaploop.ingest.readers.rlds.crc import crc32c, masked
from gaploop.ingest.readers.rlds.example import parse
from gaploop.store.datasets import read_dataset, write_dataset
from gaploop.testing.readers import check_reader


def varint(n: int) -> bytes:
    n &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def block(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def message(values: Mapping[str, Any]) -> bytes:
    """An Example: lists of bytes, of floats (as float32) or of int."""
    entries = b""
    for name, value in values.items():
        if len(value) and isinstance(value[0], bytes):
            feature = block(1, b"".join(block(1, v) for v in value))
        elif np.asarray(value).dtype.kind == "f":
            feature = block(2, block(1, np.asarray(value, "<f4").tobytes()))
        else:
            feature = block(3, block(1, b"".join(varint(int(v)) for v in value)))
        entries += block(1, block(1, name.encode()) + block(2, feature))
    return block(1, entries)


def record(content: bytes) -> bytes:
    head = struct.pack("<Q", len(content))
    return head + struct.pack("<I", masked(head)) + content + struct.pack("<I", masked(content))


def steps(seed: int, length: int = 20, reward: float = 1.0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    rewards = np.zeros(length)
    rewards[-1] = reward
    return {
        "steps/action": rng.standard_normal(length * 7).astype(np.float32),
        "steps/observation/state": rng.standard_normal(length * 3).astype(np.float32),
        "steps/reward": rewards,
        "steps/is_first": [int(i == 0) for i in range(length)],
        "steps/language_instruction": [b"put it down"] * length,
        "steps/language_embedding": rng.standard_normal(length * 16).astype(np.float32),
        "episode_metadata/episode_id": [seed],
    }


def write(folder: Path, splits: Mapping[str, list[int]], name: str = "mine") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dataset_info.json").write_text(json.dumps({"name": name}))
    for split, seeds in splits.items():
        content = b"".join(record(message(steps(s))) for s in seeds)
        (folder / f"{name}-{split}.tfrecord-00000-of-00001").write_bytes(content)
    return folder


def test_known_checksums() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # RFC 3720, B.4, as those below
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43


@given(st.binary(max_size=5000), st.integers(0, 4999))
def test_long_and_short_ways_agree(content: bytes, cut: int) -> None:
    whole = content * 3
    assert crc32c(whole) == crc32c(memoryview(whole))
    table_way = crc32c(whole[: min(cut, 1023)])
    padded = whole[: min(cut, 1023)]
    state = 0xFFFFFFFF
    for byte in padded:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    assert table_way == state ^ 0xFFFFFFFF


@pytest.mark.parametrize("size", [1024, 1025, 4099])
def test_strips_are_joined_right(size: int) -> None:
    content = np.random.default_rng(size).bytes(size)
    state = 0xFFFFFFFF
    for byte in content:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    assert crc32c(content) == state ^ 0xFFFFFFFF


@given(
    floats=st.lists(st.floats(width=32, allow_nan=False), max_size=30),
    whole=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30),
    texts=st.lists(st.binary(max_size=20), min_size=1, max_size=5),
)
def test_values_come_back(floats: list[float], whole: list[int], texts: list[bytes]) -> None:
    found = parse(message({"f": np.array(floats, np.float32), "i": whole, "b": texts}))
    assert np.array_equal(found["f"], np.array(floats, np.float32))
    assert np.asarray(found["i"]).tolist() == whole
    assert found["b"] == texts


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_refused(content: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(parse(content), dict)


def test_episodes_and_what_is_said_of_them(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine" / "1.0.0", {"train": [1, 2], "val": [3]})
    episodes = list(RldsReader().read(folder))
    assert [e.fact("split") for e in episodes] == ["train", "train", "val"]
    first, told = episodes[0], steps(1)
    assert np.array_equal(first.signals["action"].values, told["steps/action"].reshape(20, 7))
    assert first.instruction == "put it down"
    assert first.success is True
    assert "language_embedding" not in first.signals
    assert list(RldsReader().read(folder.parent))[2].id == episodes[2].id
    assert check(folder).episodes == 3


def test_the_kit(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", {"train": [1, 2]})
    assert len(check_reader(RldsReader(), folder)) == 2


def test_a_damaged_record_is_lost_alone(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", {"train": [1, 2, 3]})
    path = folder / "mine-train.tfrecord-00000-of-00001"
    content = bytearray(path.read_bytes())
    size = len(content) // 3
    content[size + 200] ^= 1
    path.write_bytes(content)
    found = list(RldsReader().salvage(folder))
    assert [type(f).__name__ for f in found] == ["Episode", "Loss", "Episode"]
    assert isinstance(found[1], Loss)
    assert (found[1].lost, found[1].kept) == (1, 1)
    with pytest.raises(InputError, match="checksum of record 1 is wrong"):
        list(RldsReader().read(folder))
    path.write_bytes(content[: 2 * size + 50])
    last = list(RldsReader().salvage(folder))[-1]
    assert isinstance(last, Loss)
    assert last.lost_bytes == 50
    assert check(folder).findings[0].code == "truncated_file"


def test_a_length_that_lies_is_no_reason_to_allocate(tmp_path: Path) -> None:
    head = struct.pack("<Q", 1 << 31)
    path = tmp_path / "x-train.tfrecord-00000-of-00001"
    path.write_bytes(record(message(steps(1))) + head + struct.pack("<I", masked(head)) + b"x")
    found = list(RldsReader().salvage(path))
    assert isinstance(found[1], Loss)
    assert "is cut" in found[1].reason


def test_into_a_dataset_without_losing_a_bit(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", {"train": [1, 2]})
    episodes = list(RldsReader().read(folder))
    write_dataset(tmp_path / "v3", episodes, fps=1.0, robot="mine")
    for ours, theirs in zip(read_dataset(tmp_path / "v3"), episodes, strict=True):
        assert ours.id == theirs.id
        for key in ("action", "observation.state"):
            assert np.array_equal(ours.signals[key].values, theirs.signals[key].values)


def test_published_conventions() -> None:
    assert len(oxe.known()) == 58
    assert oxe.statements("bc_z")["gripper_polarity"].value == "1 = closed"
    assert oxe.statements("nobody knows it") == {}
    assert oxe.statements("gnm_dataset")["action_space"].value == "base"


def test_real_bridge_data(data: Path) -> None:
    report = check(data / "bridge_rlds")
    found = {f.code: f for f in report.findings}
    assert (report.episodes, report.frames) == (50, 500)
    assert found["leakage"].episodes == tuple(range(25, 50))
    assert len(found["missing_outcome"].episodes) == 50
    assert {f.code for f in report.findings if f.severity != "info"} == {
        "leakage", "missing_outcome",
    }  # fmt: skip
    episode = next(iter(RldsReader().read(data / "bridge_rlds")))
    assert episode.contract.action_mode.value == "delta"
    assert episode.contract.log_rate.value == 5.0
    assert episode.signals["action"].columns == oxe.POSE
    pytest.importorskip("av", reason="pictures need the extra video")
    frames = list(episode.cameras["observation.images.image_0"].frames())
    assert len(frames) == len(episode.signals["action"].times)
    assert frames[0].shape == (64, 64, 3)
