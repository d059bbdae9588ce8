"""Two contracts compared, as lines for people and as data."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gaploop.ingest.contracts.compare import Difference, compare
from gaploop.ingest.contracts.file import load, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What `gaploop check --contract A B` says."""

    agree: bool
    """No field differs; fields that one side leaves out may be there."""
    lines: tuple[str, ...]
    data: dict[str, Any]


def compared(one: Path, other: Path) -> Compared:
    """The contracts at two paths, compared.

    Raises:
      InputError, ContractError: as `file.load`.
    """
    names = (str(one), str(other)) if one != other else ("the first", "the second")
    found = compare(load(one), load(other), names=names)
    apart = [d for d in found if d.verdict == "differs"]
    silent = [d for d in found if d.verdict == "unstated"]
    head = f"{names[0]} and {names[1]}: {len(apart)} fields differ, {len(silent)} unstated by one"
    return Compared(
        agree=not apart,
        lines=(head, *map(_line, apart), *map(_line, silent)),
        data={
            "paths": [str(one), str(other)],
            "agree": not apart,
            "differences": [
                {**asdict(d), "left": plain(d.left), "right": plain(d.right)} for d in found
            ],
        },
    )


def _line(d: Difference) -> str:
    guess = f" ({d.confidence:.2f} sure)" if d.verdict == "differs" and d.confidence < 0.995 else ""
    return f"  {d.verdict:<9} {d.field}{guess}: {d.message}"
