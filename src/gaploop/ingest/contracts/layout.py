"""Which columns of a log are joints, a place, a quaternion, a gripper: by name and by value."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core import Episode
from gaploop.ingest.contracts.motion import together

_GRIPPER = re.compile(r"grip|finger|jaw|claw", re.IGNORECASE)
_PLACE = re.compile(r"(^|[._/])d?(?:elta_?)?(?:pos[._]?|p)?[xyz]$", re.IGNORECASE)
_SHORTEST = 8
"""Rows below which an episode says nothing."""
_WIDEST = 512
"""Columns above which a feature is a picture or a feature vector, not a robot."""
_MOST = 8_000
"""Rows an inference looks at; whole episodes are taken evenly until this many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Columns of one feature that mean one thing."""

    key: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What there is to reason about; None where the log has no such columns."""

    action: Block | None
    """Columns of `action` but the gripper's."""
    joints: Block | None
    place: Block | None
    quaternion: Block | None
    angles: Block | None
    """Three numbers that are an attitude, where there is no quaternion."""
    grip_command: Block | None
    grip_reading: Block | None


def sample(episodes: Sequence[Episode]) -> list[Episode]:
    """Episodes spread over the set, of at most some 8,000 rows together, at least one."""
    rows = np.array([_rows(e) for e in episodes])
    keep = np.flatnonzero(rows >= _SHORTEST)
    if not len(keep):
        return []
    stride = max(1, int(np.ceil(rows[keep].sum() / _MOST)))
    return [episodes[i] for i in keep[::stride]]


def _rows(episode: Episode) -> int:
    signal = episode.signals.get("action") or next(iter(episode.signals.values()), None)
    return 0 if signal is None else len(signal.times)


def tables(episodes: Sequence[Episode], block: Block) -> list[np.ndarray]:
    """(T, k) float64 of a block in each episode, on the stamps of its action where it has one."""
    out: list[np.ndarray] = []
    for episode in episodes:
        signal = episode.signals[block.key]
        values = np.asarray(signal.values, float).reshape(len(signal.times), -1)
        values = values[:, list(block.columns)]
        action = episode.signals.get("action")
        if action is not None and len(action.times) and not _same(action.times, signal.times):
            values = np.stack(
                [np.interp(action.times, signal.times, column) for column in values.T], axis=1
            )
        out.append(values)
    return out


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return len(a) == len(b) and bool(np.allclose(a, b, rtol=0, atol=1e-6))


def layout(episodes: Sequence[Episode]) -> Layout:
    """The blocks of the features that all `episodes` have, in the same width."""
    usable = [k for k in sorted(episodes[0].signals) if _common(episodes, k)]
    readings = [k for k in usable if k.startswith("observation.")]
    quaternion = next((q for k in readings if (q := _quaternion(episodes, k))), None)
    place = _place(episodes, readings, quaternion)
    taken = {(b.key, c) for b in (quaternion, place) if b for c in b.columns}
    action = "action" if "action" in usable else None
    command = (_gripper(episodes, [action]) or _switch(episodes, action)) if action else None
    reading = _gripper(episodes, readings)
    if command and not reading:
        reading = _partner(episodes, readings, command, taken)
    taken |= {(b.key, c) for b in (command, reading) if b for c in b.columns}
    angles = None if quaternion or not place else _angles(episodes, place, taken)
    taken |= {(angles.key, c) for c in angles.columns} if angles else set()
    return Layout(
        action=_rest(episodes, action, taken) if action else None,
        joints=_joints(episodes, readings, taken),
        place=place,
        quaternion=quaternion,
        angles=angles,
        grip_command=command,
        grip_reading=reading,
    )


def same_layout(episodes: Sequence[Episode], found: Layout) -> bool:
    """Whether all episodes have what `found` is about, finite and in one width."""
    blocks = (found.action, found.joints, found.place)
    return all(_common(episodes, b.key) for b in blocks if b is not None)


def _common(episodes: Sequence[Episode], key: str) -> bool:
    signals = [e.signals.get(key) for e in episodes]
    if any(s is None or s.values.dtype.kind not in "fiub" or not len(s.times) for s in signals):
        return False
    widths = {s.values.size // len(s.values) for s in signals if s is not None}
    return (
        len(widths) == 1
        and 0 < max(widths) <= _WIDEST
        and all(bool(np.isfinite(s.values).all()) for s in signals if s is not None)
    )


def _names(episodes: Sequence[Episode], key: str) -> tuple[str, ...]:
    signal = episodes[0].signals[key]
    width = signal.values.size // len(signal.values)
    return signal.columns if len(signal.columns) == width else ("",) * width


def is_gripper(name: str) -> bool:
    """Whether a column's name is a gripper's."""
    return bool(_GRIPPER.search(name))


def unit_blocks(values: np.ndarray) -> list[int]:
    """Where four neighbouring columns of (T, d) have norm one and turn."""
    return [
        c
        for c in range(values.shape[1] - 3)
        if float(np.mean(np.abs(np.linalg.norm(values[:, c : c + 4], axis=1) - 1) < 0.02)) > 0.98
        and np.ptp(values[:, c : c + 4], axis=0).max() > 1e-3
    ]


def _quaternion(episodes: Sequence[Episode], key: str) -> Block | None:
    width = len(_names(episodes, key))
    if width < 4:
        return None
    block = Block(key=key, columns=tuple(range(width)))
    starts = unit_blocks(np.concatenate(tables(episodes, block)))
    if not starts:
        return None
    return Block(key=key, columns=tuple(range(starts[0], starts[0] + 4)))


def _place(
    episodes: Sequence[Episode], readings: Sequence[str], quaternion: Block | None
) -> Block | None:
    for key in readings:
        named = [i for i, n in enumerate(_names(episodes, key)) if _PLACE.search(n)]
        if len(named) == 3:
            return Block(key=key, columns=tuple(named))
    if quaternion and quaternion.columns[0] >= 3:
        first = quaternion.columns[0]
        return Block(key=quaternion.key, columns=(first - 3, first - 2, first - 1))
    return None


def _angles(episodes: Sequence[Episode], place: Block, taken: set[tuple[str, int]]) -> Block | None:
    """The three columns behind a place, if they are as large as angles in rad are."""
    first = place.columns[-1] + 1
    block = Block(key=place.key, columns=(first, first + 1, first + 2))
    if first + 3 > len(_names(episodes, place.key)):
        return None
    if any((place.key, c) in taken for c in block.columns):
        return None
    values = np.concatenate(tables(episodes, block))
    fits = np.abs(values).max() <= 2 * np.pi + 0.1 and np.ptp(values, axis=0).min() > 1e-3
    return block if fits else None


def _joints(
    episodes: Sequence[Episode], readings: Sequence[str], taken: set[tuple[str, int]]
) -> Block | None:
    keys = [k for k in ("observation.state", "observation.joint_positions") if k in readings]
    keys += [k for k in readings if "joint" in k and "vel" not in k and k not in keys]
    for key in keys:
        block = _rest(episodes, key, taken)
        if block:
            return block
    return None


def _rest(episodes: Sequence[Episode], key: str, taken: set[tuple[str, int]]) -> Block | None:
    names = _names(episodes, key)
    free = tuple(i for i, n in enumerate(names) if (key, i) not in taken and not _GRIPPER.search(n))
    return Block(key=key, columns=free) if free else None


def _gripper(episodes: Sequence[Episode], keys: Sequence[str]) -> Block | None:
    for key in keys:
        found = [i for i, n in enumerate(_names(episodes, key)) if _GRIPPER.search(n)]
        if found or ("gripper" in key and len(_names(episodes, key)) == 1):
            return Block(key=key, columns=(found[0] if found else 0,))
    return None


def _switch(episodes: Sequence[Episode], key: str) -> Block | None:
    """The one command that jumps between two ends and rests there: a gripper without a name."""
    width = len(_names(episodes, key))
    values = np.concatenate(tables(episodes, Block(key=key, columns=tuple(range(width)))))
    low, high = values.min(axis=0), values.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    share = (values - low) / span
    ends = ((share < 0.02) | (share > 0.98)).mean(axis=0)
    both = np.minimum((share < 0.02).mean(axis=0), (share > 0.98).mean(axis=0))
    found = np.flatnonzero((ends > 0.9) & (both > 0.05) & (high > low))
    return Block(key=key, columns=(int(found[0]),)) if len(found) == 1 else None


def _partner(
    episodes: Sequence[Episode],
    readings: Sequence[str],
    command: Block,
    taken: set[tuple[str, int]],
) -> Block | None:
    """The reading that follows a gripper's command, up or down, far better than any other."""
    sent = np.concatenate(tables(episodes, command))[:, 0]
    found: list[tuple[float, Block]] = []
    for key in readings:
        for c in range(len(_names(episodes, key))):
            if (key, c) in taken:
                continue
            seen = np.concatenate(tables(episodes, Block(key=key, columns=(c,))))[:, 0]
            if len(seen) == len(sent) and seen.std() > 0 and sent.std() > 0:
                r = max(abs(together(sent[: len(sent) - k], seen[k:]))
                        for k in (1, 3, 6, 10))  # fmt: skip
                found.append((r, Block(key=key, columns=(c,))))
    found.sort(key=lambda item: -item[0])
    clear = found and found[0][0] > 0.6 and (len(found) == 1 or found[1][0] < found[0][0] - 0.15)
    return found[0][1] if clear else None
