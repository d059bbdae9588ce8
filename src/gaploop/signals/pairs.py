"""Commands beside the readings that should follow them, on the readings' stamps."""

from dataclasses import dataclass

import numpy as np

from gaploop.core import Episode, Signal
from gaploop.core.units import FACTORS

_QUANTITY = {
    "rad": "angle", "deg": "angle", "mrad": "angle", "rad/s": "angular velocity",
    "deg/s": "angular velocity", "m": "length", "cm": "length", "mm": "length", "um": "length",
    "m/s": "velocity", "mm/s": "velocity", "N m": "torque", "N": "force", "A": "current",
}  # fmt: skip


_OVER = 5.0
_UNDER = 1 / 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One column of a command and the column that should follow it, both in SI."""

    column: str
    """Name of the column, its index where it has none."""
    quantity: str
    """angle, length, torque, ...; empty where no unit is known."""
    unit: str
    """SI unit of both series, `raw` where it is not known."""
    command_key: str
    measured_key: str
    times: np.ndarray
    """(T,) s, stamps of the reading."""
    command: np.ndarray
    """(T,) the command in force at each stamp (held since it was sent)."""
    measured: np.ndarray
    """(T,)"""

    @property
    def dt(self) -> float:
        """Median positive period in s, 0 where there is none."""
        steps = np.diff(self.times)
        steps = steps[steps > 0]
        return float(np.median(steps)) if len(steps) else 0.0


def pairs(episode: Episode) -> tuple[Pair, ...]:
    """Every column that is both commanded and read in the same quantity.

    A command pairs with one reading: of its own quantity and width, or, where no
    units are known, of its own column names. A delta command pairs with nothing.
    """
    if episode.contract.action_mode.value in ("delta", "velocity"):
        return ()
    found: list[Pair] = []
    for key in sorted(episode.signals):
        if key == "action" or key.startswith("action."):
            reading = _partner(episode, episode.signals[key])
            if reading is not None:
                found += _columns(episode.signals[key], reading)
    return tuple(found)


def unit_fault(pair: Pair) -> str:
    """What is wrong with the scale of a reading against its command; empty where nothing is.

    A position loop may fall short of its command by a large factor, but it cannot
    overshoot its whole travel several times; and a reading of a hundredth of the
    command that still follows it is in another unit, not a weak joint.
    """
    if pair.quantity == "torque" or len(pair.times) < 3:
        return ""
    sent, seen = float(np.std(pair.command)), float(np.std(pair.measured))
    if not (np.isfinite(sent) and np.isfinite(seen) and sent > 1e-9 and seen > 1e-9):
        return ""
    factor = seen / sent
    together = abs(float(np.corrcoef(pair.command, pair.measured)[0, 1]))
    if not (factor > _OVER or (factor < _UNDER and together > 0.5)):
        return ""
    guess = ""
    if pair.quantity == "angle":
        guess = ": deg read as rad" if factor > 1 else ": rad read against a command in deg"
    elif pair.quantity == "length":
        guess = ": mm or cm read as m" if factor > 1 else ": m read against a command in mm or cm"
    return f"{pair.measured_key} spreads {factor:.3g} times as wide as {pair.command_key}{guess}"


def inverted(pair: Pair) -> bool:
    """Whether the reading mirrors its command over the whole log.

    Only where the joint travels about as far as it is told: one that is held by an
    obstacle creeps in whatever direction it can.
    """
    if pair.quantity == "torque" or len(pair.times) < 20:
        return False
    travel, seen = float(np.ptp(pair.command)), float(np.ptp(pair.measured))
    if not (np.isfinite(travel) and np.isfinite(seen) and travel > 0 and seen > 0.3 * travel):
        return False
    shifts = [k for k in (0, 1, 2, 4, 8) if k < len(pair.times) // 4]
    straight = [
        float(np.corrcoef(pair.command[: len(pair.command) - k], pair.measured[k:])[0, 1])
        for k in shifts
    ]
    # a slow oscillation mirrors itself at half its period: no shift may follow it well
    return min(straight) < -0.9 and max(straight) < 0.3


def _partner(episode: Episode, command: Signal) -> Signal | None:
    width = _table(command).shape[1]
    readings = [
        s
        for k, s in sorted(episode.signals.items())
        if k.startswith("observation.") and np.ndim(s.values) <= 2 and _table(s).shape[1] == width
    ]
    quantity = _QUANTITY.get(command.unit, "")
    if quantity:
        same = [s for s in readings if _QUANTITY.get(s.unit, "") == quantity]
    else:
        same = [
            s for s in readings if s.unit == command.unit and s.columns == command.columns != ()
        ]
    # the joint state comes before anything else that happens to share unit and width
    same.sort(key=lambda s: (s.name != "observation.state", s.columns != command.columns, s.name))
    named = [s for s in same if s.name == "observation.state" or s.columns == command.columns]
    return named[0] if named else None


def _columns(command: Signal, reading: Signal) -> list[Pair]:
    sent, seen = _table(command), _table(reading)
    held = np.searchsorted(command.times, reading.times, side="right") - 1
    sent = sent[np.clip(held, 0, len(sent) - 1)]
    quantity = _QUANTITY.get(command.unit, "")
    unit = next((u for u, q in _QUANTITY.items() if q == quantity and FACTORS[u] == 1.0), "raw")
    return [
        Pair(
            column=(command.columns or tuple(str(c) for c in range(sent.shape[1])))[i],
            quantity=quantity,
            unit=unit,
            command_key=command.name,
            measured_key=reading.name,
            times=np.asarray(reading.times, dtype=float),
            command=sent[:, i] * FACTORS.get(command.unit, 1.0),
            measured=seen[:, i] * FACTORS.get(reading.unit, 1.0),
        )
        for i in range(sent.shape[1])
    ]


def _table(signal: Signal) -> np.ndarray:
    values = np.asarray(signal.values, dtype=float)
    return values.reshape(len(values), -1)
