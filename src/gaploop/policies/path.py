"""What a run-time path does to a policy's numbers, estimated from logs, as mends.

Only faults that a log names exactly are mended: a factor between known units, and an
order or sign of joint readings that all episodes agree on. A log cannot tell whether the
readings or the commands of swapped joints stand wrongly; the reading is mended, and the
next round's attempts say whether that was it.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from gaploop.core import Episode, Mend, PolicyContract, Signal
from gaploop.signals import lag, permutation, ratio

CONFIDENT: Final = 0.99
AGREED: Final = 0.25
"""Share of episodes that must name the same order by themselves."""
NATS: Final = 8.0
"""Log Bayes factor from which an episode names an order."""
STATE: Final = "observation.state"
Assignment = tuple[tuple[int, ...], tuple[int, ...]]
"""Column of each part, and its sign."""


def path_mends(contract: PolicyContract, episodes: Sequence[Episode]) -> tuple[Mend, ...]:
    """Contract mends that make these logs what the policy was trained on; none for a sound path.

    episodes: one robot's, of one path, all with the features of `contract`.
    """
    found = [*_units(contract, episodes), *_order(contract, episodes)]
    return tuple(found)


def _units(contract: PolicyContract, episodes: Sequence[Episode]) -> list[Mend]:
    """A feature whose distance from training's mean is a unit's factor times its spread."""
    if not contract.input_std or not episodes:
        return []
    found: list[Mend] = []
    at = 0
    for key in contract.inputs:
        feature = contract.contract.feature(key)
        width = len(feature.columns) if feature else 0
        mean = np.array(contract.input_mean[at : at + width])
        std = np.array(contract.input_std[at : at + width])
        at += width
        signals = [e.signals[key] for e in episodes if key in e.signals]
        rows = [_table(s) for s in signals if _table(s).shape[1] == width]
        if key == "action" or not rows or len(rows) < len(episodes) or not width:
            continue
        table = np.concatenate(rows)
        if not np.isfinite(table).any(axis=0).all():  # a column nobody read
            continue
        away = np.sqrt(np.nanmean((table - mean) ** 2, axis=0))
        shared = ratio(np.hypot(away, 0.05 * std), std).shared
        # a robot may stay near home, so less than in training is no unit
        if "instead of" in shared.name and shared.factor > 1 and shared.confidence > CONFIDENT:
            said = f"{key} is told in other units than in training ({shared.name})."
            found.append(_mend(key, range(width), [1 / shared.factor] * width, said))
    return found


def _order(contract: PolicyContract, episodes: Sequence[Episode]) -> list[Mend]:
    """Which joint answers which command, where positions follow absolute commands."""
    if contract.contract.action_mode.value != "absolute":
        return []
    asked: list[tuple[np.ndarray, np.ndarray]] = []
    named: Counter[Assignment] = Counter()
    for episode in episodes:
        action, state = episode.signals.get("action"), episode.signals.get(STATE)
        if action is None or state is None or len(action.times) < 12:
            continue
        sent, seen = _table(action), _table(state)
        if sent.shape != seen.shape or not np.isfinite(sent).all() or not np.isfinite(seen).all():
            continue
        shift = _shift(action, state)
        pair = sent[: len(sent) - shift], seen[shift:]
        which = permutation(sent, seen, shift)
        asked.append(pair)
        if which.log_bayes_factor > NATS and _explains([pair], (which.order, which.signs)):
            named[which.order, which.signs] += 1
    if not named:
        return []
    (order, signs), count = named.most_common(1)[0]
    # an attempt along a diagonal names nobody, so all are asked whether it fits them
    if count < max(2.0, AGREED * len(asked)) or not _explains(asked, (order, signs)):
        return []
    said = "Joint readings stand in another order or sign than their commands."
    return [_mend(STATE, order, [float(s) for s in signs], said)]


def _explains(pairs: Sequence[tuple[np.ndarray, np.ndarray]], key: Assignment) -> bool:
    """Whether the moved columns follow their commands far closer in the new place."""
    order, signs = key
    moved = [i for i, (j, s) in enumerate(zip(order, signs, strict=True)) if i != j or s < 0]
    before = after = 0.0
    for sent, seen in pairs:
        for i in moved:
            before += float(np.sum((seen[:, i] - sent[:, i]) ** 2))
            after += float(np.sum((signs[i] * seen[:, order[i]] - sent[:, i]) ** 2))
    return after < 0.2 * before


def _shift(action: Signal, state: Signal) -> int:
    """Frames by which the joints trail, as the column that says it best."""
    dt = 1.0 / action.rate if action.rate > 0 else 1.0
    sent, seen = _table(action), _table(state)
    known = [f for f in (lag(sent[:, c], seen[:, c], dt) for c in range(sent.shape[1])) if f.ok]
    if not known:
        return 0
    best = max(known, key=lambda f: f.log_bayes_factor)
    return int(np.clip(round(best.seconds / dt), 0, len(action.times) // 3))


def _mend(key: str, order: Sequence[int], scale: Sequence[float], sentence: str) -> Mend:
    return Mend(
        feature=key, cause="contract", order=tuple(order), scale=tuple(scale),
        offset=(0.0,) * len(scale), sentence=sentence,
    )  # fmt: skip


def _table(signal: Signal) -> np.ndarray:
    """(T, d) float64."""
    values = np.asarray(signal.values, dtype=float)
    return values.reshape(len(values), -1)
