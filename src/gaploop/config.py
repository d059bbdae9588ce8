"""gaploop.toml: one file, one frozen dataclass; the resolved value is what is hashed.

msgspec checks the values. Unknown keys, which it lets pass for a dataclass, are
refused here with the closest match: a typing error must not become a default.
"""

import dataclasses
import difflib
import math
import tomllib
import typing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gaploop.calibrate.config import CalibrateConfig
from gaploop.core import ConfigError, GaploopError
from gaploop.curate.config import CurateConfig
from gaploop.diagnose.config import DiagnoseConfig
from gaploop.evaluate.config import EvaluateConfig
from gaploop.generate.config import GenerateConfig
from gaploop.ingest.config import ScreenConfig
from gaploop.release.rule import ReleaseRule
from gaploop.reproduce.config import ReproduceConfig
from gaploop.train.config import TrainConfig

T = TypeVar("T")

MOST = 10**9
"""Largest count a setting may ask for."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LoopConfig:
    """Everything a loop can be told; the sections are the stages' own settings."""

    task: str = "peg"
    """A registered task, or module:Attr of your own."""
    field: str = "lab-mix:0"
    """Where the policy meets reality: lab-mix:SEED, inbox:FOLDER, command:SHELL LINE."""
    seed: int = 0
    """Seed of everything that is drawn."""
    rounds: int = 3
    """Rounds `gaploop loop` brings the workcell to."""
    trials: int = 20
    """Field episodes a round."""
    screen: ScreenConfig = dataclasses.field(default_factory=ScreenConfig)
    calibrate: CalibrateConfig = dataclasses.field(default_factory=CalibrateConfig)
    diagnose: DiagnoseConfig = dataclasses.field(default_factory=DiagnoseConfig)
    reproduce: ReproduceConfig = dataclasses.field(default_factory=ReproduceConfig)
    curate: CurateConfig = dataclasses.field(default_factory=CurateConfig)
    generate: GenerateConfig = dataclasses.field(default_factory=GenerateConfig)
    train: TrainConfig = dataclasses.field(default_factory=TrainConfig)
    evaluate: EvaluateConfig = dataclasses.field(default_factory=EvaluateConfig)
    release: ReleaseRule = dataclasses.field(default_factory=ReleaseRule)

    def __post_init__(self) -> None:
        for name in ("rounds", "trials"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 1.")


def load(path: Path, cls: type[T]) -> T:
    """The configuration at `path` as a `cls`; raises ConfigError naming file and key."""
    try:
        # -sig: some editors put a byte order mark in front
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(f"{path} does not exist.", hint="Make one with: gaploop init") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, a number without end
        raise ConfigError(f"{path} is not TOML: {str(error).rstrip('.')}.") from None
    return build(cls, raw, str(path))


def build(cls: type[T], raw: dict[str, Any], where: str) -> T:
    """A dataclass from nested dictionaries, strictly.

    Raises:
      ConfigError: for an unknown key, a value of another type, or one the class refuses.
    """
    _refuse_unknown(cls, raw, where)
    try:
        made = msgspec.convert(raw, cls)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_plainly(str(error))}.") from None
    except GaploopError as error:
        raise ConfigError(f"{where}: {error}") from None
    _refuse_boundless(raw, where)
    return made


def _plainly(told: str) -> str:
    """`Expected int, got str - at $.train.steps` as `train.steps: expected int, got str`."""
    what, at, place = told.replace("`", "").partition(" - at $.")
    return f"{place}: {what[0].lower()}{what[1:]}" if at else what


def _refuse_boundless(raw: dict[str, Any], where: str, above: str = "") -> None:
    """NaN, infinity and counts no machine can do; a seed may be any integer."""
    for key, value in raw.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            _refuse_boundless(typing.cast(dict[str, Any], value), where, f"{name}.")
        elif isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{where}: {name} is {value}; expected a finite number.")
        elif isinstance(value, int) and name != "seed" and abs(value) > MOST:
            raise ConfigError(f"{where}: {name} is {value}; at most {MOST} is possible.")


def _refuse_unknown(cls: type, raw: dict[str, Any], where: str) -> None:
    hints = typing.get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls)]
    for key, value in raw.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            guess = f"Did you mean {close[0]!r}? " if close else ""
            raise ConfigError(
                f"{where}: unknown key {key!r}.", hint=f"{guess}Known: {', '.join(sorted(known))}."
            )
        if dataclasses.is_dataclass(hints[key]) and isinstance(value, dict):
            _refuse_unknown(typing.cast(type, hints[key]), value, f"{where}: [{key}]")
