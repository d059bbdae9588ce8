"""What the layouts share: signals of arrays, numbers in names, outcomes, damaged groups."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.core import Contract, Episode, Feature, Label, Loss, Signal, Stated, declared

_NUMBER = re.compile(r"(\d+)$")
Fact = tuple[str, Any]


def by_number(names: Iterable[str]) -> list[str]:
    """demo_2 before demo_10: HDF5 lists names as texts."""

    def place(name: str) -> tuple[int, str]:
        found = _NUMBER.search(name)
        return (int(found[1]) if found else -1, name)

    return sorted(names, key=place)


def each(
    group: Any, names: Iterable[str], path: Path, make: Callable[[Any, str], Episode]
) -> Iterator[Episode | Loss]:
    """An episode a group; one that cannot be read is a Loss, and the next follows."""
    kept = 0
    for name in names:
        try:
            yield make(group[name], name)
            kept += 1
        except (ValueError, KeyError, OSError, RuntimeError, TypeError, MemoryError) as error:
            reason = " ".join(str(error).split())[:160].rstrip(".") or type(error).__name__
            yield Loss(source=f"{path}#{name}", kept=kept, lost=1, unit="episodes", reason=reason)


def signal(
    key: str, values: np.ndarray, rate: float, *, unit: str = "raw",
    columns: tuple[str, ...] = (), first: int = 0,
) -> Signal:  # fmt: skip
    """A signal whose rows stand 1 / rate apart, the first at row `first`."""
    table = values.reshape(len(values), -1)
    times = (np.arange(len(table)) + first) / rate
    fits = len(columns) == table.shape[1]
    return Signal(name=key, unit=unit, columns=columns if fits else (), times=times, values=table)


def observations(
    found: Mapping[str, np.ndarray], rate: float, *, first: int = 0
) -> dict[str, Signal]:
    """`observation.NAME` of every array."""
    return {
        key: signal(key, values, rate, first=first)
        for name, values in found.items()
        for key in [f"observation.{name.replace('/', '.')}"]
        if len(values) and values.shape[1]
    }


def episode(
    signals: Mapping[str, Signal], facts: Iterable[Fact], *, source: str, robot: str = "",
    task: str = "", rate: Stated | None = None, demonstration: bool = True,
    **stated: Any,
) -> Episode:  # fmt: skip
    """An episode with its contract and facts.

    Raises:
      ValueError: when there are no signals, or an empty one.
    """
    if not signals or not all(len(s.times) for s in signals.values()):
        raise ValueError("it holds no numbers")
    features = tuple(
        Feature(key=k, columns=s.columns, unit=declared(s.unit) if s.unit != "raw" else Stated())
        for k, s in signals.items()
    )
    contract = Contract(features=features, log_rate=rate or Stated(), **stated)
    bare = Episode(
        signals=dict(signals), contract=contract, robot=robot, task=task, instruction=task,
        origin="demonstration" if demonstration else "rollout", source=source,
    )  # fmt: skip
    labels = tuple(
        Label(subject=bare.id, key=key, value=value, author="hdf5 reader") for key, value in facts
    )
    return replace(bare, facts=labels)
