from pathlib import Path

import numpy as np
import pytest

from gaploop.core import InputError, Posterior, Scenario, WorkcellError
from gaploop.store import Workcell


def scenario(seed: int, steps: int = 4) -> Scenario:
    controls = np.random.default_rng(seed).random((steps, 3))
    return Scenario(
        task="peg", world="w", layout=np.zeros(2), knobs=np.ones(1), knob_names=("a",), seed=seed,
        horizon=steps, controls=controls,
    )  # fmt: skip


def files(cell: Workcell) -> list[Path]:
    return sorted(p for p in cell.objects.root.rglob("*") if p.is_file())


def test_put_and_get(cell: Workcell) -> None:
    value = scenario(7, steps=600)
    back = cell.objects.get(cell.objects.put(value), Scenario)
    assert back.controls is not None
    assert value.controls is not None
    np.testing.assert_array_equal(back.controls, value.controls)
    assert (back.seed, back.knob_names, back.horizon) == (7, ("a",), 600)


def test_a_collection_of_values(cell: Workcell) -> None:
    digest = cell.objects.put((scenario(1), scenario(2)))
    assert [s.seed for s in cell.objects.get(digest, tuple[Scenario, ...])] == [1, 2]


def test_equal_content_is_stored_once_under_one_name(cell: Workcell) -> None:
    one = cell.objects.put(scenario(1, steps=600))
    before = files(cell)
    assert cell.objects.put(scenario(1, steps=600)) == one
    assert files(cell) == before
    assert cell.objects.put(scenario(2, steps=600)) != one


def test_memory_order_of_an_array_is_not_content(cell: Workcell) -> None:
    table = np.arange(2000.0).reshape(40, 50)
    assert cell.objects.put(table) == cell.objects.put(np.asfortranarray(table))


def test_another_type_is_refused(cell: Workcell) -> None:
    digest = cell.objects.put(scenario(1))
    with pytest.raises(WorkcellError, match="is a Scenario, and a Posterior is needed"):
        cell.objects.get(digest, Posterior)


@pytest.mark.parametrize("digest", ["", "xy", "../../etc/passwd", "A" * 64])
def test_what_is_no_digest_is_refused(cell: Workcell, digest: str) -> None:
    with pytest.raises(WorkcellError, match="is no digest"):
        cell.objects.get(digest, Scenario)


def test_a_missing_object_is_named(cell: Workcell) -> None:
    with pytest.raises(WorkcellError, match="There is no object abababab"):
        cell.objects.get("ab" * 32, Scenario)


@pytest.mark.parametrize("which", [0, 1])
def test_a_flipped_bit_is_noticed(cell: Workcell, which: int) -> None:
    digest = cell.objects.put(scenario(1, steps=600))
    path = files(cell)[which]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(WorkcellError, match="damaged"):
        cell.objects.get(digest, Scenario)


def test_a_folder_is_stored_by_its_content(cell: Workcell, tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name / "deep"
        folder.mkdir(parents=True)
        (folder / "policy.onnx").write_bytes(b"net")
        (folder.parent / "policy.json").write_text("{}")
    digest = cell.objects.put_tree(tmp_path / "one")
    assert cell.objects.put_tree(tmp_path / "two") == digest
    assert (cell.objects.tree(digest) / "deep" / "policy.onnx").read_bytes() == b"net"
    assert (tmp_path / "one" / "policy.json").exists()
    (tmp_path / "two" / "policy.json").write_text("{ }")
    assert cell.objects.put_tree(tmp_path / "two") != digest
    assert cell.has(digest)


def test_a_link_in_a_folder_is_refused(cell: Workcell, tmp_path: Path) -> None:
    folder = tmp_path / "policy"
    folder.mkdir()
    (folder / "out").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="link"):
        cell.objects.put_tree(folder)


def test_an_object_is_no_folder(cell: Workcell) -> None:
    with pytest.raises(WorkcellError, match="There is no folder"):
        cell.objects.tree(cell.objects.put(scenario(1)))


def test_a_changed_tree_is_not_handed_out(cell: Workcell, tmp_path: Path) -> None:
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "graph").write_bytes(b"abc")
    digest = cell.objects.put_tree(tmp_path / "policy")
    stored = cell.objects.tree(digest) / "graph"
    stored.write_bytes(b"abd")
    with pytest.raises(WorkcellError, match="is damaged"):
        cell.objects.tree(digest)
    stored.write_bytes(b"abc")
    assert cell.objects.tree(digest) == stored.parent


def test_a_value_without_its_arrays_is_made_again(cell: Workcell) -> None:
    made = 0

    def work() -> dict[str, str]:
        nonlocal made
        made += 1
        return {"value": cell.objects.put(scenario(1, steps=600))}

    def stage() -> str:
        return cell.cached("train", work, config=None, seed=0, inputs={})["value"]

    digest = stage()
    assert stage() == digest
    assert made == 1
    array = next(f for f in files(cell) if f.read_bytes().startswith(b"\x93NUMPY"))
    array.unlink()
    assert stage() == digest
    assert made == 2
    assert cell.objects.get(digest, Scenario).controls is not None
