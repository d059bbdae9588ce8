"""How well each reading follows its command: lag, sign, gain, offset, and who follows whom."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.core.units import FACTORS
from gaploop.ingest.checks.batch import Batch, Stream, label
from gaploop.ingest.checks.crossing import crossings, masked_mean
from gaploop.ingest.checks.roles import commanded, grippers, quaternions
from gaploop.ingest.checks.summary import Watcher

_LEAD, _LONGEST = 8, 24
"""Frames a reading may be stamped before or after its command."""
TRIALS = np.arange(-_LEAD, _LONGEST + 1)
"""Frames from command to reading that are tried."""
_FOR_LAG = 4
"""Pairs that the lag is taken from: the ones that follow best."""
_MIRRORED = 0.97
_SHORTEST = _LEAD + _LONGEST + 8
_FINE = 0.02
"""s; faster logs are averaged to about this period before lags are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """One command and the reading that should follow it, over the episodes that have both.

    (p, E) where nothing else is said; NaN where a column does not move.
    """

    command: str
    reading: str
    labels: tuple[str, ...]
    """(p,) one a pair: `action[name] -> observation.state`."""
    known: bool
    """Whether the units of both sides are."""
    gripper: tuple[int, ...]
    """Pairs that open and close."""
    index: np.ndarray
    """(E,) which episodes."""
    period: np.ndarray
    """(E,) s between the frames that were compared."""
    lag: np.ndarray
    """(E,) s from command to reading, negative where the reading comes first."""
    profile: np.ndarray
    """(L, E) how badly each lag of `TRIALS` explains the readings: mean of log(1 - r^2)."""
    correlation: np.ndarray
    """At the best lag."""
    gain: np.ndarray
    """Reading per command."""
    offset: np.ndarray
    """Mean of the reading less mean of the command it answers."""
    spread: np.ndarray
    """sd of the command."""
    summed: np.ndarray
    """Correlation of the reading with the running sum of the command."""
    summed_gain: np.ndarray
    """Reading per running sum of the command."""
    crossed: tuple[tuple[int, int, int], ...]
    """(episode, i, j) where reading i follows command j and reading j command i."""


class Followers(Watcher):
    """Compares commands and readings batch by batch."""

    def __init__(self, config) -> None:
        super().__init__(config)
        self._parts: dict[tuple, list[dict]] = {}

    def see(self, batch: Batch) -> None:
        for command, reading, columns in _partners(batch):
            names = [command.columns[a] for a, _ in columns]
            keys = tuple(f"{label(command.key, (n, ''))[0]} -> {reading.key}" for n in names)
            part = _compare(batch, command, reading, columns)
            if part is not None:
                known = command.unit in _DIMENSION
                name = (command.key, reading.key, keys, known, tuple(grippers(names)))
                self._parts.setdefault(name, []).append(part)

    @property
    def found(self) -> Iterator[Following]:
        """One a pair of features."""
        for (command, reading, labels, known, gripper), parts in self._parts.items():
            arrays = {
                n: np.concatenate([p[n] for p in parts], axis=-1)
                for n in parts[0]
                if n != "crossed"
            }
            yield Following(
                command=command, reading=reading, labels=labels, known=known, gripper=gripper,
                crossed=tuple(c for p in parts for c in p["crossed"]), **arrays,
            )  # fmt: skip


def _partners(batch: Batch) -> Iterator[tuple[Stream, Stream, list[tuple[int, int]]]]:
    """Each command with the one reading that should follow it."""
    modes = {s.mode for s in batch.said}
    if modes & {"delta", "velocity"}:
        return
    for key, command in sorted(batch.streams.items()):
        if key != "action" and not key.startswith("action."):
            continue
        best: tuple[int, Stream, list[tuple[int, int]]] | None = None
        for other, reading in sorted(batch.streams.items()):
            if not other.startswith("observation.") or not _comparable(command, reading):
                continue
            # parts of a quaternion are no joints: they have no zero, sign or gain of their own
            turned = {i + k for i, _ in quaternions(command.columns) for k in range(4)}
            columns = [c for c in commanded(command.columns, reading.columns) if c[0] not in turned]
            rank = 2 * len(columns) + (other == "observation.state")
            if columns and (best is None or rank > best[0]):
                best = (rank, reading, columns)
        if best is not None:
            yield command, best[1], best[2]


def _comparable(command: Stream, reading: Stream) -> bool:
    """Both without a unit, or in units of one dimension."""
    ours, theirs = _DIMENSION.get(command.unit), _DIMENSION.get(reading.unit)
    return ours == theirs if ours or theirs else command.unit == reading.unit


_DIMENSION = {
    u: d for d, units in {
        "angle": ("rad", "deg", "mrad"), "length": ("m", "cm", "mm", "um"),
        "turn": ("rad/s", "deg/s"), "speed": ("m/s", "mm/s"),
    }.items() for u in units
}  # fmt: skip


def _compare(
    batch: Batch, command: Stream, reading: Stream, columns: Sequence[tuple[int, int]]
) -> dict | None:
    """The arrays of `Following` for one batch."""
    stride = _stride(reading)
    lengths = reading.lengths // stride
    # a command that stands alone in time is held until the next one
    usable = np.flatnonzero((lengths >= _SHORTEST) & (command.lengths > 1))
    if not len(usable):
        return None
    sent_of, read_of = [a for a, _ in columns], [b for _, b in columns]
    longest = int(lengths[usable].max())
    shape = (len(columns), len(usable), longest)
    sent, seen = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    mask = np.zeros((len(usable), longest), np.float32)
    si = FACTORS.get(command.unit, 1.0), FACTORS.get(reading.unit, 1.0)
    means = np.zeros((2, len(columns), len(usable)))
    together = command.times is reading.times or np.array_equal(command.times, reading.times)
    for k, e in enumerate(usable):
        n = int(lengths[e])
        rows = reading.rows(int(e))
        theirs = reading.x[read_of, rows] * si[1]
        ours = (
            command.x[sent_of, rows] * si[0]
            if together
            else _held(command, reading, int(e), sent_of) * si[0]
        )
        theirs, ours = _averaged(theirs, stride, n), _averaged(ours, stride, n)
        means[0, :, k], means[1, :, k] = ours.mean(axis=1), theirs.mean(axis=1)
        sent[:, k, :n] = ours - means[0, :, k, None]
        seen[:, k, :n] = theirs - means[1, :, k, None]
        mask[k, :n] = 1
    steps = np.diff(reading.times)
    period = float(np.median(steps[steps > 0])) * stride if np.any(steps > 0) else 1.0
    counts = lengths[usable]
    inner = mask.copy()
    inner[:, : _LONGEST + 1] = 0
    at = np.arange(longest)[None, :]
    inner[at >= counts[:, None] - _LEAD] = 0
    names = [command.columns[a] for a in sent_of]
    choice = _choice(sent, seen, set(grippers(names)))
    lag, profile = _lags(sent[choice], seen[choice], inner)
    whole = np.rint(np.nan_to_num(lag)).astype(int)
    shifted = np.take_along_axis(sent, np.clip(at - whole[:, None], 0, longest - 1)[None], axis=2)
    correlation, gain = _fit(shifted, seen, inner)
    # the sum of what was sent, not of its deviations: steps add up to a place
    total = np.cumsum((sent + means[0, :, :, None].astype(np.float32)) * mask, axis=2)
    summed = _fit(total - total[:, :, :1], seen, mask)
    # the parts of a move that both sides made, so that the way still to go is no offset
    apart = masked_mean(seen - shifted, inner) + means[1] - means[0]
    moves = sent.std(axis=2) * np.sqrt(longest / counts)
    return {
        "index": batch.first + usable,
        "period": np.full(len(usable), period),
        "lag": lag * period,
        "profile": profile.astype(np.float32),
        "correlation": correlation,
        "gain": gain,
        "offset": apart,
        "spread": moves,
        "summed": summed[0],
        "summed_gain": summed[1],
        "crossed": tuple(
            (batch.first + int(usable[k]), i, j)
            for k, i, j in crossings(
                shifted, seen, inner, correlation, means[1] - means[0], means[0]
            )
        ),
    }


def _stride(reading: Stream) -> int:
    steps = np.diff(reading.times)
    steps = steps[steps > 0]
    return max(1, round(_FINE / float(np.median(steps)))) if len(steps) else 1


def _averaged(x: np.ndarray, stride: int, n: int) -> np.ndarray:
    """Means of neighbours: both sides lose the same half block, so their lag stays."""
    return x if stride == 1 else x[:, : n * stride].reshape(len(x), n, stride).mean(axis=2)


def _held(command: Stream, reading: Stream, episode: int, columns: list[int]) -> np.ndarray:
    sent, seen = command.rows(episode), reading.rows(episode)
    at = np.searchsorted(command.times[sent], reading.times[seen], side="right") - 1
    return command.x[columns, sent][:, np.clip(at, 0, None)]


def _choice(sent: np.ndarray, seen: np.ndarray, gripper: set[int]) -> list[int]:
    """Pairs whose lag says most; grippers stop at objects, so they come last."""
    together = np.abs(_fit(sent, seen, np.ones(sent.shape[1:], np.float32))[0])
    score = np.median(np.nan_to_num(together), axis=1)
    score = score - np.array([2.0 * (i in gripper) for i in range(len(score))])
    return list(np.argsort(-score, kind="stable")[:_FOR_LAG])


def _fit(x: np.ndarray, y: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Correlation and slope (p, E) of y on x over the masked frames; NaN without motion."""
    n = np.maximum(mask.sum(axis=1), 1)
    x, y = x * mask, y * mask
    mx, my = x.sum(axis=2, dtype=np.float64) / n, y.sum(axis=2, dtype=np.float64) / n
    xx = np.einsum("pet,pet->pe", x, x) / n - mx**2
    yy = np.einsum("pet,pet->pe", y, y) / n - my**2
    xy = np.einsum("pet,pet->pe", x, y) / n - mx * my
    tiny = 1e-10
    fine = (xx > tiny) & (yy > tiny)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (
            np.where(fine, xy / np.sqrt(np.where(fine, xx * yy, 1)), np.nan),
            np.where(fine, xy / np.where(fine, xx, 1), np.nan),
        )


def _lags(sent: np.ndarray, seen: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(E,) frames at which the readings are explained best, to a fraction; NaN if nothing moves.

    The mean over pairs of log(1 - correlation^2) is the profile log likelihood of one
    shared lag, given beside it, (L, E); a parabola through its minimum gives the fraction.
    """
    trial = TRIALS
    first, last = _LONGEST + 1, sent.shape[2] - _LEAD
    mask, still = inner[:, first:last], seen[:, :, first:last]
    profile = np.empty((len(trial), sent.shape[1]))
    for k, shift in enumerate(trial):
        r = _fit(sent[:, :, first - shift : last - shift], still, mask)[0]
        r = np.nan_to_num(r)
        # half a period late a swing mirrors its command: a mirror has to explain clearly more
        share = np.minimum(r**2, 0.999999) * np.where(r < 0, _MIRRORED, 1.0)
        profile[k] = np.mean(np.log1p(-share), axis=0)
    best = np.argmin(profile, axis=0)
    inside = np.clip(best, 1, len(trial) - 2)
    e = np.arange(profile.shape[1])
    left, middle, right = profile[inside - 1, e], profile[inside, e], profile[inside + 1, e]
    bend = left - 2 * middle + right
    part = np.divide(0.5 * (left - right), bend, out=np.zeros_like(bend), where=bend > 0)
    found = trial[inside] + np.clip(part, -0.5, 0.5)
    # no relation, or a minimum at the edge: no answer
    lost = (profile[best, e] > -0.7) | (best == 0) | (best == len(trial) - 1)
    return np.where(lost, np.nan, found), profile
