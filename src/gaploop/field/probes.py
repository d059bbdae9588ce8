"""Experts that a world should fool, and the one that it should not."""

import numpy as np

from gaploop.core import Attempts, TaskSpec
from gaploop.core.protocols import Controller, Planner
from gaploop.sim import World


def trusting_readings(world: World, attempts: Attempts, plain: World) -> float:
    """Success rate of the expert that takes what the sensors show for the truth."""
    del plain
    misled = Misled(world.task.expert(), world.spec)
    return float(np.mean(world.task.judge(world.rollout(attempts, misled)).success))


def trusting_commands(world: World, attempts: Attempts, plain: World) -> float:
    """Success rate of the commands that do the start, as it is shown, in the plain simulator.

    What a clone of the plain simulator knows: no feedback tells it of a gain or a bias.
    """
    same = plain.attempts(len(attempts), 0, layout=shown(world, attempts))
    sent = plain.rollout(same, plain.task.expert()).command
    return float(np.mean(world.task.judge(world.replay(attempts, sent)).success))


def knowing(world: World, attempts: Attempts) -> float:
    """Success rate of the expert with the true state: the ceiling."""
    return float(np.mean(world.task.judge(world.rollout(attempts, world.task.expert())).success))


def shown(world: World, attempts: Attempts) -> np.ndarray:
    """(n, S) starts as the first readings show them; what no channel reads is the true one."""
    spec = world.spec
    first = world.replay(attempts, np.zeros((1, len(attempts), len(spec.command))))
    layout = attempts.layout.copy()
    for i, variable in enumerate(spec.layout):
        for channel in spec.observed:
            for target in variable.targets:
                if target.path in channel.reads:
                    column = channel.reads.index(target.path)
                    error = first.signals[channel.name][0] - first.truth[channel.name][0]
                    layout[:, i] += error[:, column]
    return layout


PROBES = {"readings": trusting_readings, "commands": trusting_commands}


def expert_in(world: World, attempts: Attempts) -> Controller:
    """The task's expert, planned where it plans: for use inside another controller."""
    expert = world.task.expert()
    if isinstance(expert, Planner):
        expert.plan(world, attempts)
    return expert


class Misled:
    """An expert that takes what the sensors show for the truth."""

    def __init__(self, expert: Controller, spec: TaskSpec) -> None:
        self.expert, self.spec = expert, spec

    def reset(self, n: int) -> None:
        """n attempts begin."""
        self.expert.reset(n)

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        """(n, a) commands from the newest readings; unobserved channels stay the true ones."""
        newest = observation[:, -len(self.spec.frame_columns) :].astype(float)
        shown, at = dict(truth), 0
        for channel in self.spec.observed:
            shown[channel.name] = newest[:, at : at + len(channel.columns)]
            at += len(channel.columns)
        return self.expert.act(step, observation, shown)
