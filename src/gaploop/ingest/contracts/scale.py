"""Units from the size of numbers: joints turn by about a radian, arms reach about half a metre."""

from typing import Final

import numpy as np

JOINT_UNITS: Final = {"rad": 1.0, "deg": 57.29577951308232, "ticks": 4096 / (2 * np.pi)}
"""Unit to numbers a radian; ticks are those of a 12-bit encoder."""
LENGTH_UNITS: Final = {"m": 1.0, "cm": 100.0, "mm": 1000.0}
_RARE: Final = {"ticks": 0.15, "cm": 0.05, "mm": 0.3}
"""How common a unit is beside rad, deg and m."""
_SLIDES: Final = 0.04
"""Share of logs whose joints slide and are called joints all the same."""
_SURE: Final = 0.995
"""No size of numbers alone makes surer than this."""


def joint_unit(values: np.ndarray) -> tuple[str | None, float]:
    """(unit, probability) of joint readings (T, n); None where the size fits none."""
    travel = np.ptp(values, axis=0)
    moved = travel > 1e-9
    if not moved.any():
        return None, 0.0
    values, travel = values[:, moved], travel[moved]
    whole = bool(np.all(values == np.rint(values)))
    if whole and values.min() >= 0 and values.max() < 65536 and travel.max() > 60:
        return "ticks", 0.97
    top = float(np.abs(values).max())
    if not whole and np.isclose(top, 100.0, atol=0.05):
        return None, 0.0  # percent of a range looks the same as degrees
    middle = float(np.median(travel))
    # one or two joints may be a wheel or a swing-up, which turn on and on; an arm does not
    spins = np.log(0.3 if len(travel) <= 2 else 0.02)
    logs = {}
    for unit, f in JOINT_UNITS.items():
        if unit != "ticks":
            arm = _log_normal(top / f, 1.6, 0.6) + _log_normal(middle / f, 1.0, 0.8)
            wheel = _log_normal(top / f, 10.0, 1.0) + _log_normal(middle / f, 10.0, 1.0)
            logs[unit] = float(np.logaddexp(arm, wheel + spins))
    for unit, f in LENGTH_UNITS.items():  # a joint may slide, too
        slide = _log_normal(top / f, 0.4, 0.6) + _log_normal(middle / f, 0.25, 0.8)
        logs[unit] = slide + np.log(_SLIDES if len(travel) <= 3 else _SLIDES / 10)
    name, sure = _pick(logs)
    # one or two columns may be anything
    return name, min(sure, 0.9) if len(travel) <= 2 else sure


def length_unit(values: np.ndarray) -> tuple[str | None, float]:
    """(unit, probability) of places (T, 3)."""
    top = float(np.linalg.norm(values, axis=1).max())
    travel = float(np.ptp(values, axis=0).max())
    if travel <= 0:
        return None, 0.0
    logs = {
        unit: _log_normal(top / f, 0.7, 0.55) + _log_normal(travel / f, 0.45, 0.7)
        for unit, f in LENGTH_UNITS.items()
    }
    return _pick(logs)


def _log_normal(value: float, middle: float, sd: float) -> float:
    return -0.5 * (np.log(max(value, 1e-300) / middle) / sd) ** 2


def _pick(logs: dict[str, float]) -> tuple[str | None, float]:
    """The most probable unit; heavy tails stand for robots nobody thought of."""
    names = list(logs)
    raw = np.array([logs[n] for n in names])
    weights = np.exp(np.maximum(raw, -18.0)) * np.array([_RARE.get(n, 1.0) for n in names])
    strange = np.exp(-7.0)
    total = float(weights.sum()) + strange
    best = int(np.argmax(weights))
    if weights[best] < strange:
        return None, 0.0
    return names[best], float(min(weights[best] / total, _SURE))
