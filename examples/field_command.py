"""A robot program that gaploop can drive: runs a policy, leaves a LeRobot v3 folder.

In gaploop.toml:

    task = "peg"
    field = "command:python examples/field_command.py {policy} {trials} {seed} {out}"

`Robot` stands for yours. Here it is a few lines of arithmetic: axes that follow
their commands slowly, and a camera that sees the hole 1 mm too far left.
Replace its three methods; the rest can stay.
"""

import argparse
from pathlib import Path

import numpy as np

from gaploop.core import Episode, Label, Signal, TaskSpec, registry
from gaploop.policies import ChunkRunner, load_policy, require_fit
from gaploop.sim import ObservationBuilder
from gaploop.store.datasets import write_dataset


class Robot:
    """Three axes over a table with a hole."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.start()

    def start(self) -> None:
        """Drive home; somebody puts the part with the hole down."""
        self.axes = np.zeros(3)
        self.hole = self.rng.uniform(-0.02, 0.02, 2)

    def read(self) -> dict[str, np.ndarray]:
        """What the sensors show, by the task's channel names."""
        return {"q": self.axes, "hole": self.hole + np.array([0.001, 0.0])}

    def send(self, command: np.ndarray) -> None:
        """One control period: 50 ms pass. On a real robot, wait for the clock here."""
        self.axes = self.axes + 0.6 * (command - self.axes)

    def judged(self) -> bool:
        """Whether the attempt succeeded: a switch, a person, a camera."""
        miss = np.abs(self.axes[:2] - self.hole).max()
        return bool(miss < 0.002 and self.axes[2] < -0.040)


def attempt(robot: Robot, runner: ChunkRunner, spec: TaskSpec) -> Episode:
    """One attempt, logged as it happens: what was read, then what was sent."""
    robot.start()
    runner.reset(1)
    builder = ObservationBuilder(spec)
    builder.reset(1)
    command = np.zeros(len(spec.command))
    sent, seen = [], {c.name: [] for c in spec.observed}
    for step in range(spec.horizon):
        readings = robot.read()
        for name, values in readings.items():
            seen[name].append(np.array(values))
        observation = builder.push({k: v[None] for k, v in readings.items()}, command[None])
        command = runner.act(step, observation, {})[0]
        robot.send(command)
        sent.append(command)
    times = np.arange(spec.horizon) * spec.control_dt
    columns = {"action": (spec.command, spec.command_unit, sent)}
    columns |= {c.key: (c.columns, c.unit, seen[c.name]) for c in spec.observed}
    signals = {
        key: Signal(name=key, unit=unit, columns=names, times=times, values=np.array(values))
        for key, (names, unit, values) in columns.items()
    }
    outcome = Label(subject="", key="outcome", value={"success": robot.judged()}, author="switch")
    return Episode(
        signals=signals, contract=spec.contract, robot=spec.robot, task=spec.name, world="real",
        facts=(outcome,),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policy", type=Path)
    parser.add_argument("trials", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    spec = registry.load("tasks", "peg")().spec
    policy = load_policy(given.policy)
    require_fit(policy.contract, spec)  # before anything moves
    robot = Robot(np.random.default_rng(given.seed))
    episodes = [attempt(robot, ChunkRunner(policy), spec) for _ in range(given.trials)]
    write_dataset(given.out, episodes, fps=round(1 / spec.control_dt), robot=spec.robot)
    print(f"{sum(e.success or 0 for e in episodes)} of {given.trials} succeeded: {given.out}")


if __name__ == "__main__":
    main()
