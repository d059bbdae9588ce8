"""Unit names and their factor to SI. A name that is not here is refused."""

from typing import Final

from gaploop.core.errors import UnknownNameError

FACTORS: Final = {
    "1": 1.0, "%": 0.01, "m": 1.0, "cm": 0.01, "mm": 1e-3, "um": 1e-6,
    "rad": 1.0, "deg": 0.017453292519943295, "mrad": 1e-3,
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "Hz": 1.0,
    "m/s": 1.0, "mm/s": 1e-3, "rad/s": 1.0, "deg/s": 0.017453292519943295,
    "m/s^2": 1.0, "rad/s^2": 1.0,
    "kg": 1.0, "g": 1e-3, "kg m^2": 1.0,
    "N": 1.0, "N m": 1.0, "N/m": 1.0, "N m/rad": 1.0, "N s/m": 1.0, "N m s/rad": 1.0,
    "N m/A": 1.0, "A": 1.0, "V": 1.0, "ohm": 1.0, "K": 1.0, "C": 1.0, "raw": 1.0,
}  # fmt: skip
"""Unit name to SI factor. `1` has no dimension, `raw` has no known one."""


def si(value: float, unit: str) -> float:
    """`value` given in `unit`, in SI."""
    if unit not in FACTORS:
        raise UnknownNameError("unit", unit, FACTORS)
    return value * FACTORS[unit]


_SHOWN: Final = {"m": "mm", "s": "ms", "rad": "mrad"}
"""SI unit to the one people read values below 1 in."""


def rescaled(unit: str, largest: float) -> tuple[float, str]:
    """(factor, unit) to show values up to `largest` in: metres as mm, seconds as ms if small."""
    if unit not in _SHOWN or abs(largest) >= 1:
        return 1.0, unit
    return 1.0 / si(1.0, _SHOWN[unit]), _SHOWN[unit]


def shown(value: float, unit: str) -> str:
    """A value for people, three figures and its unit."""
    factor, label = rescaled(unit, value)
    figure = value * factor
    # three figures, but never 1.5e+03
    text = f"{figure:.0f}" if 100 <= abs(figure) < 1e6 else f"{figure:.3g}"
    return text if label == "1" else f"{text} {label}"
