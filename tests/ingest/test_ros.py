"""ROS logs: every number exact, whatever is cut; what is not understood is named."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ingest.ros_files import (
    JOINT_TYPE,
    JOINTS,
    NAMES,
    START,
    Cdr,
    bag_bytes,
    joint_state,
    joint_topics,
    mcap_bytes,
    motion,
    write_db3,
)

from gaploop.core import Episode, InputError, Loss
from gaploop.ingest import check
from gaploop.ingest.readers.ros import RosReader, layout, schema
from gaploop.testing.readers import check_reader


def _one(path: Path) -> Episode:
    (episode,) = RosReader().read(path)
    return episode


def _is_joints(episode: Episode, count: int = 50) -> None:
    state = episode.signals["observation.state"]
    assert state.columns == NAMES
    assert state.unit == "rad"
    assert np.array_equal(state.values, motion(count))
    assert np.allclose(state.times, np.arange(count) / 100, atol=1e-9)
    assert np.array_equal(episode.signals["observation.velocity"].values, 2 * motion(count))


@pytest.mark.parametrize("compression", ["", "zstd", "lz4"])
@pytest.mark.parametrize("a_chunk", [20, 0])
def test_mcap(tmp_path: Path, compression: str, a_chunk: int) -> None:
    if compression:
        pytest.importorskip({"zstd": "zstandard", "lz4": "lz4"}[compression])
    path = tmp_path / "x.mcap"
    path.write_bytes(mcap_bytes(joint_topics(), compression=compression, a_chunk=a_chunk))
    episode = _one(path)
    _is_joints(episode)
    assert np.array_equal(episode.signals["action"].values, motion(50, 1))
    role = episode.contract.feature("action")
    assert role is not None
    assert role.role.value == "joint_command"
    clock = next(f.value for f in episode.facts if f.key == "clock")
    assert clock["received_after_s"] == pytest.approx(2e-3)
    assert abs(clock["drift_ppm"]) < 1


@pytest.mark.parametrize("definitions", [True, False])
def test_rosbag2_in_sqlite(tmp_path: Path, definitions: bool) -> None:
    path = write_db3(tmp_path / "x.db3", joint_topics(), definitions=definitions)
    _is_joints(_one(path))
    assert [p.name for p in tmp_path.iterdir()] == ["x.db3"], "nothing is written beside it"


@pytest.mark.parametrize("compression", ["none", "bz2"])
def test_ros1_bags(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "x.bag"
    path.write_bytes(bag_bytes(compression=compression))
    _is_joints(_one(path))


def test_a_split_bag_is_one_episode(tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text("rosbag2_bagfile_information: {}\n")
    halves = [
        [(*t[:5], t[5][:25]) for t in joint_topics()],
        [(*t[:5], t[5][25:]) for t in joint_topics()],
    ]
    for i, half in enumerate(halves):
        (tmp_path / f"x_{i}.mcap").write_bytes(mcap_bytes(half))
    _is_joints(_one(tmp_path))


def test_shapes_that_change_are_kept_apart(tmp_path: Path) -> None:
    """Other joints in one message: the usual shape is read, and it alone."""
    content = [(START + i * 10**7, joint_state(START + i * 10**7, p))
               for i, p in enumerate(motion(30))]  # fmt: skip
    content[7] = (START + 7 * 10**7, joint_state(START, [1.0], names=["other"]))
    path = tmp_path / "x.mcap"
    path.write_bytes(mcap_bytes([("/joint_states", JOINT_TYPE, JOINTS, "ros2msg", "cdr", content)]))
    state = _one(path).signals["observation.state"]
    assert np.array_equal(state.values, np.delete(motion(30), 7, axis=0))
    assert 0.07 not in state.times.round(9)


def test_json_and_protobuf(tmp_path: Path) -> None:
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    files = descriptor_pb2.FileDescriptorSet()
    file = files.file.add(name="x.proto", package="demo", syntax="proto3")
    kind = file.message_type.add(name="Pose")
    kind.field.add(name="x", number=1, type=1, label=1)
    kind.field.add(name="q", number=2, type=1, label=3)
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    cls = message_factory.GetMessageClass(pool.FindMessageTypeByName("demo.Pose"))
    told = [(START + i * 10**7, {"x": i / 3, "q": [i, i + 1.5]}) for i in range(15)]
    topics = [
        ("/j", "demo.Pose", "{}", "jsonschema", "json",
         [(t, json.dumps(v | {"who": "me"}).encode()) for t, v in told]),
        ("/p", "demo.Pose", files.SerializeToString(), "protobuf", "protobuf",
         [(t, cls(**v).SerializeToString()) for t, v in told]),
    ]  # fmt: skip
    path = tmp_path / "x.mcap"
    path.write_bytes(mcap_bytes(topics))
    episode = _one(path)
    expected = np.array([[v["x"], *v["q"]] for _, v in told])
    for name in ("j", "p"):
        signal = episode.signals[f"observation.{name}"]
        assert np.array_equal(signal.values, expected)
        assert signal.columns == ("x", "q[0]", "q[1]")


def test_an_unknown_type_is_named_and_the_rest_read(tmp_path: Path) -> None:
    odd = [
        ("/mine", "my_msgs/msg/Odd", "", "", "cdr", [(START + 2_000_000, b"\0\1\0\0abc")]),
        ("/other", "x", "", "", "secret", [(START + 2_000_000, b"abc")]),
    ]
    path = tmp_path / "x.mcap"
    path.write_bytes(mcap_bytes([*joint_topics(), *odd]))
    found = list(RosReader().salvage(path))
    losses = [f for f in found if isinstance(f, Loss)]
    assert ["/mine" in str(x) for x in losses] == [True, False]
    assert "secret" in losses[1].reason
    _is_joints(next(f for f in found if isinstance(f, Episode)))
    codes = {f.code for f in check(path).findings}
    assert "not_read" in codes
    assert "truncated_file" not in codes


@pytest.mark.parametrize("a_chunk", [20, 0])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_cut_file_gives_all_that_is_whole(tmp_path: Path, a_chunk: int, share: float) -> None:
    content = mcap_bytes(joint_topics(), a_chunk=a_chunk)
    path = tmp_path / "x.mcap"
    path.write_bytes(content[: int(share * len(content))])
    found = list(RosReader().salvage(path))
    loss = next(f for f in found if isinstance(f, Loss))
    episode = next(f for f in found if isinstance(f, Episode))
    state = episode.signals["observation.state"].values
    assert len(state) > 0.8 * share * 50 - 2, "messages in front of the cut are there"
    assert np.array_equal(state, motion(50)[: len(state)])
    assert loss.lost_bytes > 0
    with pytest.raises(InputError, match="cut"):
        list(RosReader().read(path))


def test_a_cut_bag_gives_its_whole_chunks(tmp_path: Path) -> None:
    content = bag_bytes(compression="bz2")
    path = tmp_path / "x.bag"
    path.write_bytes(content[: int(0.9 * len(content))])
    found = list(RosReader().salvage(path))
    assert any(isinstance(f, Loss) for f in found)
    episode = next(f for f in found if isinstance(f, Episode))
    assert len(episode.signals["observation.state"].values) == 40


def test_a_wrong_checksum_loses_its_chunk(tmp_path: Path) -> None:
    content = bytearray(mcap_bytes(joint_topics()))
    content[len(content) // 2] ^= 0x10
    path = tmp_path / "x.mcap"
    path.write_bytes(content)
    loss = next(f for f in RosReader().salvage(path) if isinstance(f, Loss))
    assert "checksum" in loss.reason


@pytest.mark.parametrize("name", ["x.mcap", "x.bag", "x.db3"])
def test_the_kit(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("db3"):
        write_db3(path, joint_topics(20))
    else:
        path.write_bytes(mcap_bytes(joint_topics(20)) if name.endswith("mcap") else bag_bytes(20))
    check_reader(RosReader(), path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_garbled_bytes_never_crash(tmp_path_factory, data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(_SMALL)))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "garbled.bag"
    path.write_bytes(content)
    try:
        for _ in RosReader().salvage(path):
            pass
    except InputError as error:
        assert len(str(error)) < 1000  # noqa: PT017


_SMALL = (mcap_bytes(joint_topics(6)), mcap_bytes(joint_topics(6), a_chunk=0), bag_bytes(6))


@given(
    texts=st.lists(st.text(max_size=6), max_size=3),
    doubles=st.lists(st.floats(allow_nan=False), max_size=5),
    small=st.integers(0, 255),
)
def test_cdr_numbers_come_back_wherever_they_lie(
    texts: list[str], doubles: list[float], small: int
) -> None:
    types = schema.parse("a/B", "string[] t\nuint8 s\nfloat64[] d\nint16 last")
    w = Cdr()
    w.number("I", len(texts))
    for text in texts:
        w.text(text)
    w.number("B", small)
    w.doubles(doubles)
    w.number("h", -5)
    groups, bad = layout.decode([bytes(w.out)] * 3, types, "a/B", ros1=False)
    assert not bad
    (group,) = groups
    assert group.columns["s"].tolist() == [[small]] * 3
    assert group.columns["last"].tolist() == [[-5]] * 3
    if doubles:
        assert group.columns["d"].tolist() == [doubles] * 3


def test_definitions_with_constants_bounds_and_fixed_arrays() -> None:
    text = (
        "# a comment\nint8 ON=1\nstring NAME = 'x'\nfloat64[3] fixed\nint32[<=4] bounded\n"
        "string<=8 short 'd'\nInner one\n===\nMSG: a/Inner\nbool b true\n"
    )
    fields = schema.parse("a/msg/B", text)["a/B"]
    assert [(f.name, f.type, f.array, f.size) for f in fields] == [
        ("fixed", "float64", True, 3),
        ("bounded", "int32", True, 0),
        ("short", "string", False, 0),
        ("one", "a/Inner", False, 0),
    ]
    with pytest.raises(ValueError, match="not defined"):
        schema.parse("a/B", "Nobody x")
    with pytest.raises(ValueError, match="no member"):
        schema.parse("a/B", "!!")


def test_real_rosbag2_files(data: Path) -> None:
    report = check(data / "rosbag2")
    assert report.episodes == 4
    found = next(f for f in report.findings if f.code == "not_read")
    assert "wrong_format" in found.message
    assert "truncated_file" not in {f.code for f in report.findings}
    episodes = [e for e in RosReader().salvage(data / "rosbag2") if isinstance(e, Episode)]
    talker = next(e for e in episodes if "talker" in e.source)
    assert {f.value["text"] for f in talker.facts if f.key == "event"} >= {"Hello, world! 5"}
