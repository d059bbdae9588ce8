"""Closed-loop rollouts: gaploop's World against bare mujoco.batch and Gymnasium's vector envs.

All run the peg with the same model, control period and commands, one thread each. Every
cell alternates between the two sides it compares and takes the median of the ratios, so
that other load on the machine hits both. A step is a control step of one simulation
(8 physics steps).

Bare mujoco.batch writes the controls and steps, with the same knob values in its model
fields (joint friction too, which costs it a constraint); its set-up is not counted. Ours
counts everything: set-up, draws, controller, pipelines, recording. Gymnasium's side is an
environment over the same MJCF, once with the model alone and once with the effects that
the `usual` cell has too.
"""

import resource
import time
from collections import deque
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np

from benchmarks.harness import Cell, Result
from gaploop.core import Knob, KnobSpace, Prior, Recording, Target
from gaploop.sim import World
from gaploop.tasks.peg import Peg

N = 512

USUAL = {
    "action:delay": 0.02, "action:gain": 1.0 + 1e-3, "sensor:hole.latency": 0.05,
    "sensor:hole.bias": 1e-4, "sensor:hole.noise": 2e-4, "sensor:q.noise": 1e-6,
}  # fmt: skip
EVERY = USUAL | {
    "action:latency": 0.01, "action:jitter": 0.01, "action:lost": 0.02, "action:offset": 1e-5,
    "action:limit": 0.08, "action:rate": 1.0, "action:deadband": 1e-6, "action:backlash": 1e-5,
    "sensor:q.latency": 0.01, "sensor:q.rate": 19.0, "sensor:q.scale": 1.0001,
    "sensor:q.bias": 1e-6, "sensor:q.spread": 1e-6, "sensor:q.drift": 1e-6,
    "sensor:q.step": 1e-6, "sensor:q.dropout": 0.02, "sensor:hole.rate": 15.0,
    "sensor:hole.scale": 1.0001, "sensor:hole.spread": 1e-4, "sensor:hole.drift": 1e-5,
    "sensor:hole.step": 1e-5, "sensor:hole.dropout": 0.02, "effect:stribeck.coulomb": 0.02,
    "effect:stribeck.static": 0.05, "effect:push.force": 0.05, "effect:push.length": 1.0,
    "opt:gravity[0]": 0.02, "joint:x.frictionloss": 0.02, "joint:y.frictionloss": 0.02,
    "joint:z.frictionloss": 0.02,
}  # fmt: skip
"""Small enough that the peg goes in: contacts cost the same on both sides."""


def cells(quick: bool) -> list[Cell]:
    """Ours against bare mujoco.batch, and against Gymnasium."""
    rounds = 5 if quick else 15
    common = {"n": N, "rounds": rounds}
    return [
        Cell(name="usual", parameters={**common, "effects": "usual", "against": "batch"}),
        Cell(name="every", parameters={**common, "effects": "every", "against": "batch"}),
        Cell(name="every-plain", parameters={**common, "effects": "every", "against": "plain"}),
        Cell(name="sync-64", parameters={**common, "against": "sync", "envs": 64}),
        Cell(name="sync-512", parameters={**common, "against": "sync", "envs": 512}),
        Cell(name="async-4", parameters={**common, "against": "async", "envs": 4}),
        Cell(name="sync-64-bare", parameters={**common, "against": "sync-bare", "envs": 64}),
    ]


def run(cell: Cell) -> dict[str, Any]:
    """Median rates and their ratio."""
    p = cell.parameters
    world = _world(EVERY if p.get("effects") == "every" else USUAL)
    attempts = world.attempts(p["n"], 0)
    logged = world.rollout(attempts, world.task.expert())
    ours_steps = logged.steps * p["n"]

    def ours() -> float:
        world.rollout(attempts, world.task.expert())
        return ours_steps

    if p["against"] == "batch":
        other = _bare(world, logged)
    elif p["against"] == "plain":
        plain = _world(USUAL)
        other = _bare(plain, plain.rollout(plain.attempts(p["n"], 0), plain.task.expert()))
    else:
        other = _gymnasium(world, logged, p["against"], p["envs"])
    rates = np.array([(_rate(ours), _rate(other)) for _ in range(p["rounds"])])
    ratios = rates[:, 0] / rates[:, 1]
    return {
        "ours": float(np.median(rates[:, 0])),
        "other": float(np.median(rates[:, 1])),
        "ratio": float(np.median(ratios)),
        "low": float(np.quantile(ratios, 0.1)),
        "high": float(np.quantile(ratios, 0.9)),
        "succeeded": float(world.task.judge(logged).success.mean()),
    }


def table(results: list[Result]) -> str:
    """Rates in control steps per CPU-second."""
    labels = {
        "usual": ("delay, gain, latency, bias, noise, recording", "bare `mujoco.batch`", ">= 0.85"),
        "every": ("every effect, recording", "bare `mujoco.batch`, joint friction on", ">= 0.60"),
        "every-plain": ("every effect, recording", "bare `mujoco.batch`, frictionless joints", ""),
        "sync-64": ("as the first row", "Gymnasium SyncVectorEnv(64), same effects", ">= 5"),
        "sync-512": ("as the first row", "Gymnasium SyncVectorEnv(512), same effects", ">= 5"),
        "async-4": ("as the first row", "Gymnasium AsyncVectorEnv(4), same effects", ">= 5"),
        "sync-64-bare": ("as the first row", "SyncVectorEnv(64), the model alone", ""),
    }
    lines = [
        f"{N} closed-loop rollouts of `peg` at once, one thread; control steps per CPU-second,"
        " medians over alternating rounds; ratio with its 10 and 90 % quantiles.",
        "",
        "| ours, with | steps/CPU-s | against | steps/CPU-s | ratio | aim |",
        "|---|---|---|---|---|---|",
    ]
    for result in results:
        mine, against, aim = labels[result.cell.name]
        v = result.values
        lines.append(
            f"| {mine} | {v['ours']:,.0f} | {against} | {v['other']:,.0f}"
            f" | {v['ratio']:.2f} ({v['low']:.2f} to {v['high']:.2f}) | {aim} |"
        )
    return "\n".join(lines)


def _world(values: dict[str, float]) -> World:
    """The peg with its own knobs and constant effects on top, as knobs that never vary."""
    extra = tuple(
        Knob(
            name=path, gap="execution", unit="1", nominal=value,
            prior=Prior(low=value - 1.0, high=value + 1.0), targets=(Target(path=path),),
        )
        for path, value in values.items()
    )  # fmt: skip
    return World(Peg(), space=KnobSpace(knobs=(*Peg().spec.knobs.knobs, *extra)))


def _rate(run_once: Any) -> float:
    """Steps per CPU-second of one call, children included."""
    before = _cpu()
    steps = run_once()
    return steps / (_cpu() - before)


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _bare(world: World, logged: Recording) -> Any:
    """Write controls, step; the rest of the set-up is done before the clock starts."""
    n = logged.command.shape[1]
    batch, _ = world._batch(n)
    start = None

    def once() -> float:
        nonlocal start
        if start is None:
            world._binding.apply(batch, world.attempts(n, 0))
            start = batch.state.copy()
        batch.state[:] = start
        for command in logged.command:
            batch.ctrl[:] = command
            batch.step(nstep=world.substeps)
        return float(logged.steps * n)

    return once


def _gymnasium(world: World, logged: Recording, kind: str, envs: int) -> Any:
    """A vector environment that gets the logged commands."""
    xml, gap = world.task.mjcf(), float(world.space.nominal[0])
    make = PegEnv if kind == "sync-bare" else EffectsEnv
    factories = [lambda: make(xml, gap, world.substeps)] * envs
    parallel = kind == "async"
    # an attempt is 44 steps; the small vectors make several
    repeats = 4 if parallel else max(1, 512 // envs)
    standing = None if parallel else gym.vector.SyncVectorEnv(factories)

    def once() -> float:
        # a child's CPU time is known only once it has ended, so these start anew each time
        vector = gym.vector.AsyncVectorEnv(factories) if standing is None else standing
        for repeat in range(repeats):
            vector.reset(seed=repeat)
            for command in logged.command[:, :envs]:
                vector.step(command)
        if standing is None:
            vector.close()
        return float(repeats * envs * logged.steps)

    return once


class PegEnv(gym.Env):
    """The peg's model behind Gymnasium's interface, as lean as it gets."""

    def __init__(self, xml: str, clearance: float, substeps: int) -> None:
        self.model = mujoco.MjModel.from_xml_string(xml)
        for axis, wall in enumerate(("px", "nx", "py", "ny")):
            self.model.geom(wall).pos[axis // 2] += clearance * (1 if wall[0] == "p" else -1)
        self.data = mujoco.MjData(self.model)
        self.substeps, self.steps = substeps, 0
        self.last = np.zeros(3)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (self.width,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float64)

    width = 8

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        self.data.mocap_pos[0, :2] = self.np_random.uniform(-0.025, 0.025, 2)
        self.last, self.steps = np.zeros(3), 0
        return self.observe(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.act(action)
        self.last = action
        self.steps += 1
        return self.observe(), 0.0, False, self.steps >= 44, {}

    def act(self, action: np.ndarray) -> None:
        self.data.ctrl[:] = action
        mujoco.mj_step(self.model, self.data, self.substeps)

    def observe(self) -> np.ndarray:
        hole = self.data.mocap_pos[0, :2]
        return np.concatenate([self.data.qpos, hole, self.last], dtype=np.float32)


class EffectsEnv(PegEnv):
    """With delay, gain, latency, bias, noise, a history of four frames, and recording."""

    width = 32
    late = 3
    """Physics steps of delay."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        self.previous = np.zeros(3)
        self.holes: deque[np.ndarray] = deque(maxlen=2)
        self.frames: deque[np.ndarray] = deque(maxlen=4)
        self.log = {"q": np.empty((45, 3)), "tip": np.empty((45, 12)), "command": np.empty((45, 3))}
        return super().reset(seed=seed, options=options)

    def act(self, action: np.ndarray) -> None:
        self.log["command"][self.steps] = action
        mujoco.mj_step(self.model, self.data, self.late)
        self.data.ctrl[:] = 1.001 * action
        mujoco.mj_step(self.model, self.data, self.substeps - self.late)

    def observe(self) -> np.ndarray:
        data, rng = self.data, self.np_random
        self.log["q"][self.steps] = data.qpos
        self.log["tip"][self.steps] = data.site_xpos[:4].ravel()
        self.holes.append(data.mocap_pos[0, :2].copy())
        hole = self.holes[0] + 1e-4 + rng.normal(0.0, 2e-4, 2)
        q = data.qpos + rng.normal(0.0, 1e-6, 3)
        frame = np.concatenate([q, hole, self.last], dtype=np.float32)
        while len(self.frames) < 3:
            self.frames.append(frame)
        self.frames.append(frame)
        return np.concatenate(self.frames)
