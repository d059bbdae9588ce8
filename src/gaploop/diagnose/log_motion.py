"""What the motion in one log says: limits reached, lag, sag, stops, a joint that never answers."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gaploop.core import Episode, Evidence, Signal
from gaploop.signals import droop, lag
from gaploop.signals.pairs import Pair
from gaploop.signals.spans import spans

_LONG = 0.1
"""s: a lag above this is more than most simulated servos have."""

_SHORTEST = 1e-6
"""s between readings; less is no clock of a robot, and windows in s mean nothing on it."""


def motion_evidence(episode: Episode, matched: tuple[Pair, ...]) -> Iterator[Evidence]:
    """Residuals between commands and readings, without any model."""
    yield from _at_limit(episode)
    for whole in matched:
        pair = _powered(episode, whole)
        if len(pair.times) < 20 or pair.dt < _SHORTEST:
            continue
        if not (np.isfinite(pair.command).all() and np.isfinite(pair.measured).all()):
            continue
        if pair.quantity in ("angle", "length", ""):
            yield from _answer(pair)
            yield from _rest(pair)
            yield from _stuck(pair)
    yield from _switched_off(episode)
    yield from _sagging_supply(episode)


def _at_limit(episode: Episode) -> Iterator[Evidence]:
    """A torque or effort command pressed against its limit, and what came of it."""
    action = episode.signals.get("action")
    if action is None or action.unit not in ("N m", "N", "A") or len(action.times) < 20:
        return
    sent = np.asarray(action.values, dtype=float).reshape(len(action.times), -1)
    for d in range(sent.shape[1]):
        force = sent[:, d]
        if not np.isfinite(force).all() or not np.any(force):
            continue
        limit = float(np.abs(force).max())
        full = np.abs(force) >= 0.995 * limit
        share = float(full.mean())
        if share < 0.5 or len(spans(full, action.times, 10)) == 0:
            continue
        times = action.times
        yield Evidence(
            test="saturation", cause="execution", bayes_factor=8.0 if share > 0.9 else 4.0,
            statistic=share, t0=float(times[full][0]), t1=float(times[full][-1]),
            sentence=f"The command sits at its limit of {limit:.3g} {action.unit} for "
            f"{100 * share:.0f} % of the attempt: the controller asked for all there is.",
        )  # fmt: skip
        if d == 0:
            yield from _one_way(episode, action, force)
            yield from _reach(episode, limit)


def _one_way(episode: Episode, action: Signal, force: np.ndarray) -> Iterator[Evidence]:
    """A command that never reverses takes energy out of every backswing."""
    speed = episode.signals.get("observation.velocity")
    if speed is None or np.any(force > 0) == np.any(force < 0):
        return
    w = np.asarray(speed.values, dtype=float).reshape(len(speed.times), -1)[:, 0]
    held = np.clip(np.searchsorted(action.times, speed.times, side="right") - 1, 0, len(force) - 1)
    power = force[held] * w
    moving = np.abs(w) > 0.25
    if moving.sum() < 20:
        return
    against = float(np.mean(power[moving] < 0))
    yield Evidence(
        test="work", cause="policy", bayes_factor=6.0, statistic=against,
        t0=float(speed.times[moving][0]), t1=float(speed.times[moving][-1]),
        sentence=f"The command never changes its sign; while the joint moved, it pushed against "
        f"the motion {100 * against:.0f} % of the time and took out what it had put in.",
    )  # fmt: skip


def _reach(episode: Episode, limit: float) -> Iterator[Evidence]:
    """Where the joint came to rest under full effort: what the load asks there."""
    state = episode.signals.get("observation.state")
    if state is None or state.unit != "rad" or len(state.times) < 40:
        return
    q = np.asarray(state.values, dtype=float).reshape(len(state.times), -1)[:, 0]
    if not np.isfinite(q).all():
        return
    tail = q[-len(q) // 4 :]
    rest, peak = float(np.median(tail)), float(np.abs(q).max())
    if np.ptp(tail) > 0.1 or abs(np.sin(rest)) < 0.05 or peak > 0.95 * np.pi:
        return
    holds = limit / abs(float(np.sin(rest)))
    yield Evidence(
        test="energy", cause="execution", bayes_factor=2.0, statistic=peak,
        t0=float(state.times[-len(tail)]), t1=float(state.times[-1]),
        sentence=f"Under {limit:.3g} N m the joint ends at rest at {rest:.2f} rad and never went "
        f"beyond {peak:.2f} rad: if gravity alone holds it there, level asks {holds:.2g} N m, so "
        f"the limit is {100 * limit / holds:.0f} % of what a direct lift needs.",
    )  # fmt: skip


def _answer(pair: Pair) -> Iterator[Evidence]:
    """How late the joint follows, or that it does not."""
    travel = float(np.ptp(pair.command))
    if travel <= 0:
        return
    stride = max(1, round(0.02 / pair.dt))
    count = len(pair.times) // stride * stride
    sent, seen = (x[:count].reshape(-1, stride).mean(axis=1) for x in (pair.command, pair.measured))
    dt = stride * pair.dt
    found = lag(sent, seen, dt, longest=max(14.0, 0.6 / dt))
    t0, t1 = float(pair.times[0]), float(pair.times[-1])
    if found.ok and found.lo > 0 and found.seconds > _LONG:
        yield Evidence(
            test="lag", cause="execution", bayes_factor=min(1.0 + found.seconds / _LONG, 4.0),
            statistic=found.seconds, t0=t0, t1=t1,
            sentence=f"{pair.measured_key} trails its command by {1e3 * found.seconds:.0f} ms "
            f"[{1e3 * found.lo:.0f}, {1e3 * found.hi:.0f}]; delay on the way and the servo's own "
            "answer add up in this figure.",
        )  # fmt: skip
    elif np.ptp(pair.measured) < 0.02 * travel:
        yield Evidence(
            test="no answer", cause="execution", bayes_factor=15.0,
            statistic=float(np.ptp(pair.measured)) / travel, t0=t0, t1=t1,
            sentence=f"{pair.command_key} travels {travel:.3g} {pair.unit}, {pair.measured_key} "
            f"only {np.ptp(pair.measured):.2g}: the command is not executed.",
        )  # fmt: skip


def _rest(pair: Pair) -> Iterator[Evidence]:
    """The error where joint and command stand still, against gravity's lever at a joint."""
    window = max(3, round(0.2 / pair.dt))
    travel = float(np.ptp(pair.command))
    calm = _calm(pair.measured, window) < 0.01 * travel
    calm &= _calm(pair.command, window) < 0.02 * travel
    if calm.sum() < window or travel <= 0:
        return
    error = (pair.command - pair.measured)[calm]
    typical = float(np.median(np.abs(error)))
    if typical < 0.02 * travel:
        return
    when = pair.times[calm]
    found = droop(pair.command - pair.measured, np.sin(pair.measured), calm)
    loaded = pair.quantity == "angle" and found.slope > 0 and found.lo > 0
    yield Evidence(
        test="droop" if loaded else "offset at rest",
        cause="execution" if loaded else "mechanical",
        bayes_factor=4.0 if loaded else 1.5,
        statistic=found.slope if loaded else float(np.median(error)),
        t0=float(when[0]), t1=float(when[-1]),
        sentence=f"At rest {pair.measured_key} stays {typical:.3g} {pair.unit} from its command"
        + (
            ", more where gravity has the longer lever: the position loop is too soft for the load."
            if loaded
            else f" (median {np.median(error):+.3g}): zero offset, friction or load, which one "
            "resting pose cannot tell apart."
        ),
    )  # fmt: skip


def _stuck(pair: Pair) -> Iterator[Evidence]:
    """A reading that stands still while its command moves on."""
    window = max(3, round(0.3 / pair.dt))
    travel = float(np.ptp(pair.command))
    held = (_calm(pair.measured, window) == 0) & (_calm(pair.command, window) > 0.02 * travel)
    found = spans(held, pair.times, window)
    if not found or travel <= 0 or np.ptp(pair.measured) < 0.02 * travel:
        return
    longest = max(found, key=lambda s: s.frames)
    moved = float(np.ptp(pair.command[longest.start : longest.stop]))
    yield Evidence(
        test="stop", cause="dynamics", bayes_factor=2.0, statistic=longest.t1 - longest.t0,
        t0=longest.t0, t1=longest.t1,
        sentence=f"{pair.measured_key} stands exactly still for {longest.t1 - longest.t0:.2f} s "
        f"while its command moves {moved:.2g} {pair.unit}: static friction, a stop, or a dead "
        "reading.",
    )  # fmt: skip


def _powered(episode: Episode, pair: Pair) -> Pair:
    """The longest stretch with torque enabled: a joint that swings freely follows nothing."""
    signal = episode.signals.get("observation.torque_enable")
    if signal is None or not len(signal.times):
        return pair
    state = np.asarray(signal.values, dtype=float).reshape(len(signal.times), -1)[:, 0] >= 0.5
    held = np.clip(np.searchsorted(signal.times, pair.times, "right") - 1, 0, len(state) - 1)
    found = max(spans(state[held], pair.times), key=lambda s: s.frames, default=None)
    rows = slice(found.start, found.stop) if found else slice(0, 0)
    return replace(
        pair, times=pair.times[rows], command=pair.command[rows], measured=pair.measured[rows]
    )


def _switched_off(episode: Episode) -> Iterator[Evidence]:
    signal = episode.signals.get("observation.torque_enable")
    if signal is None:
        return
    off = np.asarray(signal.values, dtype=float).reshape(len(signal.times), -1)[:, 0] < 0.5
    for found in spans(off, signal.times, 5)[:1]:
        yield Evidence(
            test="torque off", cause="execution", bayes_factor=1.0, statistic=float(off.mean()),
            t0=found.t0, t1=found.t1,
            sentence=f"Torque is switched off from {found.t0:.2f} s to {found.t1:.2f} s; commands "
            "of that time did nothing.",
        )  # fmt: skip


def _sagging_supply(episode: Episode) -> Iterator[Evidence]:
    signal = episode.signals.get("observation.voltage")
    if signal is None or len(signal.times) < 20:
        return
    volts = np.asarray(signal.values, dtype=float).reshape(len(signal.times), -1)[:, 0]
    if not np.isfinite(volts).all():
        return
    usual = float(np.median(volts))
    low = volts < 0.85 * usual
    if low.sum() < 5:
        return
    yield Evidence(
        test="supply", cause="execution", bayes_factor=1.5, statistic=float(volts.min()),
        t0=float(signal.times[low][0]), t1=float(signal.times[low][-1]),
        sentence=f"The supply falls from {usual:.1f} V to {volts.min():.1f} V under load "
        f"({100 * low.mean():.0f} % of the time below 85 %), and torque with it.",
    )  # fmt: skip


def _calm(x: np.ndarray, window: int) -> np.ndarray:
    """(T,) travel of a series over a window centred on each frame."""
    pad = window // 2
    view = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, (pad, window - 1 - pad), "edge"), window
    )
    return np.ptp(view, axis=1)
