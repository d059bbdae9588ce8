"""What a verb prints: plain lines, a progress line on a terminal, or one JSON object."""

import dataclasses
import json
import math
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class Console:
    """Lines to standard output; under `as_json` nothing but one object at the end."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self._tty = sys.stderr.isatty() and not as_json
        self._busy = ""
        self._since = time.monotonic()

    def say(self, text: str = "") -> None:
        """One line for a person."""
        self._clear()
        if not self.as_json:
            print(text, flush=True)

    def busy(self, text: str) -> None:
        """What is being worked on; replaced by the next line on a terminal."""
        self._clear()
        self._busy, self._since = text, time.monotonic()
        if self._tty:
            print(f"\r  {text} ...", end="", file=sys.stderr, flush=True)
        elif not self.as_json:
            print(f"  {text}", file=sys.stderr, flush=True)

    def result(self, value: Mapping[str, Any]) -> None:
        """The JSON object of `--json`; prints nothing otherwise."""
        self._clear()
        if self.as_json:
            print(json.dumps(plain(value), allow_nan=False))

    def _clear(self) -> None:
        if self._tty and self._busy:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        self._busy = ""


def plain(value: Any) -> Any:
    """`value` as JSON data: dataclasses to objects, arrays to lists, NaN to null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Path):
        return str(value)
    return value


def inside(workcell: Path) -> str:
    """` --workcell cell` for a line somebody is to type; nothing for the folder they stand in."""
    return "" if workcell.resolve() == Path.cwd() else f" --workcell {shlex.quote(str(workcell))}"


def percent(k: int, n: int) -> str:
    """`13/20 [43, 82] %`: a rate with its Wilson interval."""
    from gaploop.stats import wilson

    if n == 0:
        return "0/0"
    lo, hi = wilson(k, n)
    return f"{k}/{n} [{100 * lo:.0f}, {100 * hi:.0f}] %"
