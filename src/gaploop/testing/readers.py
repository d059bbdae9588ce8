"""What every reader of logs must do, built-in or plugged in."""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from gaploop.core.episode import Episode
from gaploop.core.errors import InputError
from gaploop.core.protocols import Reader
from gaploop.core.units import FACTORS


def check_reader(reader: Reader, path: Path) -> tuple[Episode, ...]:
    """Runs a reader on a log it should read, and on damaged copies of it.

    path: a small log; copies of it are cut and garbled in a temporary folder.
    Returns the episodes that were read.

    Raises:
      AssertionError: with one sentence, when the reader breaks a rule.
    """
    _require(isinstance(reader, Reader), "it lacks name, sniff or read")
    _require(bool(reader.name), "its name is empty")
    _require(reader.sniff(path) is True, f"it does not recognise {path}")
    episodes = tuple(reader.read(path))
    _require(len(episodes) > 0, f"it reads no episode from {path}")
    for episode in episodes:
        _check_episode(episode)
    again = tuple(e.id for e in reader.read(path))
    _require(again == tuple(e.id for e in episodes), "a second reading gives other episodes")
    _require(len(set(again)) == len(again), "two episodes share an id")
    with tempfile.TemporaryDirectory() as folder:
        _check_strangers(reader, Path(folder))
        _check_damage(reader, path, Path(folder))
    return episodes


def _check_episode(episode: Episode) -> None:
    _require(bool(episode.source), "an episode does not say where it was read")
    at = f"in {episode.source}"
    _require(len(episode.signals) > 0, f"{at}: no signals")
    for key, signal in episode.signals.items():
        name = f"{at}, signal {key!r}"
        _require(len(signal.times) > 0, f"{name}: no samples")
        _require(signal.times.dtype == np.float64, f"{name}: stamps are not float64")
        _require(bool(np.isfinite(signal.times).all()), f"{name}: a stamp is not finite")
        _require(bool((np.diff(signal.times) >= 0).all()), f"{name}: stamps run backwards")
        _require(signal.values.dtype.kind in "fiub", f"{name}: values are no numbers")
        _require(signal.unit in FACTORS, f"{name}: unit {signal.unit!r} is not known")
        width = int(np.prod(signal.values.shape[1:]))
        _require(len(signal.columns) in (0, width), f"{name}: names do not fit its columns")
    for feature in episode.contract.features:
        _require(
            feature.key in episode.signals,
            f"{at}: the contract speaks of {feature.key!r}, which is no signal",
        )
    for fact in episode.facts:
        _require(bool(fact.author), f"{at}: fact {fact.key!r} has no author")
        _require(fact.subject == episode.id, f"{at}: fact {fact.key!r} is about something else")


def _check_strangers(reader: Reader, folder: Path) -> None:
    """What is no log of this kind is not recognised, and reading it is an InputError."""
    empty, noise = folder / "empty", folder / "noise.bin"
    empty.mkdir()
    noise.write_bytes(np.random.default_rng(0).bytes(4096))
    for path in (folder / "missing", empty, noise):
        _require(reader.sniff(path) is False, f"it takes {path.name} for a log")
        _require(_refuses(reader, path), f"reading {path.name} is no InputError")


def _check_damage(reader: Reader, path: Path, folder: Path) -> None:
    """A cut or garbled copy is read or refused; no other exception, whichever file it is."""
    rng = np.random.default_rng(1)
    copy = folder / path.name
    for victim in _files(path):
        for kind in ("cut", "empty", "garbled"):
            _copy(path, copy)
            target = copy if path.is_file() else copy / victim
            content = bytearray(target.read_bytes())
            if kind == "cut":
                content = content[: len(content) // 2]
            elif kind == "empty":
                content = bytearray()
            elif content:
                spots = rng.integers(len(content), size=min(16, len(content)))
                for spot in spots:
                    content[spot] ^= int(rng.integers(1, 256))
            target.write_bytes(content)
            _refuses(reader, copy)


def _refuses(reader: Reader, path: Path) -> bool:
    try:
        for _ in reader.read(path):
            pass
    except InputError:
        return True
    except Exception as error:
        raise AssertionError(
            f"reader: on {path.name} it raises {type(error).__name__} ({error}), no InputError"
        ) from error
    return False


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [Path(path.name)]
    return sorted(p.relative_to(path) for p in path.rglob("*") if p.is_file())


def _copy(path: Path, copy: Path) -> None:
    if path.is_file():
        shutil.copyfile(path, copy)
        return
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(f"reader: {what}")
