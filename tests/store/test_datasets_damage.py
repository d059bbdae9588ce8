"""Whatever happens to a file on the way, reading it is an InputError or nothing changed."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gaploop.core import Episode, InputError
from gaploop.store.datasets import read_dataset, write_dataset

Make = Callable[..., list[Episode]]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Cut, flipped, with bytes added or taken away."""
    b = bytearray(content)
    kind = rng.random()
    if kind < 0.25:
        return bytes(b[: rng.randrange(len(b))])
    if kind < 0.85:
        for _ in range(rng.choice([1, 1, 2, 8, 64])):
            b[rng.randrange(len(b))] ^= rng.randrange(1, 256)
    else:
        at = rng.randrange(len(b))
        b[at : at + rng.randrange(2) * 9] = rng.randbytes(rng.randrange(1, 9))
    return bytes(b)


@pytest.mark.parametrize("ours", [True, False])
def test_damage_is_an_input_error(tmp_path: Path, make: Make, ours: bool) -> None:
    folder = tmp_path / "d"
    write_dataset(folder, make(4), fps=20, robot="gantry")
    if not ours:
        shutil.rmtree(folder / "meta" / "gaploop")
    ids = [e.id for e in read_dataset(folder)]
    files = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    rng = random.Random(7)
    said: list[str] = []
    for path, content in files.items():
        for _ in range(40):
            path.write_bytes(damaged(content, rng))
            try:
                read = [e.id for e in read_dataset(folder)]
            except InputError as error:
                said.append(str(error))
            else:
                # ours carry their ids; others may say something else where no sum covers it
                assert read == ids or (not ours and path.name == "info.json")
        path.write_bytes(content)
    assert len(said) > 100
    assert all(str(folder) in text and len(text) > len(str(folder)) + 20 for text in said)
    assert [e.id for e in read_dataset(folder)] == ids


def test_a_single_flipped_bit_in_the_frames_is_found(tmp_path: Path, make: Make) -> None:
    folder = tmp_path / "d"
    write_dataset(folder, make(2), fps=20, robot="gantry")
    shutil.rmtree(folder / "meta" / "gaploop")  # no ids to compare with: page sums alone
    path = folder / "data" / "chunk-000" / "file-000.parquet"
    content = path.read_bytes()
    at = content.index(make(2)[0].signals["frame_weight"].values[:4].tobytes())
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.raises(InputError, match=r"file-000.parquet cannot be read"):
        list(read_dataset(folder))


@pytest.mark.parametrize("name", ["data/chunk-000/file-000.parquet", "meta/gaploop/dataset.json"])
def test_a_link_to_itself_is_an_input_error(tmp_path: Path, make: Make, name: str) -> None:
    write_dataset(tmp_path / "d", make(2), fps=20, robot="gantry")
    file = tmp_path / "d" / name
    file.unlink()
    file.symlink_to(file.name)
    with pytest.raises(InputError, match=file.name):
        list(read_dataset(tmp_path / "d"))


def test_half_a_sidecar_is_not_taken_for_none(tmp_path: Path, make: Make) -> None:
    write_dataset(tmp_path / "d", make(2), fps=20, robot="gantry")
    (tmp_path / "d" / "meta" / "gaploop" / "dataset.json").unlink()
    with pytest.raises(InputError, match=r"dataset\.json is missing"):
        list(read_dataset(tmp_path / "d"))


@pytest.mark.parametrize("value", ["won", [1], {"success": "maybe"}, {}, {"success": 1.5}])
def test_an_outcome_nobody_can_read_is_named(tmp_path: Path, make: Make, value: object) -> None:
    write_dataset(tmp_path / "d", make(2), fps=20, robot="gantry")
    file = tmp_path / "d" / "meta" / "gaploop" / "episodes.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["facts"]["$tuple"][0]["value"] = value
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=r"episodes\.jsonl, line 2: fact 'outcome'"):
        list(read_dataset(tmp_path / "d"))
