"""What can be plugged in. At most three methods each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from gaploop.core.attempt import Attempts, Judgement, Recording
from gaploop.core.contract import PolicyContract
from gaploop.core.episode import Episode
from gaploop.core.knob import KnobSpace
from gaploop.core.loss import Loss
from gaploop.core.task import TaskSpec

A = TypeVar("A")
B = TypeVar("B")


@runtime_checkable
class Controller(Protocol):
    """Drives a batch. Called once a control step for all simulations."""

    def reset(self, n: int) -> None:
        """Forget everything; n attempts begin."""
        ...

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        """Commands (n, a) in the robot's unit for control step `step`.

        observation is (n, history * frame), oldest frame first; truth holds the
        simulator's own values a channel, (n, d), which only an expert may read.
        """
        ...


@runtime_checkable
class Planner(Controller, Protocol):
    """A controller that prepares in the world its attempts will run in: an expert may know it."""

    def plan(self, world: "World", attempts: Attempts) -> None:
        """Called by `World.rollout` before `reset`, with the attempts that begin."""
        ...


@runtime_checkable
class Policy(Protocol):
    """A learned or scripted map from observation histories to action chunks."""

    @property
    def contract(self) -> PolicyContract: ...

    def chunk(self, observation: np.ndarray) -> np.ndarray:
        """(n, history * frame) float32 to (n, H, a) float32, in the robot's units."""
        ...


@runtime_checkable
class Task(Protocol):
    """A scene, how it is reset, and what counts as success."""

    @property
    def spec(self) -> TaskSpec: ...

    def mjcf(self) -> str:
        """The whole model as MJCF text."""
        ...

    def judge(self, recording: Recording) -> Judgement:
        """Outcome of every attempt, from the truth channels."""
        ...

    def expert(self) -> Controller:
        """A scripted controller that reads the true state."""
        ...


class World(Protocol):
    """Runs attempts. `gaploop.sim.World` is the one on MuJoCo."""

    @property
    def space(self) -> KnobSpace: ...

    def rollout(self, attempts: Attempts, controller: Controller) -> Recording:
        """Closed loop: the controller acts on what the sensors show."""
        ...

    def replay(self, attempts: Attempts, commands: np.ndarray, *, noise: bool = True) -> Recording:
        """Open loop: commands (T, N, a) as logged; noise=False leaves out all that is random."""
        ...


@runtime_checkable
class Field(Protocol):
    """Where a policy meets reality."""

    def collect(self, policy: Path, trials: int, seed: int, out: Path) -> None:
        """Run `trials` attempts of the policy folder; leave a LeRobot v3 folder at `out`.

        Raises FieldError when it could not; then `out` holds nothing.
        """
        ...


@runtime_checkable
class Reader(Protocol):
    """Reads one log format."""

    name: str

    def sniff(self, path: Path) -> bool:
        """Whether `path` looks like this format. Cheap, never raises."""
        ...

    def read(self, path: Path) -> Iterator[Episode]:
        """Episodes in order. Raises InputError naming file and row."""
        ...


@runtime_checkable
class Salvager(Reader, Protocol):
    """A reader that goes on behind a damaged place."""

    def salvage(self, path: Path) -> Iterator[Episode | Loss]:
        """Every whole episode, and one Loss for each damaged place, in the order found.

        An episode cut short is given with the rows that are whole, its Loss beside it.
        Raises InputError only for a path that is not this format at all.
        """
        ...


class Executor(Protocol):
    """Runs independent calls; results come in order, whatever ran them."""

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Sequence[B]: ...


class Selector(Protocol):
    """Scores episodes for one use."""

    def score(self, episodes: Sequence[Episode]) -> np.ndarray:
        """(n,) higher is more worth having."""
        ...


class Labeler(Protocol):
    """States facts about episodes."""

    def label(self, episode: Episode) -> Sequence[Any]:
        """Labels, each with its author and confidence."""
        ...
