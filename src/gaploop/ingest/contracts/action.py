"""What commands are: joints or tool, absolute, delta or velocity, in which unit, by which map."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gaploop.core import UNKNOWN, Contract, Episode, Stated
from gaploop.ingest.contracts.layout import Layout, tables
from gaploop.ingest.contracts.motion import Follows, coarse, corrected, follows, summed
from gaploop.ingest.contracts.scale import JOINT_UNITS, LENGTH_UNITS

_COARSE: Final = 0.02
"""s that rows are averaged to in a quicker log: a servo's lag is told in tens of ms."""
_GOOD: Final = 0.5
"""Share of a reading's variance a command may leave over and still be its command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to read the commands, and how well readings follow it."""

    space: str
    mode: str
    """absolute, rate (delta or velocity), or correction (delta to the current state)."""
    fit: Follows
    sent: list[np.ndarray]
    """(T, m) the series that readings should follow."""
    seen: list[np.ndarray]
    scale: float = 1.0
    """Reading per command of a correction."""
    stride: int = 1
    """Rows of the log that a row of `sent` is the mean of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """The answers about commands."""

    space: Stated = UNKNOWN
    mode: Stated = UNKNOWN
    reference: Stated = UNKNOWN
    unit: Stated = UNKNOWN
    joint_map: Stated = UNKNOWN
    role: Stated = UNKNOWN
    turns: str = "raw"
    """Unit of a tool's turns in a delta: rad where its attitude turned by as much."""
    way: Way | None = None


def meaning(
    episodes: Sequence[Episode], found: Layout, dt: float, joint: Stated, length: Stated,
    stated: Contract | None = None,
) -> Meaning:  # fmt: skip
    """Reads `action` in every way that its width allows and says which one the log follows.

    joint, length: units of joint readings and of places. stated: its declared space and mode
    leave out the other ways; nothing follows a torque the way it follows a place.
    """
    if found.action is None:
        return Meaning()
    sent = tables(episodes, found.action)
    stride = max(1, round(_COARSE / dt))
    rows: dict[str, tuple[list[np.ndarray], list[np.ndarray]]] = {}
    if found.joints is not None and len(found.joints.columns) == sent[0].shape[1]:
        rows["joint"] = sent, tables(episodes, found.joints)
    if found.place is not None and sent[0].shape[1] in (3, 6, 7):
        rows["end_effector"] = [a[:, :3] for a in sent], tables(episodes, found.place)
    ways = [
        w for space, (a, b) in rows.items() for w in _ways(space, a, b, stride)
        if w.fit.weight.any() and _allowed(w, stated)
    ]  # fmt: skip
    if not ways:
        return Meaning()
    best = min(ways, key=lambda w: w.fit.score)
    if np.exp(best.fit.score) > _GOOD:
        return Meaning()
    unit = joint if best.space == "joint" else length
    spin = 0.0
    if best.space == "end_effector" and best.mode == "rate":
        spin = _spin(episodes, found, sent, best.fit.shift * stride)
    role = _role(best, *rows[best.space])
    return replace(_answer(best, ways, dt, unit, spin), role=role)


def _allowed(way: Way, stated: Contract | None) -> bool:
    """Whether a way agrees with what is declared of space and mode."""
    if stated is None:
        return True
    space, mode = stated.action_space, stated.action_mode
    known = space.source == "declared" and space.value in ("joint", "end_effector")
    if known and way.space != space.value:
        return False
    if mode.source != "declared":
        return True
    modes = {"absolute": ("absolute",), "delta": ("rate", "correction"), "velocity": ("rate",)}
    return way.mode in modes.get(str(mode.value), ())


def retold(way: Way, episodes: Sequence[Episode], found: Layout) -> Way:
    """The same way of reading commands, of other episodes; a correction's stays as it is."""
    block = found.joints if way.space == "joint" else found.place
    if found.action is None or block is None or way.mode == "correction":
        return way
    sent = tables(episodes, found.action)
    sent = sent if way.space == "joint" else [a[:, :3] for a in sent]
    sent = summed(sent) if way.mode == "rate" else sent
    return replace(way, sent=sent, seen=tables(episodes, block), stride=1)


def _ways(space: str, sent: list[np.ndarray], seen: list[np.ndarray], stride: int) -> list[Way]:
    mapped = space == "joint"
    places, steps, readings = (coarse(x, stride) for x in (sent, summed(sent), seen))
    found = [
        Way(space=space, mode="absolute", sent=places, seen=readings, stride=stride,
            fit=follows(places, readings, apart=False, mapped=mapped)),
        Way(space=space, mode="rate", sent=steps, seen=readings, stride=stride,
            fit=follows(steps, readings, apart=True, mapped=mapped)),
    ]  # fmt: skip
    told = corrected(sent, seen, mapped=mapped)
    if told.correlation < -0.5:
        scale = 1.0 if abs(told.scale - 1.0) < 0.1 else told.scale
        placed = [b[:, list(told.order)] * np.array(told.signs) for b in seen]
        goal = [a * scale + b for a, b in zip(sent, placed, strict=True)]
        goal, placed = coarse(goal, stride), coarse(placed, stride)
        # readings in the order and with the signs that their own noise gives away
        fit = follows(goal, placed, apart=False, mapped=False)
        fit = replace(fit, order=told.order, signs=told.signs, margin=4.0 * told.margin)
        found.append(
            Way(space=space, mode="correction", sent=goal, seen=readings, stride=stride,
                fit=fit, scale=scale)
        )  # fmt: skip
    return found


def _answer(best: Way, ways: list[Way], dt: float, stated: Stated, spin: float) -> Meaning:
    rivals = [w for w in ways if w is not best]
    other_space = [w.fit.score for w in rivals if w.space != best.space]
    other_mode = [w.fit.score for w in rivals if w.space == best.space and w.mode != best.mode]
    space = Stated(
        value=best.space, source="inferred", confidence=_sure(best.fit.score, other_space)
    )
    sure = _sure(best.fit.score, other_mode)
    mode, reference, unit = _mode(best, dt, sure, stated, spin)
    return Meaning(
        space=space,
        mode=mode,
        reference=reference,
        unit=unit,
        joint_map=_map(best) if best.space == "joint" else UNKNOWN,
        turns="rad" if spin and abs(np.log(spin)) < 0.35 and mode.value == "delta" else "raw",
        way=best,
    )


def _sure(score: float, others: list[float]) -> float:
    """Probability that the best is right, from how much less it leaves over."""
    if not others:
        return 0.9
    gain = min(others) - score
    return float(np.clip(1.0 / (1.0 + np.exp(-(gain - 0.15) / 0.12)), 0.0, 0.99))


def _mode(
    best: Way, dt: float, sure: float, stated: Stated, spin: float
) -> tuple[Stated, Stated, Stated]:
    turns = best.space == "joint" and stated.value not in LENGTH_UNITS
    scale = JOINT_UNITS if turns else LENGTH_UNITS
    slopes = np.abs(best.fit.slopes[best.fit.weight])
    slope = float(np.exp(np.median(np.log(np.maximum(slopes, 1e-300)))))
    if best.mode == "absolute":
        unit, fits = _unit(slope, stated, scale, 0.4)
        return _said("absolute", sure), UNKNOWN, _said(unit, min(fits, stated.confidence))
    if best.mode == "correction":
        unit = stated if best.scale == 1.0 else UNKNOWN
        return _said("delta", sure), _said("current state", sure), unit
    mode, name, of_mode, of_unit = _step(slope, dt, stated, scale, spin)
    if not mode:
        # steps in a scale of their own, as normalised ones are: a gripper's worth of doubt
        return _said("delta", min(0.85, sure)), _said("last command", min(0.7, sure)), UNKNOWN
    reference = _said("last command", 0.95 * sure * of_mode) if mode == "delta" else UNKNOWN
    return (
        _said(mode, sure * of_mode),
        reference,
        _said(name, min(sure * of_unit, stated.confidence)),
    )


def _step(
    slope: float, dt: float, stated: Stated, scale: dict[str, float], spin: float
) -> tuple[str, str, float, float]:
    """(mode, unit, probability of mode, of both): what a slope of reading per summed step means.

    A step of a unit moves a reading by a unit, or by dt where it is a speed; a tool's turns must
    say the same as its moves. Empty where no pair fits.
    """
    known = scale.get(str(stated.value))
    if known is None:
        return "", "", 0.0, 0.0
    options: dict[tuple[str, str], float] = {}
    for mode, factor in (("delta", 1.0), ("velocity", dt)):
        turned = 1.0 if not spin else _bell(np.log(spin / factor), 0.25)
        for name, size in scale.items():
            rare = 1.0 if name == stated.value else 0.02
            fits = _bell(np.log(slope * size / (factor * known)), 0.07)
            options[mode, name] = fits * rare * turned
    # any other scale, a few in a hundred logs
    stray = 3e-3
    total = sum(options.values()) + stray
    (mode, name), weight = max(options.items(), key=lambda item: item[1])
    if weight < stray:
        return "", "", 0.0, 0.0
    of_mode = sum(w for (m, _), w in options.items() if m == mode) / total
    # a speed of a tool whose turns nobody checked may be a step in an odd scale
    if mode == "velocity" and not spin and "m" in scale:
        of_mode *= 0.88
    return mode, name, of_mode, weight / total


def _bell(away: float, sd: float) -> float:
    return float(np.exp(-0.5 * min((away / sd) ** 2, 60.0)))


def _spin(episodes: Sequence[Episode], found: Layout, sent: list[np.ndarray], lag: int) -> float:
    """Turn of the tool per summed turn told, 0 where it cannot be told.

    The angle between two attitudes is the same in either order of a quaternion.
    """
    if found.quaternion is None or sent[0].shape[1] != 6:
        return 0.0
    turned, told = [], []
    for q, a in zip(tables(episodes, found.quaternion), sent, strict=True):
        stride = max(4, len(q) // 8)
        if len(q) <= 2 * stride + max(lag, 0):
            continue
        whole = np.abs((q[:-stride] * q[stride:]).sum(axis=1))
        angle = 2 * np.arccos(np.clip(whole, -1, 1))
        total = np.cumsum(a[:, 3:6], axis=0)
        size = np.linalg.norm(total[stride:] - total[:-stride], axis=1)
        k = max(lag, 0)
        turned.append(angle[k:])
        told.append(size[: len(size) - k])
    if not turned:
        return 0.0
    x, y = np.concatenate(told), np.concatenate(turned)
    near = y < 1.5  # far turns do not add up
    power = float(x[near] @ x[near])
    return float(x[near] @ y[near]) / power if power > 0 else 0.0


def _unit(
    slope: float, stated: Stated, scale: dict[str, float], sd: float
) -> tuple[str | None, float]:
    """Unit of the command, from the unit of the reading and reading per command."""
    known = scale.get(str(stated.value))
    if known is None:
        return None, 0.0
    weights = {
        name: float(np.exp(-0.5 * min((np.log(slope * size / known) / sd) ** 2, 60.0)))
        * (1.0 if name == stated.value else 0.1)
        for name, size in scale.items()
    }
    name = max(weights, key=lambda n: weights[n])
    total = sum(weights.values()) + 1e-3
    return (name, min(weights[name] / total, 0.99)) if weights[name] > 1e-3 else (None, 0.0)


def _map(best: Way) -> Stated:
    """Order and signs, as sure as the least sure command that moves."""
    fit = best.fit
    moving = fit.weight
    margin = float(fit.margin[moving].min())
    worst = float(fit.left[moving].max())
    sure = 1.0 / (1.0 + np.exp(-(margin - 0.25) / 0.15))
    sure *= 1.0 if worst < 0.5 else 0.5
    if not moving.all():  # whoever stands still may stand anywhere
        sure *= 0.85 if np.count_nonzero(~moving) == 1 else 0.5
    value = {"order": fit.order, "signs": fit.signs}
    return _said(value, min(float(sure), 0.99))


def _role(best: Way, sent: list[np.ndarray], seen: list[np.ndarray]) -> Stated:
    """Whether commands are readings under another name."""
    if best.mode != "absolute":
        return _said("command", 0.9)
    order, signs = list(best.fit.order), np.array(best.fit.signs)
    placed = [b[:, order] * signs for b in seen]
    for shift in range(4):
        same = [
            float(
                np.mean(np.abs(a[: len(a) - shift] - b[shift:]) <= 1e-6 * (1 + np.abs(b[shift:])))
            )
            for a, b in zip(sent, placed, strict=True)
        ]
        if np.mean(same) > 0.9:
            return _said("state", 0.99)
    return _said("command", 0.9)


def _said(value: object, confidence: float) -> Stated:
    if value is None or confidence < 0.5:
        return UNKNOWN
    return Stated(value=value, source="inferred", confidence=round(float(confidence), 4))
