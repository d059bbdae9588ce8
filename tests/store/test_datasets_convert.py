"""v2.1 to v3.0 and back: every number, every frame, every text."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from gaploop.core import InputError
from gaploop.store.datasets import convert_dataset, open_dataset, read_dataset, write_dataset

pytest.importorskip("av", reason="pictures need the extra video")
from tests.store.lerobot_files import number_of, write_v21, write_v30

TOP, WRIST = "observation.images.top", "observation.images.wrist"
LENGTHS = [7, 12, 5]
BOTH = {TOP: "video", WRIST: "image"}


def _tables(folder: Path) -> list:
    return [pq.read_table(p) for p in sorted((folder / "data").glob("*/*.parquet"))]


def _shown(folder: Path) -> list[list[int]]:
    return [
        [number_of(f) for f in e.cameras[key].frames()]
        for e in read_dataset(folder)
        for key in sorted(e.cameras)
    ]


def test_there_and_back_is_bit_equal(tmp_path: Path) -> None:
    old = write_v21(tmp_path / "old", LENGTHS, cameras=BOTH)
    new, again = tmp_path / "new", tmp_path / "again"
    convert_dataset(old, new, "v3.0")
    convert_dataset(new, again, "v2.1")
    for ours, theirs in zip(_tables(again), _tables(old), strict=True):
        assert ours.equals(theirs, check_metadata=True)
    assert [e.id for e in read_dataset(new)] == [e.id for e in read_dataset(old)]
    assert _shown(new) == _shown(old) == _shown(again)
    for name in ("tasks.jsonl", "episodes.jsonl"):
        told = [(f / "meta" / name).read_text().splitlines() for f in (old, again)]
        assert [json.loads(x) for x in told[0]] == [json.loads(x) for x in told[1]]
    for video in sorted((old / "videos").rglob("*.mp4")):
        copy = again / video.relative_to(old)
        assert copy.read_bytes() == video.read_bytes()
    info = json.loads((again / "meta" / "info.json").read_text())
    assert info == json.loads((old / "meta" / "info.json").read_text())


def test_statistics_are_those_of_all_rows(tmp_path: Path) -> None:
    old = write_v21(tmp_path / "old", LENGTHS)
    convert_dataset(old, tmp_path / "new", "v3.0")
    stats = json.loads((tmp_path / "new" / "meta" / "stats.json").read_text())
    rows = np.concatenate([e.signals["action"].values for e in read_dataset(old)]).astype(float)
    np.testing.assert_allclose(stats["action"]["std"], rows.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(stats["action"]["q99"], np.quantile(rows, 0.99, axis=0), rtol=1e-12)


def test_clips_of_one_long_video_are_cut_without_encoding(tmp_path: Path) -> None:
    new = write_v30(tmp_path / "new", [10, 20, 10], cameras={TOP: "video"}, keys=10)
    convert_dataset(new, tmp_path / "old", "v2.1")
    assert _shown(tmp_path / "old") == _shown(new)


def test_a_clip_that_begins_between_key_frames_is_refused(tmp_path: Path) -> None:
    new = write_v30(tmp_path / "new", [10, 15, 10], cameras={TOP: "video"}, keys=50)
    with pytest.raises(InputError, match="frames 10 to 24"):
        convert_dataset(new, tmp_path / "old", "v2.1")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new"], "nothing is left behind"


def test_a_rollover_to_a_second_file_keeps_each_episode_in_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trap of the episode that is written when the file at hand is full."""
    monkeypatch.setattr("gaploop.store.datasets_layout.MEGABYTES_A_FILE", 0)
    old = write_v21(tmp_path / "old", LENGTHS, cameras={WRIST: "image"})
    convert_dataset(old, tmp_path / "new", "v3.0")
    assert len(_tables(tmp_path / "new")) == 3
    assert [e.id for e in read_dataset(tmp_path / "new")] == [e.id for e in read_dataset(old)]
    assert _shown(tmp_path / "new") == _shown(old)


def test_statistics_of_pictures_come_along(tmp_path: Path) -> None:
    old = write_v21(tmp_path / "old", [4, 6], cameras={TOP: "video"})
    path = old / "meta" / "episodes_stats.jsonl"
    lines = [json.loads(x) for x in path.read_text().splitlines()]
    for line, level in zip(lines, (0.25, 0.75), strict=True):
        value = [[[level]]] * 3
        line["stats"][TOP] = {"min": value, "max": value, "mean": value,
                              "std": [[[0.1]]] * 3, "count": [10]}  # fmt: skip
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    convert_dataset(old, tmp_path / "new", "v3.0")
    stats = json.loads((tmp_path / "new" / "meta" / "stats.json").read_text())[TOP]
    assert stats["mean"] == [[[0.5]]] * 3
    assert stats["std"][0][0][0] == pytest.approx(np.hypot(0.1, 0.25))
    convert_dataset(tmp_path / "new", tmp_path / "again", "v2.1")
    told = (tmp_path / "again" / "meta" / "episodes_stats.jsonl").read_text().splitlines()
    assert json.loads(told[1])["stats"][TOP] == lines[1]["stats"][TOP]


def test_our_own_sets_keep_what_they_say(tmp_path: Path, make) -> None:
    write_dataset(tmp_path / "a", make(3), fps=20.0, robot="gantry")
    convert_dataset(tmp_path / "a", tmp_path / "b", "v2.1")
    convert_dataset(tmp_path / "b", tmp_path / "c", "v3.0")
    ours, theirs = list(open_dataset(tmp_path / "c")), list(open_dataset(tmp_path / "a"))
    assert [e.id for e in ours] == [e.id for e in theirs]
    assert [len(e.facts) for e in ours] == [len(e.facts) for e in theirs]


def test_what_exists_is_not_written_over(tmp_path: Path) -> None:
    old = write_v21(tmp_path / "old", LENGTHS)
    with pytest.raises(InputError, match="exists already"):
        convert_dataset(old, old, "v3.0")
    with pytest.raises(InputError, match="is not written"):
        convert_dataset(old, tmp_path / "x", "v1.0")
