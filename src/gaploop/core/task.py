"""What a task declares as data; its behaviour is the Task protocol."""

from dataclasses import dataclass

from gaploop.core.contract import Contract
from gaploop.core.knob import KnobSpace, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One sensed quantity: where the truth is read, and how it appears in a log."""

    name: str
    """Short name, used in knob targets: `sensor:NAME.bias[0]`."""
    key: str
    """Feature key in a dataset."""
    columns: tuple[str, ...]
    unit: str
    reads: tuple[str, ...]
    """One path a column into the simulation: `qpos:x`, `site:tip.pos[2]`, `mocap:hole.pos[0]`."""
    observed: bool = True
    """False: truth only, for judging; never in a log or an observation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutVariable:
    """One start variable of an attempt and its reset range."""

    name: str
    unit: str
    low: float
    high: float
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """Everything about a task that is data."""

    name: str
    robot: str
    instruction: str
    control_dt: float
    """Seconds between commands; a whole number of physics steps."""
    horizon: int
    """Control steps of an attempt."""
    channels: tuple[Channel, ...]
    """Observed ones first make the observation, in order."""
    command: tuple[str, ...]
    """Actuator names, in command order."""
    command_unit: str
    command_low: tuple[float, ...]
    command_high: tuple[float, ...]
    layout: tuple[LayoutVariable, ...]
    knobs: KnobSpace
    stages: tuple[str, ...]
    """Ordered stage names."""
    contract: Contract
    history: int = 4
    """Observation frames a policy is fed by default."""
    feeds_command: bool = True
    """Whether the last command is part of a frame."""

    @property
    def observed(self) -> tuple[Channel, ...]:
        return tuple(c for c in self.channels if c.observed)

    @property
    def frame_columns(self) -> tuple[str, ...]:
        """Column names of one observation frame: observed channels, then the last command."""
        names = [col for c in self.observed for col in c.columns]
        return tuple(names + [f"command.{n}" for n in self.command] * self.feeds_command)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Feature keys of one observation frame, in order."""
        return tuple([c.key for c in self.observed] + ["action"] * self.feeds_command)
