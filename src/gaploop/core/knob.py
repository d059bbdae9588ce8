"""Simulator parameters as data: a name, a gap, a prior, and the path it writes to.

A target is a path into a world, with an operation:

    pair:wall_px.friction[0]     a MuJoCo model field of a named object
    actuator:x.gainprm[0]        any MjModel field without its object prefix
    action:delay                 the action pipeline
    sensor:hole.bias[1]          the sensor pipeline, by channel
    mocap:hole.pos[0]            a state set at the start of an attempt
    qpos:x                       a joint's start position
    opt:gravity[0]               an MjOption field
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gaploop.core.errors import KnobError, UnknownNameError
from gaploop.core.gaps import GAPS

_PATH = re.compile(
    r"^(?P<kind>[a-z]+):(?P<name>[\w./-]+?)(\.(?P<field>\w+))?(\[(?P<index>\d+)\])?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a knob writes: value = op(base, scale * knob)."""

    path: str
    """See the module's docstring."""
    op: Literal["set", "add", "mul"] = "set"
    """Replace the model's value, add to it, or multiply it."""
    scale: float = 1.0

    def parts(self) -> tuple[str, str, str, int | None]:
        """(kind, name, field, index) of the path; field is '' and index None where absent."""
        match = _PATH.match(self.path)
        if match is None:
            raise KnobError(
                f"{self.path!r} is no knob target.",
                hint="Expected KIND:NAME.FIELD[INDEX], such as geom:puck.friction[0].",
            )
        index = match["index"]
        return (
            match["kind"],
            match["name"],
            match["field"] or "",
            None if index is None else int(index),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A one-dimensional distribution. Bounds always hold, whatever the kind."""

    kind: Literal["uniform", "loguniform", "normal"] = "uniform"
    low: float
    high: float
    mean: float = 0.0
    """Of `normal`, before truncation to the bounds."""
    sd: float = 1.0
    """Of `normal`, before truncation to the bounds."""

    def __post_init__(self) -> None:
        if not self.low < self.high or (self.kind == "loguniform" and self.low <= 0):
            raise KnobError(f"A {self.kind} prior cannot span [{self.low}, {self.high}].")

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """(n,) draws."""
        return self.from_unit(rng.random(n))

    def from_unit(self, u: np.ndarray) -> np.ndarray:
        """Inverse CDF: uniform numbers in [0, 1] to values."""
        if self.kind == "uniform":
            return self.low + (self.high - self.low) * u
        if self.kind == "loguniform":
            return self.low * (self.high / self.low) ** u
        # truncated normal by inverting a fine CDF table: NumPy alone, error < 1e-4 sd
        grid = np.linspace(self.low, self.high, 4097)
        density = np.exp(-0.5 * ((grid - self.mean) / self.sd) ** 2)
        cdf = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
        return np.interp(u, cdf / cdf[-1], grid)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Log density up to a constant, -inf outside the bounds."""
        inside = (x >= self.low) & (x <= self.high)
        if self.kind == "uniform":
            value = np.zeros_like(x, dtype=float)
        elif self.kind == "loguniform":
            value = -np.log(np.where(inside, x, 1.0))
        else:
            value = -0.5 * ((x - self.mean) / self.sd) ** 2
        return np.where(inside, value, -np.inf)

    @property
    def width(self) -> float:
        """Standard deviation of the prior (after truncation)."""
        return float(np.std(self.from_unit((np.arange(2000) + 0.5) / 2000)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One named simulator parameter."""

    name: str
    gap: str
    """One of the six gaps."""
    unit: str
    prior: Prior
    nominal: float
    """What the plain simulator uses; inside the prior."""
    targets: tuple[Target, ...]
    source: str = ""
    """Where the prior comes from: a data sheet, a measurement, a paper."""

    def __post_init__(self) -> None:
        if self.gap not in GAPS:
            raise UnknownNameError("gap", self.gap, GAPS)
        if not self.prior.low <= self.nominal <= self.prior.high:
            raise KnobError(f"Knob {self.name!r}: nominal {self.nominal} lies outside its prior.")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobSpace:
    """An ordered set of knobs. Values are (N, P) arrays in the knobs' own units (SI)."""

    knobs: tuple[Knob, ...]

    def __post_init__(self) -> None:
        names = [k.name for k in self.knobs]
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise KnobError(f"Knob {sorted(twice)[0]!r} is declared twice.")

    def __len__(self) -> int:
        return len(self.knobs)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(k.name for k in self.knobs)

    @property
    def nominal(self) -> np.ndarray:
        """(P,) the plain simulator."""
        return np.array([k.nominal for k in self.knobs])

    @property
    def low(self) -> np.ndarray:
        return np.array([k.prior.low for k in self.knobs])

    @property
    def high(self) -> np.ndarray:
        return np.array([k.prior.high for k in self.knobs])

    def index(self, name: str) -> int:
        """Column of a knob; raises UnknownNameError."""
        if name not in self.names:
            raise UnknownNameError("knob", name, self.names)
        return self.names.index(name)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """(n, P) draws from the prior."""
        return self.from_unit(rng.random((n, len(self))))

    def from_unit(self, u: np.ndarray) -> np.ndarray:
        """(n, P) uniform numbers to prior values, column by column."""
        columns = [k.prior.from_unit(u[:, i]) for i, k in enumerate(self.knobs)]
        return np.stack(columns, axis=1) if columns else np.empty((len(u), 0))

    def to_unit(self, values: np.ndarray) -> np.ndarray:
        """(n, P) values to their prior quantiles in [0, 1]; the inverse of `from_unit`."""
        grid = (np.arange(2049)) / 2048
        columns = [
            np.interp(values[:, i], k.prior.from_unit(grid), grid) for i, k in enumerate(self.knobs)
        ]
        return np.stack(columns, axis=1) if columns else np.empty((len(values), 0))

    def log_prior(self, values: np.ndarray) -> np.ndarray:
        """(n,) summed log densities, -inf outside the bounds."""
        return sum(
            (k.prior.log_density(values[:, i]) for i, k in enumerate(self.knobs)),
            start=np.zeros(len(values)),
        )

    def of_gap(self, gap: str) -> tuple[int, ...]:
        """Columns of the knobs of one gap."""
        return tuple(i for i, k in enumerate(self.knobs) if k.gap == gap)

    def subset(self, names: Sequence[str]) -> "KnobSpace":
        """The named knobs, in the given order."""
        return KnobSpace(knobs=tuple(self.knobs[self.index(n)] for n in names))
