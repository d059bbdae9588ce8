"""Values that press against a limit."""

from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import InputError
from gaploop.signals.spans import Span, spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """Time at the lower and upper limit of one series."""

    low: float
    high: float
    """Limits used: as given, or the series' own extremes. NaN for an empty series."""
    at_low: float
    at_high: float
    """Share of frames at each limit."""
    low_spans: tuple[Span, ...]
    high_spans: tuple[Span, ...]
    """Stretches at each limit of at least `minimum` frames."""
    known: bool
    """Whether both limits were given; a series' own plateau may also be rest."""

    @property
    def longest(self) -> int:
        """Frames of the longest stretch, 0 for none."""
        return max((s.frames for s in (*self.low_spans, *self.high_spans)), default=0)


def saturation(
    values: np.ndarray,
    times: np.ndarray,
    low: float | None = None,
    high: float | None = None,
    *,
    tolerance: float = 1e-3,
    minimum: int = 3,
) -> Saturation:
    """Where a series sits at a limit.

    Without limits the series' own extremes are used, with no tolerance: a value that is
    merely large is reached once, a clipped one again and again. A constant series
    has no limits of its own.

    Args:
      values: (T,)
      times: (T,) s.
      low, high: limits in the unit of `values`.
      tolerance: how near counts, as a share of the range between given limits.
      minimum: shortest stretch in frames.

    Raises:
      InputError: when the lengths differ or low is not below high.
    """
    v, t = np.asarray(values, float).ravel(), np.asarray(times, float).ravel()
    if len(v) != len(t):
        raise InputError(f"Saturation test: {len(v)} values for {len(t)} stamps.")
    if low is not None and high is not None and not low < high:
        raise InputError(f"Saturation test: the limits {low} and {high} enclose nothing.")
    seen = v[np.isfinite(v)]
    if not len(seen):
        nan = float("nan")
        return Saturation(
            low=nan, high=nan, at_low=0, at_high=0, low_spans=(), high_spans=(), known=False
        )
    bottom = float(seen.min()) if low is None else low
    top = float(seen.max()) if high is None else high
    near = tolerance * (top - bottom)
    varies = np.ptp(seen) > 0
    lows = v <= bottom + near if low is not None else (v == bottom) & varies
    highs = v >= top - near if high is not None else (v == top) & varies
    return Saturation(
        low=bottom,
        high=top,
        at_low=float(lows.mean()),
        at_high=float(highs.mean()),
        low_spans=spans(lows, t, minimum),
        high_spans=spans(highs, t, minimum),
        known=low is not None and high is not None,
    )
