"""What the action pipeline, the sensor pipeline and the effects can be set to.

A setting is addressed by a knob target: `action:delay`, `action:gain[0]`,
`sensor:hole.bias[1]`, `effect:stribeck.static`. Every setting has a neutral
value at which it does nothing, exactly: v * 1, v + 0.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gaploop.core import KnobError

DELAY_BUFFER: Final = 0.5
"""Seconds of commands and readings a world keeps; a longer delay is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One adjustable quantity of a pipeline."""

    neutral: float
    low: float = -np.inf
    high: float = np.inf
    scalar: bool = False
    """One value an attempt instead of one a column."""


ACTION: Final = {
    "lost": Setting(neutral=0.0, low=0.0, high=1.0, scalar=True),
    "gain": Setting(neutral=1.0),
    "offset": Setting(neutral=0.0),
    "limit": Setting(neutral=np.inf, low=0.0),
    "rate": Setting(neutral=np.inf, low=0.0),
    "deadband": Setting(neutral=0.0, low=0.0),
    "backlash": Setting(neutral=0.0, low=0.0),
    "delay": Setting(neutral=0.0, low=0.0, high=DELAY_BUFFER, scalar=True),
    "latency": Setting(neutral=0.0, low=0.0, high=DELAY_BUFFER, scalar=True),
    "jitter": Setting(neutral=0.0, low=0.0, high=DELAY_BUFFER, scalar=True),
}
"""In the order they act.

lost: probability that a command never arrives (the last one stays).
gain, offset: what the drive makes of the number. limit: largest magnitude.
rate: largest change, unit/s. deadband: smaller changes are ignored.
backlash: half-width of the play. delay, latency (inference): s.
jitter: width of a uniform extra delay, s; commands never overtake each other.
"""

SENSOR: Final = {
    "latency": Setting(neutral=0.0, low=0.0, high=DELAY_BUFFER, scalar=True),
    "rate": Setting(neutral=np.inf, low=1e-6, scalar=True),
    "scale": Setting(neutral=1.0),
    "bias": Setting(neutral=0.0),
    "spread": Setting(neutral=0.0, low=0.0),
    "drift": Setting(neutral=0.0),
    "noise": Setting(neutral=0.0, low=0.0),
    "step": Setting(neutral=0.0, low=0.0),
    "dropout": Setting(neutral=0.0, low=0.0, high=1.0, scalar=True),
}
"""In the order they act.

latency: age of what is shown, s. rate: samples a second, held between.
scale, bias: reading = scale * value + bias. spread: sd of a bias drawn once an
attempt. drift: unit/s from the start. noise: white sd a sample.
step: quantisation. dropout: probability that a sample is lost (the last one
stays).
"""

EFFECTS: Final = {
    "stribeck": {
        "coulomb": Setting(neutral=0.0, low=0.0),
        "static": Setting(neutral=0.0, low=0.0),
        "speed": Setting(neutral=0.01, low=1e-9),
    },
    "push": {
        "force": Setting(neutral=0.0),
        "start": Setting(neutral=0.0, low=0.0, scalar=True),
        "length": Setting(neutral=0.0, low=0.0, scalar=True),
    },
    "nudge": {
        "shift": Setting(neutral=0.0),
        "start": Setting(neutral=0.0, low=0.0, scalar=True),
    },
}
"""Effects that vary in time, one column a command; of `nudge.shift`, one a layout variable.

stribeck: joint friction coulomb + (static - coulomb) exp(-(v / speed)^2), in N
or N m. push: a force or torque on the joint from `start` for `length` seconds.
nudge: what a layout variable sets is moved by `shift` at once, at `start` seconds.
"""

Key = tuple[str, str, str]
"""(kind, owner, field): ("action", "", "delay"), ("sensor", "hole", "bias")."""


def declaration(key: Key) -> Setting:
    """The setting behind a key that is known to exist."""
    kind, owner, field = key
    table = {"action": ACTION, "sensor": SENSOR}.get(kind) or EFFECTS[owner]
    return table[field]


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of one set-up: key to (N, width), neutral where nothing is bound."""

    n: int
    values: dict[Key, np.ndarray]

    def active(self, kind: str, owner: str, field: str) -> np.ndarray | None:
        """(N, width) values, or None where all of them are neutral."""
        value = self.values.get((kind, owner, field))
        if value is None or np.all(value == declaration((kind, owner, field)).neutral):
            return None
        return value

    def check(self, key: Key) -> None:
        """Raise KnobError where a value lies outside what the setting can carry."""
        setting, value = declaration(key), self.values[key]
        # written so that NaN fails too
        bad = ~((value >= setting.low) & (value <= setting.high))
        if bad.any():
            raise KnobError(
                f"{name_of(key)} cannot be {value[bad][0]:g} in attempt {np.argwhere(bad)[0][0]}.",
                hint=f"Expected a value from {setting.low:g} to {setting.high:g}.",
            )

    def check_delays(self) -> None:
        """Raise KnobError where the delays together exceed the buffer."""
        total = np.zeros(self.n)
        for field in ("delay", "latency", "jitter"):
            value = self.values.get(("action", "", field))
            total = total if value is None else total + value[:, 0]
        if (total > DELAY_BUFFER).any():
            raise KnobError(
                f"The delay of attempt {int(np.argmax(total))} adds up to {total.max():g} s.",
                hint=f"The buffer holds {DELAY_BUFFER:g} s.",
            )


def name_of(key: Key) -> str:
    """The key as a knob target spells it."""
    kind, owner, field = key
    return f"{kind}:{owner}.{field}" if owner else f"{kind}:{field}"
