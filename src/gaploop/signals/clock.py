"""How one clock runs against another: offset and drift from stamps of the same moments."""

from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import InputError

_ROUNDS = 30
_BLOCKS = 60
"""Stretches whose means the interval rests on, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """other = one + offset + drift * (one - origin), in integer ticks of nanoseconds."""

    origin: int
    """Tick of the first clock at which `offset` holds: the middle of the stamps."""
    offset: float
    """Nanoseconds the second clock is ahead, at `origin`."""
    offset_lo: float
    offset_hi: float
    """95 % interval."""
    drift: float
    """Nanoseconds the second clock gains a nanosecond; 1e-6 is 1 ppm."""
    drift_lo: float
    drift_hi: float
    """95 % interval."""
    jitter: float
    """Nanoseconds: robust spread of single stamps about the line."""
    outliers: int
    """Stamps more than five spreads off the line."""
    samples: int
    reason: str = ""
    """Why there is no answer; empty where there is one."""

    @property
    def ok(self) -> bool:
        return not self.reason

    def to_other(self, ticks: np.ndarray) -> np.ndarray:
        """(T,) int64 ticks of the second clock for those of the first, exact in the large part.

        Ticks of today's nanosecond clocks have more digits than a float: only what is small is
        computed in floating point.
        """
        one = np.asarray(ticks, np.int64)
        away = (one - self.origin).astype(float)
        return one + np.rint(self.offset + self.drift * away).astype(np.int64)


def clock(one: np.ndarray, other: np.ndarray) -> Clock:
    """Offset and drift between two clocks that stamped the same moments.

    A line by iteratively reweighted least squares with Tukey's biweight (Holland and Welsch
    1977, Commun. Stat. A6:813-827) from a least-absolute start: some stamps come late, and late
    ones are late by a lot. The interval rests on means of stretches, not on single stamps,
    whose errors come in runs.

    Args:
      one, other: (T,) integer ticks (ns) of the same T moments; neither has to be regular.

    Raises:
      InputError: when the lengths differ or the ticks are no integers.
    """
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(f"Clock test: {a.shape} stamps of one clock for {b.shape} of the other.")
    if a.dtype.kind not in "iu" or b.dtype.kind not in "iu":
        raise InputError(
            f"Clock test: stamps are {a.dtype} and {b.dtype}, and integer ticks were expected.",
            hint="Floats of a nanosecond clock lose the last three digits; keep the ticks.",
        )
    a, b = a.astype(np.int64), b.astype(np.int64)
    if len(a) < 8:
        return _none(f"too short: {len(a)} stamps of at least 8", len(a))
    origin = int(a[0]) + (int(a[-1]) - int(a[0])) // 2
    x, y = (a - origin).astype(float), (b - a).astype(float)
    if np.ptp(x) <= 0:
        return _none("the first clock stands still", len(a))
    scale = float(np.abs(x).max())
    return _fit(x / scale, y, scale, origin)


def _fit(x: np.ndarray, y: np.ndarray, scale: float, origin: int) -> Clock:
    offset, slope = _start(x, y)
    spread = 0.0
    for _ in range(_ROUNDS):
        rest = y - offset - slope * x
        spread = max(1.4826 * float(np.median(np.abs(rest - np.median(rest)))), 0.5)
        weight = np.clip(1.0 - (rest / (4.685 * spread)) ** 2, 0.0, None) ** 2
        fresh = _line(x, y, weight)
        if fresh is None:
            break
        done = abs(fresh[0] - offset) + abs(fresh[1] - slope) < 1e-4 * spread
        offset, slope = fresh
        if done:
            break
    rest = y - offset - slope * x
    half = _interval(x, rest, spread)
    return Clock(
        origin=origin,
        offset=offset,
        offset_lo=offset - half[0],
        offset_hi=offset + half[0],
        drift=slope / scale,
        drift_lo=(slope - half[1]) / scale,
        drift_hi=(slope + half[1]) / scale,
        jitter=spread,
        outliers=int(np.count_nonzero(np.abs(rest) > 5.0 * spread)),
        samples=len(x),
    )


def _start(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The line through the medians of the outer thirds (Brown and Mood's resistant line)."""
    third = max(len(x) // 3, 1)
    order = np.argsort(x, kind="stable")
    low, high = order[:third], order[-third:]
    run = float(np.median(x[high]) - np.median(x[low]))
    slope = float(np.median(y[high]) - np.median(y[low])) / run if run > 0 else 0.0
    return float(np.median(y - slope * x)), slope


def _line(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float] | None:
    total = float(weight.sum())
    if total <= 0:
        return None
    mx, my = float(weight @ x) / total, float(weight @ y) / total
    power = float(weight @ (x - mx) ** 2)
    if power <= 0:
        return None
    slope = float(weight @ ((x - mx) * (y - my))) / power
    return my - slope * mx, slope


def _interval(x: np.ndarray, rest: np.ndarray, spread: float) -> tuple[float, float]:
    """Half widths of offset and slope at 95 %, from clipped means of stretches."""
    from scipy.special import stdtrit

    count = int(np.clip(len(x) // 4, 4, _BLOCKS))
    clipped = np.clip(rest, -4.0 * spread, 4.0 * spread)
    parts = np.array_split(np.arange(len(x)), count)
    at = np.array([x[p].mean() for p in parts])
    mean = np.array([clipped[p].mean() for p in parts])
    centred = at - at.mean()
    power = float(centred @ centred)
    slope = float(centred @ mean) / power if power > 0 else 0.0
    left = mean - mean.mean() - slope * centred
    sd = float(np.sqrt(left @ left / max(count - 2, 1)))
    sd = max(sd, 0.3 / np.sqrt(len(x) / count))  # a tick is rounded: sqrt(1/12)
    t = float(stdtrit(max(count - 2, 1), 0.975))
    # the clipped line is not the fitted one: what lies between them is doubt, too
    shift = abs(float(mean.mean() - slope * at.mean()))
    return t * sd / np.sqrt(count) + shift, t * sd / max(np.sqrt(power), 1e-12) + abs(slope)


def _none(reason: str, samples: int) -> Clock:
    nan = float("nan")
    return Clock(
        origin=0, offset=nan, offset_lo=nan, offset_hi=nan, drift=nan, drift_lo=nan, drift_hi=nan,
        jitter=nan, outliers=0, samples=samples, reason=reason,
    )  # fmt: skip
