"""What a log does not say about its own numbers, inferred from them, or left unknown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gaploop.core import UNKNOWN, Contract, Episode, Signal, Stated
from gaploop.ingest.contracts import action, gripper, scale, timing
from gaploop.ingest.contracts.features import filled, open_to, said
from gaploop.ingest.contracts.layout import Block, Layout, layout, same_layout, sample, tables


def infer(episodes: Sequence[Episode], declared: Contract | None = None) -> Contract:
    """The contract of one robot's episodes: what is declared stays, the rest is inferred.

    What is only assumed, as a table of published sets assumes it, gives way to surer inference.
    Every inferred statement carries the probability that it is right; a field that the log
    cannot answer stays unknown.

    Args:
      episodes: of one robot and one recorder.
      declared: what the source states; the first episode's contract where it is None.
    """
    if not episodes:
        return declared or Contract()
    stated = declared if declared is not None else episodes[0].contract
    chosen = sample(episodes)
    if not chosen:
        return stated
    found = layout(chosen)
    log_rate, control_rate = timing.rates(chosen)
    dt = 1.0 / log_rate.value if log_rate.value else 1.0
    joint, length = _units(chosen, found, stated)
    meant = action.meaning(chosen, found, dt, joint, length, stated)
    answers: dict[str, Stated] = {
        "action_space": meant.space,
        "action_mode": meant.mode,
        "action_reference": meant.reference,
        "joint_map": meant.joint_map,
        "log_rate": log_rate,
        "control_rate": control_rate,
        "lag": timing.robot_lag(meant.way, dt * meant.way.stride) if meant.way else UNKNOWN,
    }
    if meant.role.value == "state":  # readings under another name have no lag of their own
        answers["lag"] = answers["control_rate"] = UNKNOWN
    answers["gripper_polarity"], answers["gripper_range"] = _gripper(chosen, found)
    features = filled(chosen, stated, found, meant, joint, length, dt)
    unsaid = {k: v for k, v in answers.items() if open_to(getattr(stated, k), v)}
    return replace(stated, features=features, **unsaid)


def shifted(episodes: Sequence[Episode], declared: Contract | None = None) -> timing.Shifted:
    """Which of one robot's episodes have their actions stored off by some frames.

    Looks at every episode of at least 12 rows; nothing is named where commands mean nothing,
    or are told relative to the reading of the same row.
    """
    stated = declared or (episodes[0].contract if episodes else Contract())
    long = [i for i, e in enumerate(episodes) if len(e.signals.get("action", _NONE).times) >= 12]
    chosen = [episodes[i] for i in long]
    if len(chosen) < 4:
        return timing.Shifted(odd=(), lags=())
    some = sample(chosen)
    found = layout(some)
    log_rate, _ = timing.rates(some)
    dt = 1.0 / log_rate.value if log_rate.value else 1.0
    joint, length = _units(some, found, stated)
    way = action.meaning(some, found, dt, joint, length, stated).way
    if way is None or not same_layout(chosen, found):
        return timing.Shifted(odd=(), lags=())
    way = action.retold(way, chosen, found)
    answer = timing.shifted(way, expected=_frames(stated.lag, dt))
    return replace(answer, odd=tuple(long[i] for i in answer.odd))


def _frames(lag: Stated, dt: float) -> float | None:
    """A stated lag in frames."""
    value = lag.value.get("seconds") if isinstance(lag.value, Mapping) else lag.value
    return float(value) / dt if isinstance(value, (int, float)) else None


_NONE = Signal(name="", times=np.zeros(0), values=np.zeros((0, 1)))


def _units(episodes: Sequence[Episode], found: Layout, stated: Contract) -> tuple[Stated, Stated]:
    """Units of joints and of a place: declared, or by the size of the numbers."""
    return (
        _unit(episodes, found.joints, stated, scale.joint_unit),
        _unit(episodes, found.place, stated, scale.length_unit),
    )


def _unit(
    episodes: Sequence[Episode], block: Block | None, stated: Contract,
    guess: Callable[[np.ndarray], tuple[str | None, float]],
) -> Stated:  # fmt: skip
    if block is None:
        return UNKNOWN
    known = _declared_unit(stated, block)
    if known.source != "unknown":
        return known
    return said(*guess(np.concatenate(tables(episodes, block))))


def _declared_unit(stated: Contract, block: Block) -> Stated:
    feature = stated.feature(block.key)
    if feature is None or feature.unit.source == "unknown":
        return UNKNOWN
    value = feature.unit.value
    if isinstance(value, (tuple, list)):
        value = value[block.columns[0]] if block.columns[0] < len(value) else None
    return replace(feature.unit, value=value) if value is not None else UNKNOWN


def _gripper(episodes: Sequence[Episode], found: Layout) -> tuple[Stated, Stated]:
    if found.grip_command is None:
        return UNKNOWN, UNKNOWN
    sent = [t[:, 0] for t in tables(episodes, found.grip_command)]
    seen = None
    if found.grip_reading is not None:
        seen = [t[:, 0] for t in tables(episodes, found.grip_reading)]
    return gripper.polarity(sent, seen)
