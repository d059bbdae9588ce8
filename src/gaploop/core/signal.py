"""A time series with its meaning: name, unit, frame, stamps, values."""

from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One measured or commanded quantity over time."""

    name: str
    """Feature name, as in LeRobot: `observation.state`, `action`."""
    unit: str = "1"
    """One unit for all columns; `raw` where it is not known."""
    frame: str = ""
    """Reference frame, empty where it does not apply or is not known."""
    columns: tuple[str, ...] = ()
    """Name of each column of `values`, empty for a scalar or unnamed one."""
    times: np.ndarray
    """(T,) float64 seconds from the episode's start."""
    values: np.ndarray
    """(T, ...) the readings."""

    def __post_init__(self) -> None:
        if self.times.ndim != 1 or len(self.times) != len(self.values):
            raise InputError(
                f"Signal {self.name!r} has {len(self.times)} stamps for {len(self.values)} values."
            )

    @property
    def rate(self) -> float:
        """Median sample rate in Hz, 0 for fewer than two samples."""
        steps = np.diff(self.times)
        middle = float(np.median(steps)) if len(steps) else 0.0
        return 1.0 / middle if middle > 0 else 0.0
