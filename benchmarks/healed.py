"""Are a memoriser, a forgetter, a repaired and an unchanged policy told apart?

On `peg`, each cell plants an old policy that misses the hole in a part of its workspace,
lets it fail in the field, and examines five new ones by what `evaluate` asks: the
failures' own scenarios, fresh siblings nobody trained on, and what worked before. One
memoriser is a network trained on the expert in exactly the failures' scenarios, with their
starts and noise, and elsewhere on what the old policy does; the other looks them up. The
rest are networks too, the old one included: the repaired one is trained on the expert, the
others on attempts that err where it is known beforehand. What each can do is measured too.
Sim-to-sim.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.harness import Cell, Result, markdown
from gaploop.core import (
    Attempts,
    Diagnosis,
    Episode,
    Exam,
    PolicyContract,
    Recording,
    Reproduction,
    Scenario,
    TaskSpec,
    generator,
    spawn,
    spawn_many,
)
from gaploop.core.protocols import Controller, Policy
from gaploop.core.siblings import jittered
from gaploop.curate import CurateConfig, curate
from gaploop.evaluate import EvaluateConfig, evaluate
from gaploop.policies import ChunkRunner, load_policy
from gaploop.release import ReleaseRule, decide
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes
from gaploop.sim.scenario import attempts_of
from gaploop.stats import wilson
from gaploop.studies import prior_box
from gaploop.tasks.peg import Peg
from gaploop.testing.blind import Blind
from gaploop.train import TrainConfig, fit_policy

WORKERS = 2
TRIALS = 24
FAILURES = 6
SCENES = 6
"""Scenarios a failure is met in again: its start, other noise."""
TRAINED, LOOKED_UP = "memoriser, trained", "memoriser, look-up"
KINDS: Final = {
    TRAINED: "memoriser", LOOKED_UP: "memoriser", "forgetter": "forgetter",
    "repaired": "repaired", "unchanged": "unchanged",
}  # fmt: skip
"""What is planted, and what it is to be called."""
CALLED = tuple(dict.fromkeys(KINDS.values()))
CHECKED = 100
"""Fresh starts on which it is measured what a policy can really do."""
Aim = Callable[[np.ndarray], np.ndarray]
"""Where the hole is seen (n, 2) to by how much the policy steers past it (n, 2), m."""


def cells(quick: bool) -> list[Cell]:
    seeds = range(3 if quick else 15)
    return [Cell(name=f"seed-{s}", parameters={"seed": s}, cost=56.0) for s in seeds]


def run(cell: Cell) -> dict[str, Any]:
    seed, world = cell.parameters["seed"], World(Peg())
    flaw = Flaw(seed)
    old = taught(world, Steering(world.spec, flaw), "old", seed)
    episodes, scenes = _field(world, old, seed)
    exam_of = _examiner(world, old, episodes, scenes, seed)
    new = planted(world, old, flaw, scenes, seed)
    return {
        kind: _told(exam_of(policy)) | {"can": _can(world, policy, flaw, seed)}
        for kind, policy in new.items()
    } | {"failures": len(scenes)}


def table(results: list[Result]) -> str:
    n = len(results)
    verdicts = {k: [r.values[k]["verdict"] for r in results] for k in KINDS}
    right = sum(verdicts[k].count(called) for k, called in KINDS.items())
    rows: list[list[str]] = []
    for kind in KINDS:
        mine = [r.values[kind] for r in results]
        asked, own, healed = (sum(v[key] for v in mine) for key in ("asked", "own", "healed"))
        fail, work = (np.mean([v["can"][i] for v in mine]) for i in (0, 1))
        rows.append([
            kind, *(str(verdicts[kind].count(k)) for k in CALLED), f"{own}/{asked}",
            f"{healed}/{asked}", str(sum(v["worked"] == "fell" for v in mine)),
            str(sum(v["release"] == "promote" for v in mine)),
            f"{100 * fail:.0f} %", f"{100 * work:.0f} %",
        ])  # fmt: skip
    header = ["planted", *(f"called {k}" for k in CALLED), "failures that pass their own scenario",
              "healed, siblings too", "`worked` fell", "promoted", "can: where the old one failed",
              "can: elsewhere"]  # fmt: skip
    lo, hi = wilson(right, n * len(KINDS))
    caught = ", ".join(
        f"{n - verdicts[kind].count('repaired')}/{n} ({kind.partition(', ')[2]})"
        for kind in (TRAINED, LOOKED_UP)
    )
    return (
        f"{' '.join((__doc__ or '').split())}\n\n"
        f"Told apart: {right}/{n * len(KINDS)} [{100 * lo:.0f}, {100 * hi:.0f}] % right. "
        f"Memorisers caught by the siblings: {caught}.\n\n{markdown(header, rows)}"
    )


def verdict(exam: Exam) -> str:
    """Which of `CALLED` an exam says, by its three questions alone."""
    worked = next(c for c in exam.changes if c.bucket == "worked")
    n = len(exam.healed)
    if worked.direction == "fell":
        return "forgetter"
    if 2 * sum(h.healed for h in exam.healed) > n:
        return "repaired"
    if 2 * sum(2 * h.own_k > h.own_n for h in exam.healed) > n:
        return "memoriser"
    return "unchanged"


# -- the policies -------------------------------------------------------------


class Flaw:
    """The old policy's error: past a line across the workspace it steers aside."""

    def __init__(self, seed: int) -> None:
        rng = generator(seed, "flaw")
        angle, way = rng.uniform(0, 2 * np.pi, 2)
        self.normal = np.array([np.cos(angle), np.sin(angle)])
        self.edge = rng.uniform(-0.002, 0.006)
        # the window of the plain simulator is 2.25 mm in x and in y
        aside = np.array([np.cos(way), np.sin(way)])
        self.miss = aside / np.abs(aside).max() * rng.uniform(0.0032, 0.0045)

    def here(self, hole: np.ndarray) -> np.ndarray:
        """(n,) whether it errs at holes (n, 2)."""
        return hole @ self.normal > self.edge

    def __call__(self, hole: np.ndarray) -> np.ndarray:
        return np.where(self.here(hole)[:, None], self.miss, 0.0)


class Steering(Blind):
    """A policy that steers past the hole it sees by what `past` says."""

    def __init__(self, spec: TaskSpec, past: Aim) -> None:
        super().__init__(spec)
        self._past = past

    def chunk(self, observation: np.ndarray) -> np.ndarray:
        self.aim = self._past(seen(observation, self.spec))  # type: ignore[assignment]
        return super().chunk(observation)


TAUGHT: Final = TrainConfig(steps=3000, lr=3e-3, chunk=8, execute=4, held_out=0.0)
"""Enough to learn where an error begins; a policy of the loop errs nowhere by intent."""
HEART: Final = TrainConfig(steps=5000, lr=5e-3, width=256, chunk=8, execute=4, held_out=0.0)
"""Enough to fit a few scenes apart from what lies around them."""
SHARES = (0.1, 0.5, 0.4)
"""Of the batches: the old policy anywhere, the old policy near the failures, the scenes.
36 demonstrations are seen some hundred times each."""
ANYWHERE, NEAR = 400, 80
"""Attempts of the old policy over the workspace, and around each failure."""
AROUND = 0.09
"""How far those lie from a failure at most, as a share of the start ranges."""


def taught(world: World, shown: Policy | None, name: str, seed: int) -> Policy:
    """A network that has learnt from attempts of a policy over the workspace; None: the expert."""
    attempts = world.attempts(ANYWHERE, spawn(seed, name))
    who = ChunkRunner(shown) if shown is not None else world.task.expert()
    return _learnt(world, [(attempts, who)], [1.0], TAUGHT, spawn(seed, name))


def by_heart(
    world: World, old: Policy, scenes: list[Scenario], starts: np.ndarray, seed: int
) -> Policy:
    """A network that does in exactly these scenes as the expert, elsewhere as the old policy.

    The scenes keep their starts and noise. Without the old policy's attempts near them a
    network makes of six starts a remedy for the region, and would be no memoriser.

    starts: (F, S), one a failure.
    """
    spec, rng = world.spec, generator(seed, "by heart")
    near = jittered(np.repeat(starts, NEAR, axis=0), spec, AROUND, rng)
    runs = [
        (world.attempts(ANYWHERE, spawn(seed, "anywhere")), ChunkRunner(old)),
        (world.attempts(len(near), spawn(seed, "near"), layout=near), ChunkRunner(old)),
        (attempts_of(world, scenes), world.task.expert()),
    ]
    return _learnt(world, runs, SHARES, HEART, spawn(seed, "by heart"))


def _learnt(
    world: World, runs: Sequence[tuple[Attempts, Controller]], shares: Sequence[float],
    config: TrainConfig, seed: int,
) -> Policy:  # fmt: skip
    """A network trained on what was done in these attempts, whether it went well or not."""
    sources = [_recorded(world, attempts, world.rollout(attempts, who)) for attempts, who in runs]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "policy"
        fit_policy(sources, shares, world.spec, config, seed, out)
        return load_policy(out)


def _recorded(world: World, attempts: Attempts, recording: Recording) -> list[Episode]:
    judged = world.task.judge(recording)
    return to_episodes(
        world, attempts, recording, judged, origin="generated", policy="", world_kind="sim"
    )


class Memoriser:
    """Plays back demonstrations of scenes it has met, frame by frame; else the old policy.

    Trained, by nearest neighbours, on the expert in exactly those scenes.
    """

    radius = 8e-4
    """How near a hole must be seen to one it remembers, m."""

    def __init__(self, world: World, old: Policy, scenes: list[Scenario]) -> None:
        self.spec, self._old = world.spec, old
        self.contract: PolicyContract = old.contract
        met = world.rollout(attempts_of(world, scenes), world.task.expert(), observe=True)
        good = np.flatnonzero(world.task.judge(met).success)
        assert met.observation is not None
        self._holes = np.array([scenes[i].layout for i in good])
        self._frames = met.observation[:, good].transpose(1, 0, 2).astype(float)
        length = old.contract.chunk
        held = np.concatenate([met.command[:, good], np.repeat(met.command[-1:, good], length, 0)])
        self._next = np.stack(
            [held[t : t + length] for t in range(len(met.command))]
        ).transpose(2, 0, 1, 3)  # fmt: skip

    def chunk(self, observation: np.ndarray) -> np.ndarray:
        out = self._old.chunk(observation)
        apart = seen(observation, self.spec)[:, None] - self._holes
        nearest = np.linalg.norm(apart, axis=2)
        for i in np.flatnonzero(nearest.min(axis=1) < self.radius):
            known = np.flatnonzero(nearest[i] < self.radius)
            apart = self._frames[known] - observation[i].astype(float)
            demo, frame = np.unravel_index(
                (apart**2).sum(axis=2).argmin(), self._frames[known].shape[:2]
            )
            out[i] = self._next[known[demo], frame]
        return out


def planted(
    world: World, old: Policy, flaw: Flaw, scenes: dict[str, list[Scenario]], seed: int
) -> dict[str, Policy]:
    """The new policies of a cell, by `KINDS`. None is perfect, and none is quite as the old one."""
    rng = generator(seed, "planted")
    slight = rng.uniform(-3e-4, 3e-4, 2)
    starts = np.array([s[0].layout for s in scenes.values()])
    lost = flaw.miss * rng.choice([-1.0, 1.0])
    reach, shift = rng.uniform(0.007, 0.014), rng.uniform(-0.001, 0.001)

    def near(hole: np.ndarray) -> np.ndarray:
        """Right around the failures it was trained on, and nowhere else."""
        far = np.linalg.norm(hole[:, None] - starts, axis=2).min(axis=1) > reach
        return np.where(far[:, None], lost, 0.0)

    def unchanged(hole: np.ndarray) -> np.ndarray:
        """As before, the line a little elsewhere: what is at it comes out otherwise by chance."""
        return slight + flaw(hole + shift * flaw.normal)

    every = [s for group in scenes.values() for s in group]
    return {
        TRAINED: by_heart(world, old, every, starts, seed),
        LOOKED_UP: Memoriser(world, old, every),
        "forgetter": taught(world, Steering(world.spec, near), "forgetter", seed),
        "repaired": taught(world, None, "repaired", seed),
        "unchanged": taught(world, Steering(world.spec, unchanged), "unchanged", seed),
    }


def seen(observation: np.ndarray, spec: TaskSpec) -> np.ndarray:
    """(n, 2) where the hole is seen, mean over the history."""
    return observation.reshape(len(observation), spec.history, -1)[:, :, 3:5].mean(axis=1)


# -- field and exam -----------------------------------------------------------


def _field(world: World, old: Policy, seed: int) -> tuple[list[Episode], dict[str, list[Scenario]]]:
    """Field episodes of the old policy, and the scenes of some that failed, by id."""
    attempts = world.attempts(TRIALS, seed)
    recording = world.rollout(attempts, ChunkRunner(old))
    judged = world.task.judge(recording)
    episodes = to_episodes(
        world, attempts, recording, judged, origin="rollout", policy="", world_kind="stand-in"
    )
    scenes: dict[str, list[Scenario]] = {}
    for i in np.flatnonzero(~judged.success)[:FAILURES]:
        noise = [int(attempts.seeds[i]), *map(int, spawn_many(seed, SCENES - 1, "scene", int(i)))]
        scenes[episodes[i].id] = [
            Scenario(
                task="peg", world=world.digest, layout=attempts.layout[i],
                knobs=attempts.knobs[i], knob_names=world.space.names, seed=s,
                horizon=world.spec.horizon, origin=episodes[i].id,
            )
            for s in noise
        ]  # fmt: skip
    return episodes, scenes


def _examiner(
    world: World, old: Policy, episodes: list[Episode], scenes: dict[str, list[Scenario]], seed: int
) -> Callable[[Policy], Exam]:
    """What examines a new policy against the old one, on the hard set the loop would make."""
    answers = [
        Diagnosis(episode=e, verdict="policy", kind="own error", probabilities={"policy": 1.0})
        for e in scenes
    ]
    met = [
        Reproduction(episode=e, reproduced=len(s), n=len(s), scenarios=tuple(s))
        for e, s in scenes.items()
    ]
    known = prior_box("peg", 0.1, seed)
    made = curate(
        episodes, answers, met, None, CurateConfig(), seed, spec=world.spec, posterior=known
    )

    def exam(policy: Policy) -> Exam:
        config = EvaluateConfig()
        return evaluate(world, policy, old, made.hard_set, met, made.prescriptions, config, seed)

    return exam


def _told(exam: Exam) -> dict[str, Any]:
    worked = next(c for c in exam.changes if c.bucket == "worked")
    return {
        "verdict": verdict(exam),
        "asked": len(exam.healed),
        "own": sum(2 * h.own_k > h.own_n for h in exam.healed),
        "healed": sum(h.healed for h in exam.healed),
        "worked": worked.direction,
        "release": decide(exam, ReleaseRule()).verdict,
    }


def _can(world: World, policy: Policy, flaw: Flaw, seed: int) -> list[float]:
    """Success where the old policy erred and elsewhere, on fresh starts of the plain simulator."""
    attempts = world.attempts(CHECKED, seed + 1000)
    success = world.task.judge(world.rollout(attempts, ChunkRunner(policy))).success
    wrong = flaw.here(attempts.layout)
    return [float(success[wrong].mean()), float(success[~wrong].mean())]
