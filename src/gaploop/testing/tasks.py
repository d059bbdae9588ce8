"""What every task must do, built-in or a user's own."""

import numpy as np

from gaploop.core import Attempts, Judgement, Recording
from gaploop.core.protocols import Task
from gaploop.sim import World
from gaploop.sim.scenario import compare


def check_task(task: Task, *, n: int = 32, nominal: float = 0.9, seed: int = 0) -> float:
    """Runs a task's world, judge and expert; returns the expert's success rate at nominal.

    n: attempts a run. nominal: least success rate of the expert in the plain
    world; a lower one makes demonstrations too rare to learn from.

    Raises:
      AssertionError: with one sentence, when the task breaks a rule.
      KnobError, InputError: for a model, knob or read that does not resolve.
    """
    _require(isinstance(task, Task), "it lacks spec, mjcf, judge or expert")
    _check_spec(task)
    world = World(task)
    attempts = world.attempts(n, seed)
    recording = world.rollout(attempts, task.expert(), observe=True)
    _require(not recording.void.any(), "its nominal world diverges")
    judged = task.judge(recording)
    _check_judgement(task, recording, judged)
    _check_commands(task, recording)
    again = world.replay(attempts, recording.command)
    _require(compare(recording, again) == "bit-equal", "a replay of its commands differs")
    rate = float(judged.success.mean())
    _require(rate >= nominal, f"its expert succeeds in {rate:.0%} of nominal attempts")
    agree = float((judged.success == judged.second).mean())
    _require(agree >= 0.9, f"its second check agrees in {agree:.0%} of nominal attempts only")
    _check_failure(task, world, attempts)
    _check_corners(world, n, seed)
    return rate


def _check_spec(task: Task) -> None:
    spec = task.spec
    _require(task.spec == spec, "its spec changes from call to call")
    _require(len(spec.observed) > 0, "it observes nothing")
    keys = [c.key for c in spec.observed]
    _require(len(set(keys)) == len(keys), "two channels share a feature key")
    described = {f.key for f in spec.contract.features}
    for key in (*keys, "action"):
        _require(key in described, f"its contract does not describe {key!r}")
    for c in spec.observed:
        feature = spec.contract.feature(c.key)
        same = feature is not None and feature.columns == c.columns
        _require(same, f"channel {c.name!r} and its contract name other columns")
    width = len(spec.command)
    fits = len(spec.command_low) == len(spec.command_high) == width
    _require(fits, "its command bounds do not fit its commands")
    _require(len({k.gap for k in spec.knobs.knobs}) >= 2, "its knobs cover fewer than two gaps")


def _check_judgement(task: Task, recording: Recording, judged: Judgement) -> None:
    n, steps = len(recording.void), recording.steps
    for name in ("success", "second"):
        value = getattr(judged, name)
        _require(value.shape == (n,) and value.dtype == bool, f"its {name} is no (N,) bool")
    in_range = (judged.stage >= -1) & (judged.stage < len(task.spec.stages))
    _require(bool(in_range.all()), "it names a stage that its spec does not have")
    last = len(task.spec.stages) - 1
    _require(bool((judged.stage[judged.success] == last).all()), "a success lacks its last stage")
    _require(bool((judged.stage[~judged.success] < last).all()), "a failure has its last stage")
    signs = (judged.margin > 0) | ~judged.success
    _require(bool(signs.all()), "a success has no positive margin")
    finite = np.isfinite(judged.onset) == ~judged.success
    _require(bool(finite.all()), "onset must be NaN for successes and a time for failures")
    weights = judged.weights
    _require(weights.shape == (steps, n), "its frame weights are not (T, N)")
    _require(bool((weights >= 0).all()), "a frame weight is negative")
    _require(0.5 < float(weights.mean()) < 2.0, "its frame weights are not 1 on average")
    _require(len(judged.tags) in (0, n), "it does not tag every attempt")


def _check_commands(task: Task, recording: Recording) -> None:
    low, high = np.array(task.spec.command_low), np.array(task.spec.command_high)
    slack = 1e-6 * (high - low)
    inside = (recording.command >= low - slack) & (recording.command <= high + slack)
    _require(bool(inside.all()), "its expert leaves the command's bounds")


def _check_failure(task: Task, world: World, attempts: Attempts) -> None:
    """Doing nothing must fail, and a void attempt must never be a success."""
    idle = world.rollout(attempts, _Idle(len(task.spec.command)))
    judged = task.judge(idle)
    _require(not judged.success.any(), "an attempt without any motion counts as a success")
    _check_judgement(task, idle, judged)
    done = world.rollout(attempts, task.expert())
    done.void[:] = True
    _require(not task.judge(done).success.any(), "a void attempt counts as a success")


def _check_corners(world: World, n: int, seed: int) -> None:
    """No knob, alone at either end of its prior, may break the physics."""
    space = world.space
    knobs = np.repeat(space.nominal[None], 2 * len(space), axis=0)
    for i in range(len(space)):
        knobs[2 * i, i], knobs[2 * i + 1, i] = space.low[i], space.high[i]
    recording = world.rollout(world.attempts(len(knobs), seed, knobs=knobs), world.task.expert())
    void = np.flatnonzero(recording.void)
    name = space.names[void[0] // 2] if len(void) else ""
    _require(len(void) == 0, f"its world diverges with knob {name!r} at an end of its prior")


class _Idle:
    """Sends zeros."""

    def __init__(self, width: int) -> None:
        self._width, self._n = width, 0

    def reset(self, n: int) -> None:
        self._n = n

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        return np.zeros((self._n, self._width))


def _require(holds: bool, broken: str) -> None:
    if not holds:
        raise AssertionError(f"The task breaks a rule: {broken}.")
