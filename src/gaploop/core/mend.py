"""How one robot's numbers become those a policy was trained on, and back.

A mend is data beside a policy, not a change of it: what is mended can be read, checked
and taken out again, and no training is spent on it. It is as much as an encoder's zero,
a unit or an order of columns can be wrong, and no more.
"""

from dataclasses import dataclass, field

import numpy as np

from gaploop.core.errors import ContractError


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """policy[i] = scale[i] * robot[order[i]] + offset[i], for one feature of one unit."""

    feature: str
    """Dataset key: `observation.state`, or `action` for what is sent."""
    cause: str
    """`mechanical` or `contract`."""
    order: tuple[int, ...]
    scale: tuple[float, ...]
    offset: tuple[float, ...]
    """In the policy's unit."""
    unit: str = ""
    """Which specimen; empty for every one, which is what a contract fault is."""
    knobs: dict[str, float] = field(default_factory=dict[str, float])
    """What it takes out of the world as the policy meets it, by knob."""
    sentence: str = ""

    def __post_init__(self) -> None:
        d = len(self.order)
        if len(self.scale) != d or len(self.offset) != d or sorted(self.order) != list(range(d)):
            raise ContractError(
                f"The mend of {self.feature!r} has order {self.order}, {len(self.scale)} scales "
                f"and {len(self.offset)} offsets.",
                hint="Expected a permutation, and one scale and offset for each column.",
            )
        if not all(np.isfinite(self.scale)) or not all(np.isfinite(self.offset)) or 0 in self.scale:
            raise ContractError(
                f"The mend of {self.feature!r} has a scale of 0 or a figure that is not finite."
            )

    def read(self, values: np.ndarray) -> np.ndarray:
        """(..., d) of the robot to what the policy was trained on."""
        return np.asarray(values)[..., list(self.order)] * self.scale + self.offset

    def send(self, values: np.ndarray) -> np.ndarray:
        """The inverse of `read`: (..., d) of the policy to the robot's."""
        back = np.empty(np.shape(values))
        back[..., list(self.order)] = (np.asarray(values) - self.offset) / self.scale
        return back

    def then(self, after: "Mend") -> "Mend":
        """This mend and, on what it gives, another of the same feature and unit."""
        pick = list(after.order)
        offset = np.array(self.offset)[pick] * after.scale + after.offset
        return Mend(
            feature=self.feature, cause=after.cause, unit=self.unit,
            order=tuple(self.order[i] for i in pick),
            scale=tuple(float(x) for x in np.array(self.scale)[pick] * after.scale),
            offset=tuple(float(x) for x in offset),
            knobs={
                k: self.knobs.get(k, 0.0) + after.knobs.get(k, 0.0)
                for k in sorted({*self.knobs, *after.knobs})
            },
            sentence=after.sentence,
        )  # fmt: skip

    def inverse(self) -> "Mend":
        """What undoes it."""
        back = [self.order.index(i) for i in range(len(self.order))]
        scale, offset = np.array(self.scale)[back], np.array(self.offset)[back]
        return Mend(
            feature=self.feature, cause=self.cause, unit=self.unit, order=tuple(back),
            scale=tuple(float(x) for x in 1 / scale),
            offset=tuple(float(x) for x in -offset / scale),
            knobs={k: -v for k, v in self.knobs.items()},
        )  # fmt: skip
