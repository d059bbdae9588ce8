"""One call on a path: format, figures, findings, or one clear sentence."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gaploop.core import Episode, InputError, Loss
from gaploop.ingest import check, find_reader, ingest
from gaploop.ingest.readers.whole import whole


def test_check_says_format_and_counts(write: Callable[..., Path]) -> None:
    report = check(write())
    assert (report.format, report.episodes, report.frames) == ("servo", 1, 400)
    assert report.contract.feature("action") is not None


def test_ingest_gives_episodes_and_their_screen(write: Callable[..., Path]) -> None:
    episodes, screened = ingest(write())
    assert screened.clean == (episodes[0].id,)


def test_the_format_is_found_by_content(write: Callable[..., Path], tmp_path: Path) -> None:
    assert find_reader(write()).name == "servo"
    csv = tmp_path / "x_measured.csv"
    csv.write_text("time,position,velocity,torque\n0,1,2,3\n1,2,3,4\n")
    assert find_reader(csv).name == "pendulum"


def test_a_missing_path() -> None:
    with pytest.raises(InputError, match="no file or folder"):
        check(Path("does/not/exist"))


def test_an_unknown_folder_lists_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(InputError, match=r"servo.*gaploop\.readers"):
        check(tmp_path)


def test_two_formats_in_one_folder_are_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    write()
    (tmp_path / "x_measured.csv").write_text("time,position,velocity,torque\n0,1,2,3\n")
    with pytest.raises(InputError, match="more than one format: pendulum, servo"):
        check(tmp_path)


def test_differing_contracts_are_named(write: Callable[..., Path], tmp_path: Path) -> None:
    write(name="a.json")
    log: dict[str, Any] = json.loads((tmp_path / "a.json").read_text())
    for entry in log["entries"]:
        del entry["load"]
    write(log, name="b.json")
    found = {f.code for f in check(tmp_path).findings}
    assert "contract_differs" in found


def test_real_logs(data: Path) -> None:
    for folder, name in (("bam_xl330", "servo"), ("simple_pendulum", "pendulum")):
        assert check(data / folder).format == name


class Torn:
    """A reader that meets damage between two whole episodes."""

    name = "torn"

    def __init__(self, episodes: list[Episode], losses: int = 1) -> None:
        self.found, self.losses = episodes, losses

    def sniff(self, path: Path) -> bool:
        return path.suffix == ".torn"

    def read(self, path: Path) -> Iterator[Episode]:
        yield from whole(self.salvage(path))

    def salvage(self, path: Path) -> Iterator[Episode | Loss]:
        yield from self.found[:1]
        for n in range(self.losses):
            yield Loss(
                source=f"{path.name}, byte {n}", kept=n, lost=None, unit="rows", reason="cut"
            )
        yield from self.found[1:]


@pytest.fixture
def torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    def make(reader: Torn) -> Path:
        monkeypatch.setattr("gaploop.ingest.source.find_reader", lambda path: reader)
        return tmp_path / "log.torn"

    return make


def test_damage_is_a_finding_and_the_rest_is_checked(
    write: Callable[..., Path], torn: Callable[..., Path]
) -> None:
    episodes, _ = ingest(write())
    path = torn(Torn([episodes[0], episodes[0]], losses=5))
    report = check(path)
    assert report.episodes == 2
    first = report.findings[0]
    assert (first.code, first.severity, first.episodes) in {
        ("truncated_file", "error", ()), ("duplicate_episode", "error", (1,))
    }  # fmt: skip
    damage = next(f for f in report.findings if f.code == "truncated_file")
    assert "byte 0" in damage.message
    assert damage.message.endswith("and 2 more")
    _, screened = ingest(path)
    assert "truncated_file" in {f.code for f in screened.findings}


def test_nothing_whole_is_an_input_error(torn: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match=r"no whole episode: log\.torn, byte 0"):
        check(torn(Torn([])))
    with pytest.raises(InputError, match="holds no episode"):
        check(torn(Torn([], losses=0)))


def test_findings_of_a_check_name_episodes_by_index(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    log = json.loads(write(name="a.json").read_text())
    log["entries"][7]["position"] = float("nan")
    write(log, name="b.json")
    found = next(f for f in check(tmp_path).findings if f.code == "nan")
    assert found.episodes == (1,)
