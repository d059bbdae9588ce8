"""Episodes of RLDS records: signals, cameras, language, split, and the outcome if one is told."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core import Camera, Contract, Episode, Feature, InputError, Label, Loss, Signal, Stated
from gaploop.ingest.readers.rlds import oxe
from gaploop.ingest.readers.rlds.example import Value, parse
from gaploop.ingest.readers.rlds.tfrecord import Record, looks_like, record_at, records
from gaploop.ingest.readers.whole import whole

_STEPS = "steps/"
_NAMED = re.compile(r"^(?P<name>.+?)-(?P<split>[A-Za-z0-9_]+)\.tfrecord(-\d+-of-\d+)?$")
_LEFT_OUT = re.compile(r"embedding|^is_(first|last)$")
"""Steps that are no signal of the robot."""
_LARGEST_JSON = 16 << 20


class RldsReader:
    """Reads a .tfrecord file, or every one of a data set's folder, split by split."""

    name = "rlds"

    def sniff(self, path: Path) -> bool:
        """Whether `path` is such a file, or a folder that holds one."""
        try:
            return any(looks_like(file) for file in _files(Path(path))[:1])
        except OSError:
            return False

    def read(self, path: Path) -> Iterator[Episode]:
        """One episode a record.

        Raises:
          InputError: naming the file and the byte.
        """
        return whole(self.salvage(path))

    def salvage(self, path: Path) -> Iterator[Episode | Loss]:
        """Every whole episode, and one Loss for each record that is damaged.

        Raises:
          InputError: when nothing there is a TFRecord file.
        """
        files = _files(Path(path))
        if not files or not any(map(_looks, files)):
            raise InputError(
                f"{path} holds no RLDS data set.", hint="Expected *.tfrecord-00000-of-00001 files."
            )
        about = _About(files[0].parent)
        for file in files:
            for item in records(file):
                yield item if isinstance(item, Loss) else _episode(file, item, about)


# -- inside -------------------------------------------------------------------


class _About:
    """What dataset_info.json and features.json say; both may be missing."""

    def __init__(self, folder: Path) -> None:
        info = _json(folder / "dataset_info.json")
        self.name = str(info.get("name", "")) or folder.parent.name
        self.pictures = dict(_pictures(_json(folder / "features.json")))
        self.stated = oxe.statements(self.name)
        self.rate = self.stated.get("log_rate", Stated()).value


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if ".tfrecord" in path.name else []
    # TFDS keeps versions in folders: name/1.0.0/name-train.tfrecord-00000-of-00001
    return sorted(path.glob("*.tfrecord*")) or sorted(path.glob("*/*.tfrecord*"))


def _looks(file: Path) -> bool:
    try:
        return looks_like(file)
    except OSError:
        return False


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_JSON:
            return {}
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _pictures(node: Any, name: str = "") -> Iterator[tuple[str, tuple[int, int, str]]]:
    """(feature, (height, width, encoding)) of every image that features.json describes."""
    if not isinstance(node, Mapping):
        return
    image = node.get("image")
    if isinstance(image, Mapping):
        sides = [*image.get("shape", {}).get("dimensions", []), "0", "0"]
        height, width = (int(s) if str(s).isdigit() else 0 for s in sides[:2])
        yield name, (height, width, str(image.get("encodingFormat", "")))
        return
    inner = node.get("featuresDict") or node.get("sequence")
    if isinstance(inner, Mapping):
        parts = inner.get("features")
        if isinstance(parts, Mapping):
            for key, part in parts.items():
                yield from _pictures(part, f"{name}/{key}".lstrip("/"))
        else:
            yield from _pictures(inner.get("feature"), name)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a record lies, to read a picture again."""

    file: Path
    offset: int

    def values(self, name: str) -> list[bytes]:
        found = parse(record_at(self.file, self.offset)).get(name, [])
        return found if isinstance(found, list) else []


def _episode(file: Path, record: Record, about: _About) -> Episode | Loss:
    source = f"{file}#{record.number}"
    try:
        values = parse(record.content)
        length = _length(values)
        if length < 1:
            raise ValueError("it holds no steps")
        signals = _signals(values, length, about)
        if not signals:
            raise ValueError("it holds no numbers by step")
    except ValueError as error:
        return Loss(
            source=f"{file}, byte {record.offset}", kept=record.number, lost=1, unit="records",
            lost_bytes=len(record.content), reason=f"record {record.number}: {error}",
        )  # fmt: skip
    text = _text(values)
    episode = Episode(
        signals=signals, contract=_contract(signals, about), robot=about.name, task=text,
        instruction=text, source=source,
        cameras=_cameras(values, length, file, record, about),
    )  # fmt: skip
    return replace(episode, facts=tuple(_facts(episode.id, values, file)))


def _length(values: Mapping[str, Value]) -> int:
    """Steps, by the marks every RLDS record has, else by the longest list of one a step."""
    for mark in ("is_first", "is_last", "is_terminal", "reward"):
        if _STEPS + mark in values:
            return len(values[_STEPS + mark])
    texts = [len(v) for k, v in values.items() if k.startswith(_STEPS) and isinstance(v, list)]
    return max(texts, default=0)


def _signals(values: Mapping[str, Value], length: int, about: _About) -> dict[str, Signal]:
    times = np.arange(length) / (about.rate or 1.0)
    found: dict[str, Signal] = {}
    for name, value in sorted(values.items()):
        key = _key(name)
        if not key or isinstance(value, list) or not len(value):
            continue
        width, over = divmod(len(value), length)
        if over:
            raise ValueError(f"{name} has {len(value)} numbers for {length} steps")
        table = value.reshape(length, width)
        posed = about.name in oxe.POSED and key in ("action", "observation.state") and width == 7
        found[key] = Signal(
            name=key, unit="raw", columns=oxe.POSE if posed else (), times=times, values=table
        )
    return found


def _key(name: str) -> str:
    """`steps/observation/state` to `observation.state`; empty for what is no signal."""
    if not name.startswith(_STEPS):
        return ""
    key = name.removeprefix(_STEPS).replace("/", ".")
    return "" if _LEFT_OUT.search(key) else key


def _contract(signals: Mapping[str, Signal], about: _About) -> Contract:
    features = tuple(Feature(key=k, columns=s.columns) for k, s in signals.items())
    clock = "" if about.rate else "steps are counted, their rate is not told"
    stated = {} if not clock else {"clock": Stated(value=clock, source="inferred", confidence=1.0)}
    return Contract(features=features, **(about.stated | stated))


def _facts(subject: str, values: Mapping[str, Value], file: Path) -> Iterator[Label]:
    named = _NAMED.match(file.name)
    if named:
        yield Label(subject=subject, key="split", value=named["split"], author="file name")
    reward = values.get(f"{_STEPS}reward")
    if isinstance(reward, np.ndarray) and len(reward) and bool(np.any(reward > 0)):
        yield Label(
            subject=subject, key="outcome", value={"success": True, "judge": "reward"},
            author="reward", confidence=0.9,
        )  # fmt: skip
    told = values.get("episode_metadata/success")
    if isinstance(told, np.ndarray) and len(told) == 1:
        yield Label(
            subject=subject, key="outcome", value={"success": bool(told[0])},
            author="episode_metadata",
        )  # fmt: skip


def _text(values: Mapping[str, Value]) -> str:
    for name in ("language_instruction", "observation/natural_language_instruction"):
        texts = values.get(_STEPS + name)
        if isinstance(texts, list) and texts:
            return texts[0].decode("utf-8", "replace")
    return ""


def _cameras(
    values: Mapping[str, Value], length: int, file: Path, record: Record, about: _About
) -> dict[str, Camera]:
    times = np.arange(length) / (about.rate or 1.0)
    found: dict[str, Camera] = {}
    for name, (height, width, encoding) in about.pictures.items():
        texts = values.get(name)
        if not isinstance(texts, list) or len(texts) != length or not any(texts):
            continue
        key = _key(name).replace("observation.", "observation.images.", 1)
        found[key] = Camera(
            name=key, times=times, height=height, width=width, encoding=encoding,
            frames=_frames(_Place(file, record.offset), name),
        )  # fmt: skip
    return found


def _frames(place: _Place, name: str):
    def decode() -> Iterator[np.ndarray]:
        from gaploop.store.datasets_video import still  # loads pyarrow

        for row, content in enumerate(place.values(name)):
            yield still(content, f"{place.file}, byte {place.offset}, {name}, step {row}")

    return decode
