"""How regular the stamps of a log are."""

from dataclasses import dataclass

import numpy as np

from gaploop.signals.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Sample rate and everything irregular about it."""

    hz: float
    """From the median positive step; 0 where there is none."""
    period: float
    """Median positive step in s; 0 where there is none."""
    jitter: float
    """Spread of the steps in s: 1.4826 times their median absolute deviation."""
    gaps: tuple[Span, ...]
    """Pairs of neighbouring frames more than `gap` periods apart."""
    missing: int
    """Frames that would have fitted into the gaps."""
    backwards: tuple[int, ...]
    """Frames whose stamp is before the one in front of them."""
    duplicates: tuple[int, ...]
    """Frames whose stamp repeats the one in front of them."""
    frames: int

    @property
    def regular(self) -> bool:
        """No gap, no duplicate, nothing out of order."""
        return not (self.gaps or self.backwards or self.duplicates)


def rate(times: np.ndarray, gap: float = 1.5) -> Rate:
    """Median rate, jitter, gaps, and stamps out of order or repeated.

    Args:
      times: (T,) s, in the order they were logged.
      gap: steps longer than this many periods are gaps.
    """
    stamps = np.asarray(times, dtype=float).ravel()
    steps = np.diff(stamps)
    forward = steps[steps > 0]
    period = float(np.median(forward)) if len(forward) else 0.0
    jitter = 1.4826 * float(np.median(np.abs(forward - period))) if len(forward) else 0.0
    wide = np.flatnonzero(steps > gap * period) if period > 0 else np.array([], dtype=int)
    return Rate(
        hz=1 / period if period > 0 else 0.0,
        period=period,
        jitter=jitter,
        gaps=tuple(
            Span(start=int(i), stop=int(i) + 2, t0=float(stamps[i]), t1=float(stamps[i + 1]))
            for i in wide
        ),
        missing=int(np.sum(np.round(steps[wide] / period) - 1)) if len(wide) else 0,
        backwards=tuple(int(i) + 1 for i in np.flatnonzero(steps < 0)),
        duplicates=tuple(int(i) + 1 for i in np.flatnonzero(steps == 0)),
        frames=len(stamps),
    )
