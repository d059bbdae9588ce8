"""A scripted supervisor: watches, takes over when failure looms, corrects, hands back.

What a person sees coming is taken from the attempt itself, left alone: the same start
and noise are run without help, and the time at which its task calls it lost, less some
foresight, is when failure looms (or when it takes longer than a patient person waits).
Then the same attempt is run again with the takeover in it, until the supervisor has no
more to do. So a takeover needs no threshold a task, and the supervisor is wrong only in
the ways that are declared: looking away, reacting late, aiming badly, taking over for
nothing. The corrections are the task's expert's, with a hand's errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gaploop.core import Attempts, Episode, Judgement, Recording, TaskSpec, generator
from gaploop.core.protocols import Controller
from gaploop.field.probes import expert_in
from gaploop.sim import World

MOST: Final = 3
"""Takeovers an attempt."""
Span = tuple[int, int]
"""First control step of a takeover, and the first one after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervisor:
    """How somebody watches over a robot. Shares are of each command's range."""

    reaction: float = 0.25
    """Mean time from seeing to moving, s; the sd is a third of it."""
    foresight: float = 0.15
    """How long before an attempt is lost it shows, s."""
    patience: float = 0.5
    """Share of the horizon after which a failing attempt takes too long."""
    watching: float = 4.0
    """Mean length of a spell of attention, s."""
    away: float = 0.4
    """Mean length of a spell of looking elsewhere, s."""
    false_alarm: float = 0.02
    """Chance of taking over whatever the attempt would come to."""
    hold: float = 0.8
    """Mean length of a correction, s; the sd is a quarter of it."""
    aim: float = 2e-3
    """sd of the constant error of one correction, a share."""
    tremor: float = 1e-3
    """sd of the hand's noise, a share."""
    jump: float = 0.02
    """sd of the step at a takeover, a share: nobody picks up exactly where the robot is."""


SUPERVISORS: Final = {
    "supervisor": Supervisor(),
    "lazy": Supervisor(reaction=0.5, foresight=0.0, patience=0.7, watching=0.8, away=1.2),
    "eager": Supervisor(foresight=0.5, patience=0.35, away=0.1, false_alarm=0.3),
}
"""Name to supervisor: the plain one, one who looks away, one who cannot let go."""


def supervise(
    world: World, attempts: Attempts, runner: Controller, supervisor: Supervisor, seed: int
) -> tuple[Recording, Judgement, list[list[Span]]]:
    """The attempts under supervision, their outcome, and (n,) takeovers of each.

    An attempt that ends well with help is judged a success: the task was done. Whether
    the policy did it is what the takeovers say.
    """
    dt, horizon = world.spec.control_dt, world.spec.horizon
    people = [_Person(supervisor, dt, horizon, seed, i) for i in range(len(attempts))]
    spans: list[list[Span]] = [person.whim() for person in people]
    for turn in range(MOST + 1):
        controller = Supervised(runner, expert_in(world, attempts), world.spec, spans, people)
        recording = world.rollout(attempts, controller)
        judged = world.task.judge(recording)
        if turn == MOST or not _more(judged, people, spans):
            return recording, judged, spans
    raise AssertionError("the last turn returns")


def takeovers(episodes: Sequence[Episode]) -> float:
    """Takeovers per 100 episodes, by the facts `intervention`."""
    count = sum(fact.key == "intervention" for e in episodes for fact in e.facts)
    return 100.0 * count / len(episodes) if episodes else 0.0


class Supervised:
    """A policy with somebody's hand on it. Implements `core.protocols.Controller`."""

    def __init__(
        self,
        runner: Controller,
        expert: Controller,
        spec: TaskSpec,
        spans: Sequence[Sequence[Span]],
        people: "Sequence[_Person]",
    ) -> None:
        self._runner, self._expert = runner, expert
        self._low, self._high = np.array(spec.command_low), np.array(spec.command_high)
        self._hands = np.zeros((spec.horizon, len(spans)), dtype=bool)
        self._error = np.zeros((spec.horizon, len(spans), len(spec.command)))
        width = self._high - self._low
        for i, (mine, person) in enumerate(zip(spans, people, strict=True)):
            for number, (first, end) in enumerate(mine):
                self._hands[first:end, i] = True
                error = person.errors(number, end - first, len(width))
                self._error[first:end, i] = error * width
        self._follow = getattr(expert, "follow", None)

    def reset(self, n: int) -> None:
        """n attempts begin."""
        self._runner.reset(n)
        self._expert.reset(n)

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        """(n, a) the policy's commands, or the person's where one holds the robot."""
        policy = self._runner.act(step, observation, truth)
        person = self._expert.act(step, observation, truth) + self._error[step]
        sent = np.where(self._hands[step][:, None], person, policy)
        sent = np.where(self._hands[step][:, None], np.clip(sent, self._low, self._high), sent)
        if self._follow is not None:
            self._follow(sent)
        return sent


class _Person:
    """One attempt's draws, the same in every rerun of it."""

    def __init__(self, how: Supervisor, dt: float, horizon: int, seed: int, index: int) -> None:
        self.how, self.dt, self.horizon = how, dt, horizon
        self.seed, self.index = seed, index
        rng = generator(seed, "attention", index)
        self.looks: list[tuple[float, float]] = []
        at = 0.0 if rng.random() < how.watching / (how.watching + how.away) else rng.exponential(
            how.away
        )  # fmt: skip
        while at < horizon * dt:
            end = at + rng.exponential(how.watching)
            self.looks.append((at, end))
            at = end + rng.exponential(how.away)

    def whim(self) -> list[Span]:
        """A takeover for nothing, now and then."""
        rng = generator(self.seed, "whim", self.index)
        if rng.random() >= self.how.false_alarm:
            return []
        return [self._span(int(rng.uniform(0.1, 0.7) * self.horizon), 0)]

    def next(self, onset: float, number: int, after: int) -> Span | None:
        """The takeover when an attempt that is lost at `onset` s looms; None if unnoticed."""
        late = self.how.patience * self.horizon * self.dt
        looms = max(min(onset - self.how.foresight, late), after * self.dt)
        for start, end in self.looks:
            if end > looms:
                rng = generator(self.seed, "reaction", self.index, number)
                wait = self.how.reaction * max(0.3, 1 + rng.standard_normal() / 3)
                first = int(np.ceil((max(start, looms) + wait) / self.dt))
                return self._span(first, number) if first < self.horizon - 2 else None
        return None

    def errors(self, number: int, steps: int, width: int) -> np.ndarray:
        """(steps, width) the hand's error, as a share of the command range."""
        rng = generator(self.seed, "hand", self.index, number)
        aim = self.how.aim * rng.standard_normal(width)
        jump = self.how.jump * rng.standard_normal(width) * 0.5 ** np.arange(steps)[:, None]
        return aim + jump + self.how.tremor * rng.standard_normal((steps, width))

    def _span(self, first: int, number: int) -> Span:
        rng = generator(self.seed, "hold", self.index, number)
        held = self.how.hold * max(0.3, 1 + rng.standard_normal() / 4)
        return first, min(first + max(2, round(held / self.dt)), self.horizon)


def _more(judged: Judgement, people: Sequence[_Person], spans: list[list[Span]]) -> bool:
    """Adds the next takeover of each attempt that still fails; whether there was any."""
    any_new = False
    for i in np.flatnonzero(~judged.success).tolist():
        done = spans[i][-1][1] if spans[i] else 0
        if len(spans[i]) >= MOST:
            continue
        onset = float(judged.onset[i])
        found = people[i].next(onset if np.isfinite(onset) else np.inf, len(spans[i]), done)
        if found is not None and found[0] > done:
            spans[i].append(found)
            any_new = True
    return any_new
