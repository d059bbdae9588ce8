"""Does the run-time path feed and read the numbers that training did? No simulator.

These tests come first: a wrong unit, order or rate looks like friction to physics.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from gaploop.core import Episode, Evidence, Mend, PolicyContract, Signal
from gaploop.diagnose.config import DiagnoseConfig
from gaploop.policies import check_fit
from gaploop.signals import Permutation, frozen, lag, permutation, rate, ratio

STATED = 1e3
"""Bayes factor of two sides that state different things."""
MOST = 1e6
"""No Bayes factor of a log is believed beyond this."""


def contract_tests(
    policy: PolicyContract, episode: Episode, config: DiagnoseConfig, path: Sequence[Mend] = ()
) -> tuple[Evidence, ...]:
    """All red tests; nothing for a path that agrees with training.

    path: what all of a round's logs say of their run-time path (`gaploop.policies.path`): one
      episode may be too short or too near home to show it.
    """
    return (
        *_path(path, episode),
        *_stated(policy, episode),
        *_rate(policy, episode, config),
        *_units(policy, episode),
        *_order(episode),
        *_frozen(episode),
    )


def _evidence(
    test: str, factor: float, statistic: float, span: tuple[float, float], sentence: str,
    cause: str = "contract",
) -> Evidence:  # fmt: skip
    return Evidence(
        test=test, cause=cause, bayes_factor=min(factor, MOST), statistic=statistic,
        t0=span[0], t1=span[1], sentence=sentence,
    )  # fmt: skip


def _span(signal: Signal) -> tuple[float, float]:
    return (float(signal.times[0]), float(signal.times[-1])) if len(signal.times) else (0.0, 0.0)


def _path(path: Sequence[Mend], episode: Episode) -> Iterator[Evidence]:
    for mend in path:
        test = (
            "order" if mend.order != tuple(sorted(mend.order)) or min(mend.scale) < 0 else "units"
        )
        span = _span(episode.signals["action"])
        yield _evidence(test, STATED, 1.0, span, f"In all of the round's logs: {mend.sentence}")


def _stated(policy: PolicyContract, episode: Episode) -> Iterator[Evidence]:
    ends = [_span(s) for s in episode.signals.values()]
    span = (min(t for t, _ in ends), max(t for _, t in ends)) if ends else (0.0, 0.0)
    for sentence in check_fit(policy, episode.contract):
        yield _evidence("contract", STATED, 1.0, span, sentence)


def _rate(policy: PolicyContract, episode: Episode, config: DiagnoseConfig) -> Iterator[Evidence]:
    expected = policy.contract.control_rate.value
    action = episode.signals.get("action")
    if expected is None or action is None or len(action.times) < 3:
        return
    found = rate(action.times)
    off = found.hz / expected - 1.0
    if abs(off) > config.rate_tolerance:
        sentence = f"Commands came at {found.hz:.1f} Hz; the policy was trained at {expected:g} Hz."
        yield _evidence("rate", STATED, off, _span(action), sentence)
    if found.missing > 0.1 * found.frames or found.backwards or found.duplicates:
        bad = len(found.backwards) + len(found.duplicates)
        sentence = (
            f"The stamps are not regular: {found.missing} frames missing, "
            f"{bad} repeated or out of order."
        )
        yield _evidence("stamps", 30.0, float(found.missing + bad), _span(action), sentence)


def _units(policy: PolicyContract, episode: Episode) -> Iterator[Evidence]:
    """Live distance from training's mean, a feature at a time, against training's spread."""
    if not policy.input_std:
        return
    at = 0
    for key in policy.inputs:
        signal = episode.signals.get(key)
        if signal is None or signal.values.ndim != 2:
            return
        width = signal.values.shape[1]
        mean = np.array(policy.input_mean[at : at + width])
        std = np.array(policy.input_std[at : at + width])
        at += width
        if len(mean) != width or len(signal.values) == 0:
            return
        away = np.sqrt(np.nanmean((signal.values - mean) ** 2, axis=0))
        found = ratio(np.hypot(away, 0.05 * std), std)
        shared = found.shared
        plain = {c.name for c in found.columns}
        # one episode may stay near training's mean, so small only counts where all columns say so
        small = shared.factor < 1 and (width < 3 or plain != {shared.name})
        if shared.name in ("", "same unit", "no known factor") or shared.confidence < 0.95 or small:
            continue
        sentence = f"{key} spreads {shared.ratio:.3g} times as far as in training: {shared.name}?"
        factor = math.exp(min(shared.log_bayes_factor, 14.0))
        yield _evidence("units", factor, shared.ratio, _span(signal), sentence)


def _order(episode: Episode) -> Iterator[Evidence]:
    """Which joint answers which command."""
    action, state = episode.signals.get("action"), episode.signals.get("observation.state")
    if action is None or state is None or action.values.shape != state.values.shape:
        return
    if action.values.ndim != 2 or len(action.values) < 12:
        return
    shift = _shift(action, state)
    found = permutation(action.values, state.values, shift)
    if found.identity or found.log_bayes_factor < math.log(30.0):
        return
    absolute = episode.contract.action_mode.value == "absolute"
    if not (_nearer(action, state, found, shift) if absolute else found.log_bayes_factor > 7.0):
        return  # axes that move together correlate with each other, and are no fault
    names = state.columns or tuple(f"#{i}" for i in range(state.values.shape[1]))
    said = ", ".join(
        f"command {names[i]} moves {'-' if sign < 0 else ''}{names[j]}"
        for i, (j, sign) in enumerate(zip(found.order, found.signs, strict=True))
        if i != j or sign < 0
    )
    factor = math.exp(min(found.log_bayes_factor, 14.0))
    yield _evidence("order", factor, found.log_bayes_factor, _span(action), f"By the log, {said}.")


def _nearer(action: Signal, state: Signal, found: Permutation, shift: int) -> bool:
    """Whether each moved column ends far nearer to its command in the new place than in its own.

    Positions follow absolute commands, so a true exchange explains their values, too.
    """
    sent, seen = action.values[: len(action.values) - shift], state.values[shift:]
    for i, (j, sign) in enumerate(zip(found.order, found.signs, strict=True)):
        if i == j and sign > 0:
            continue
        swapped = np.sqrt(np.nanmean((sign * seen[:, j] - sent[:, i]) ** 2))
        given = np.sqrt(np.nanmean((seen[:, i] - sent[:, i]) ** 2))
        if swapped > 0.4 * given:
            return False
    return True


def _shift(action: Signal, state: Signal) -> int:
    """Frames by which the joints trail, as the column that says it best."""
    dt = 1.0 / action.rate if action.rate > 0 else 1.0
    found = [
        lag(action.values[:, c], state.values[:, c], dt) for c in range(action.values.shape[1])
    ]
    known = [f for f in found if f.ok]
    if not known:
        return 0
    best = max(known, key=lambda f: f.log_bayes_factor)
    return int(np.clip(round(best.seconds / dt), 0, len(action.times) // 3))


def _frozen(episode: Episode) -> Iterator[Evidence]:
    """A joint reading that repeats while its command moves."""
    action, state = episode.signals.get("action"), episode.signals.get("observation.state")
    if action is None or state is None or action.values.shape != state.values.shape:
        return
    if action.values.ndim != 2 or len(action.values) < 12:
        return
    names = state.columns or tuple(f"#{i}" for i in range(state.values.shape[1]))
    for c in range(state.values.shape[1]):
        travel = np.ptp(action.values[:, c])
        step = np.abs(np.diff(action.values[:, c], prepend=action.values[0, c]))
        moving = step > 0.02 * travel if travel > 0 else np.zeros(len(step), bool)
        for found in frozen(state.values[:, c], state.times, minimum=5, moving=moving):
            if _came_to_rest(state.values[:, c], state.times, found.span.t0, step):
                continue  # pressed against something, a joint repeats its place as well
            sentence = (
                f"{names[c]} repeats {found.value:.6g} for {found.span.frames} frames "
                "while its command moves."
            )
            span = (found.span.t0, found.span.t1)
            yield _evidence("frozen", 1.0 / max(found.p_value, 1e-5), float(found.span.frames),
                            span, sentence, "sensor")  # fmt: skip


def _came_to_rest(values: np.ndarray, times: np.ndarray, t0: float, step: np.ndarray) -> bool:
    """Whether a reading had stopped moving before it began to repeat.

    A sensor freezes in mid-motion. A joint that slows down first is held by something.
    """
    at = int(np.searchsorted(times, t0 - 1e-9))
    if at < 2:
        return False
    return bool(abs(values[at] - values[at - 1]) + abs(values[at - 1] - values[at - 2])
                < 0.02 * step[step > 0].mean())  # fmt: skip
