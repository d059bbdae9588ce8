"""Which of four numbers is w: wxyz or xyzw, as far as a log can tell.

Read in the wrong order, a turn R becomes A R^T B with two constant turns A and B: still a
smooth rotation of the same size. So norm and continuity decide nothing by themselves. What
does: w passing zero where the source flips signs to keep it positive; commands or angular
velocities that the attitude must follow axis by axis; a serial chain, whose first hinges turn
about axes of the base and whose last ones about axes of the tool, and not the other way round;
and, weakly, where tools and objects usually point.
"""

from collections.abc import Sequence

import numpy as np

from gaploop.core import UNKNOWN, Stated
from gaploop.ingest.contracts.turns import ORDERS, from_angles, ordered, vectors
from gaploop.signals.spans import effective

ANGLES = ("axis_angle", "rpy", "ypr", "euler_xyz")
_MOST = 12.0
"""Nats that one kind of evidence may count."""
_CHAIN = 0.7
"""Nats a unit of weight from which joints explain turns at all: half of their variance."""
_STEP = 0.2
"""s between attitudes whose turn is explained: shorter ones are mostly noise."""


def quaternion_order(
    attitudes: Sequence[np.ndarray],
    joints: Sequence[np.ndarray] | None = None,
    commands: Sequence[np.ndarray] | None = None,
    rates: Sequence[np.ndarray] | None = None,
    shift: int = 0,
    orders: Sequence[Sequence[int]] = (),
    dt: float = 0.05,
) -> Stated:
    """wxyz, xyzw or unknown.

    Args:
      attitudes: (T, 4) an episode, as stored.
      joints: (T, n) rad, base to tip, where there are any.
      commands: (T, 3) turns commanded a frame, rad, in base or tool axes.
      rates: (T, 3) angular velocity read, any scale, in base or tool axes.
      shift: frames by which attitudes trail commands.
      orders: columns of `joints` from base to tip, where more than one order may be meant.
      dt: s between rows.
    """
    evidence = _flips(attitudes) + _pointing(attitudes)
    if commands is not None:
        evidence += _axes(attitudes, commands, shift)
    if rates is not None:
        evidence += _axes(attitudes, rates, 0)
    if joints is not None and 3 <= joints[0].shape[1] <= 8:
        tried = {tuple(o) for o in orders} | {tuple(range(joints[0].shape[1]))}
        evidence += _chain(attitudes, joints, sorted(tried), dt)
    # the kinds of evidence are not as independent as their sum takes them to be
    sure = 1.0 / (1.0 + np.exp(-0.8 * abs(evidence)))
    if sure < 0.7:
        return UNKNOWN
    name = "wxyz" if evidence > 0 else "xyzw"
    return Stated(value=name, source="inferred", confidence=round(min(float(sure), 0.99), 4))


def _flips(attitudes: Sequence[np.ndarray]) -> float:
    """Nats for wxyz: where a stored quaternion jumps to its negative, w is near zero."""
    first, last = [], []
    for q in attitudes:
        jumped = np.flatnonzero((q[1:] * q[:-1]).sum(axis=1) < -0.5)
        near = np.abs(q[jumped]) + np.abs(q[jumped + 1])
        first += list(near[:, 0])
        last += list(near[:, 3])
    if not first:
        return 0.0
    a, b = float(np.median(first)), float(np.median(last))
    lower = (
        min(float(q[:, 0].min()) for q in attitudes),
        min(float(q[:, 3].min()) for q in attitudes),
    )
    # the component that is kept positive never goes below
    if a < 0.15 and lower[0] > -1e-3 and (b > 2 * a or lower[1] < -0.05):
        return 6.0
    if b < 0.15 and lower[1] > -1e-3 and (a > 2 * b or lower[0] < -0.05):
        return -6.0
    return 0.0


def _pointing(attitudes: Sequence[np.ndarray]) -> float:
    """Nats for wxyz: attitudes are near upright, or tools point down about x or y, mostly."""
    share = np.mean(np.concatenate(attitudes) ** 2, axis=0)
    # read as wxyz: upright (w), down (x or y), turned back (z); as xyzw: x, y, z, w
    usual = np.array([0.5, 0.25, 0.15, 0.1])
    wxyz, xyzw = float(share @ usual), float(share @ usual[[1, 2, 3, 0]])
    return float(np.clip(2.0 * np.log(wxyz / xyzw), -1.5, 1.5))


def _axes(attitudes: Sequence[np.ndarray], told: Sequence[np.ndarray], shift: int) -> float:
    """Nats for wxyz: the attitude turns about the axes that were commanded or read."""
    best = {
        order: _followed([ordered(q, order) for q in attitudes], told, shift) for order in ORDERS
    }
    return float(np.clip(best["wxyz"] - best["xyzw"], -_MOST, _MOST))


def _followed(attitudes: Sequence[np.ndarray], told: Sequence[np.ndarray], shift: int) -> float:
    """Nats by which attitudes w x y z turn as they are told, in base or in tool axes."""
    stride, best = 5, 0.0
    for body in (False, True):
        parts = []
        for q, w in zip(attitudes, told, strict=True):
            turn = vectors(q, stride, body=body)
            total = np.cumsum(np.vstack([np.zeros(3), w]), axis=0)
            command = total[stride:] - total[:-stride]
            rows = min(len(turn) - shift, len(command) - 1)
            if rows > 8:
                parts.append(np.hstack([command[1 : rows + 1], turn[shift : shift + rows]]))
        best = max(best, _agreement(parts))
    return best


def _agreement(parts: Sequence[np.ndarray]) -> float:
    """Nats of `turn = gain * command` axis by axis, gain positive, against no relation."""
    if not parts:
        return 0.0
    rows = np.concatenate(parts)
    x, y = rows[:, :3].ravel(), rows[:, 3:].ravel()
    gain = max(float(x @ y) / max(float(x @ x), 1e-300), 0.0)
    rest = y - gain * x
    n = sum(effective(p[:, 3]) for p in parts)
    return 0.5 * n * float(np.log(max(float(y @ y), 1e-300) / max(float(rest @ rest), 1e-300)))


def _chain(
    attitudes: Sequence[np.ndarray], joints: Sequence[np.ndarray],
    orders: Sequence[tuple[int, ...]], dt: float,
) -> float:  # fmt: skip
    """Nats for wxyz: a hinge's axis depends on the hinges before it, not on those behind it.

    In base axes, the tool's turn is the sum over hinges of axis times step. The same sum with
    axes that depend on the hinges behind fits as well only if the order is the wrong one.
    """
    stored = [ordered(q, "wxyz") for q in attitudes]
    ahead, behind = (chain_support(stored, joints, orders, dt, ahead=a) for a in (True, False))
    if max(ahead[0], behind[0]) < _CHAIN * ahead[1]:  # no chain at all
        return 0.0
    return float(np.clip(ahead[0] - behind[0], -_MOST, _MOST))


def chain_support(
    attitudes: Sequence[np.ndarray], joints: Sequence[np.ndarray],
    orders: Sequence[tuple[int, ...]], dt: float, *, ahead: bool = True,
) -> tuple[float, float]:  # fmt: skip
    """(nats, weight): how well joints explain the turns of attitudes w x y z, against nothing.

    orders: any of them may be the one from base to tip. ahead: axes depend on the hinges
    before, as in a chain; else on those behind. Zero of weight 1 where there is too little.
    """
    stride = max(2, round(_STEP / dt))
    turns, steps, places = [], [], []
    for q, theta in zip(attitudes, joints, strict=True):
        if len(q) <= 2 * stride:
            continue
        smooth = _smoothed(theta)
        turns.append(vectors(q, stride)[::2])
        steps.append((smooth[stride:] - smooth[:-stride])[::2])
        places.append(0.5 * (smooth[stride:] + smooth[:-stride])[::2])
    n = joints[0].shape[1]
    if sum(map(len, turns)) < 4 * n * n:
        return 0.0, 1.0
    turn, step, place = np.concatenate(turns), np.concatenate(steps), np.concatenate(places)
    place = place - place.mean(axis=0)
    shape = np.stack([np.cos(place) - 1.0, np.sin(place)], axis=2)
    total = max(float((turn * turn).sum()), 1e-300)
    weight = 0.25 * len(turn) / stride
    said = [
        -weight * np.log(_left_over(turn, step[:, o], shape[:, o], ahead) / total + 1e-12)
        for o in map(list, orders)
    ]
    return float(np.logaddexp.reduce(said)), weight


def _left_over(turn: np.ndarray, step: np.ndarray, shape: np.ndarray, ahead: bool) -> float:
    """Residual sum of turns (N, 3) on steps whose axes hinge on those before, or behind."""
    n = step.shape[1]
    columns = [step]
    for j in range(n):
        on = range(j) if ahead else range(j + 1, n)
        columns += [step[:, j : j + 1] * shape[:, k] for k in on]
    x = np.hstack(columns)
    fit = np.linalg.lstsq(x, turn, rcond=1e-6)[0]
    return float(((turn - x @ fit) ** 2).sum())


def _smoothed(values: np.ndarray) -> np.ndarray:
    """Three-frame means, ends as they are: steps of noisy angles are mostly noise."""
    out = values.copy()
    out[1:-1] = (values[:-2] + values[1:-1] + values[2:]) / 3.0
    return out


def angle_form(
    angles: Sequence[np.ndarray],
    joints: Sequence[np.ndarray] | None = None,
    commands: Sequence[np.ndarray] | None = None,
    shift: int = 0,
    orders: Sequence[Sequence[int]] = (),
    dt: float = 0.05,
) -> Stated:
    """axis_angle, rpy, ypr, euler_xyz or unknown, of three angles in rad a row.

    Args:
      angles: (T, 3) an episode.
      joints, commands, shift, orders, dt: as `quaternion_order`.
    """
    every = np.concatenate(list(angles))
    evidence: dict[str, float] = dict.fromkeys(list[str](ANGLES), 0.0)
    evidence["euler_xyz"] -= 1.5
    evidence["ypr"] -= 1.5
    if float(np.linalg.norm(every, axis=1).max()) > np.pi + 0.05:
        evidence["axis_angle"] -= 8.0
    for kind, middle in (("rpy", 1), ("ypr", 1), ("euler_xyz", 1)):
        if float(np.abs(every[:, middle]).max()) > np.pi / 2 + 0.05:
            evidence[kind] -= 8.0
    for kind in ANGLES:
        turned = [from_angles(a, kind) for a in angles]
        if joints is not None and 3 <= joints[0].shape[1] <= 8:
            tried = sorted({tuple(o) for o in orders} | {tuple(range(joints[0].shape[1]))})
            evidence[kind] += chain_support(turned, joints, tried, dt)[0]
        if commands is not None:
            evidence[kind] += _followed(turned, commands, shift)
    ranked = sorted(evidence.items(), key=lambda item: -item[1])
    margin = min(ranked[0][1] - ranked[1][1], _MOST)
    sure = 1.0 / (1.0 + 2.0 * np.exp(-0.7 * margin))
    if sure < 0.7:
        return UNKNOWN
    return Stated(
        value=ranked[0][0], source="inferred", confidence=round(min(float(sure), 0.99), 4)
    )
