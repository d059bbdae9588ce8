"""Compositions beyond the loop: the recipes people use today, and what a policy is worth.

Every recipe has the loop's observation history, network and number of gradient
steps, and as many demonstrations as the loop has after its rounds.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from gaploop.config import LoopConfig
from gaploop.core import Posterior, generator, registry, spawn
from gaploop.core.protocols import Task


def nominal(config: LoopConfig, demos: int, seed: int, out: Path) -> None:
    """Behaviour cloning in the plain simulator: nobody knows of any gap."""
    _clone(config, None, demos, seed, out)


def uniform(config: LoopConfig, demos: int, seed: int, out: Path) -> None:
    """Domain randomisation, uniform over every knob's whole prior (Tobin 2017)."""
    space = registry.load("tasks", config.task)().spec.knobs
    draws = space.sample(generator(seed, "uniform"), 2000)
    prior = Posterior(
        space=space, particles=draws, weights=np.full(len(draws), 1 / len(draws)), shipped=draws
    )
    _clone(config, prior, demos, seed, out)


RECIPES: Final[dict[str, Callable[[LoopConfig, int, int, Path], None]]] = {
    "nominal": nominal,
    "uniform": uniform,
}
"""Name to recipe; each writes a policy folder."""


def loop(config: LoopConfig, cell: Path, threads: int = 1) -> list[Path]:
    """Runs the loop in a new or unfinished workcell; the released policy after each round."""
    from gaploop.loop import advance
    from gaploop.store import Workcell

    opened = Workcell.open(cell) if (cell / "gaploop.toml").exists() else Workcell.create(cell, "")
    with opened, opened.lock():
        for number in range(config.rounds + 1):
            advance(opened, config, number, threads=threads)
        refs = opened.ledger.refs()
        return [opened.objects.tree(refs[f"policy@r{k}"]) for k in range(config.rounds + 1)]


def field_success(
    family: str, world: int, task: str, policy: Path, n: int, seed: int, threads: int = 1,
    round: int = 1,
) -> tuple[int, int]:  # fmt: skip
    """(k, n) of a policy in a stand-in, for a final measurement; no recipe may call it.

    round: the robot's age, for families that wear. The starts and noise of attempt i
    depend on `seed` alone, so recipes are paired.
    """
    from gaploop.field.truth import stand_in
    from gaploop.policies import ChunkRunner, load_policy

    truth = stand_in(family, world, registry.load("tasks", task)())
    lab = truth.world
    attempts = truth.attempts(n, spawn(seed, "measure", family, world), round=round)
    recording = lab.rollout(attempts, ChunkRunner(load_policy(policy)))
    success = lab.task.judge(recording).success[~recording.void]
    return int(success.sum()), len(success)


def _clone(config: LoopConfig, where: Posterior | None, demos: int, seed: int, out: Path) -> None:
    from gaploop.generate import generate
    from gaploop.sim import World
    from gaploop.train import fit_policy

    task: Task = registry.load("tasks", config.task)()
    made = generate(World(task), where, (), replace(config.generate, demos=demos), seed)
    fit_policy([made.episodes], [1.0], task.spec, config.train, seed, out)
