"""A task's world on `mujoco.batch`: knobs in, recordings out, bit-reproducible.

Python runs once a control step for the whole batch. All randomness of attempt i
comes from its seed, so it is the same alone, in any batch, on any thread count.
"""

from collections import OrderedDict
from typing import Final

import numpy as np
from mujoco.batch import Batch, SimulationError

from gaploop.core import (
    Attempts,
    InputError,
    KnobSpace,
    Recording,
    digest,
    generator,
    spawn_many,
)
from gaploop.core.protocols import Controller, Planner, Task
from gaploop.sim.actions import ActionPipeline
from gaploop.sim.binding import Binding
from gaploop.sim.effects import Effects
from gaploop.sim.mj import MjModel, mj
from gaploop.sim.noise import Draws
from gaploop.sim.observe import ObservationBuilder
from gaploop.sim.reads import Reader
from gaploop.sim.sensors import ChannelPipeline
from gaploop.sim.settings import Settings

PIPELINE_VERSION: Final = 1
"""Raised when the same attempt would give other numbers; part of every world digest."""

_CACHED: Final = 6
"""Batches kept, by number of simulations: a batch cannot change its size."""


class World:
    """Runs attempts of one task. See `core.protocols.World`."""

    def __init__(self, task: Task, *, threads: int = 1, space: KnobSpace | None = None) -> None:
        """`space` may hold other knobs than the task's own, effects included.

        Raises:
          InputError: MJCF that does not compile, a control period that is no
            whole number of physics steps, unknown actuators.
          KnobError, UnknownNameError: a knob or read that does not resolve.
        """
        _quiet()
        self.task, self.spec = task, task.spec
        self.space = task.spec.knobs if space is None else space
        xml = task.mjcf()
        self.model = _compile(xml, self.spec.name)
        self.substeps = _substeps(self.model, self.spec.control_dt)
        self._actuators = _actuators(self.model, self.spec.command)
        self.threads = threads
        self._binding = Binding(self.model, self.spec, self.space)
        self._cache: OrderedDict[int, tuple[Batch, list[Reader]]] = OrderedDict()
        self._batch(1)  # resolves every read, so that a typo shows here
        self.digest = digest(xml, self.spec, self.space, mj.__version__, PIPELINE_VERSION)

    def attempts(
        self,
        n: int,
        seed: int,
        *,
        knobs: np.ndarray | None = None,
        layout: np.ndarray | None = None,
    ) -> Attempts:
        """n attempts; the first k are the same for any n >= k.

        knobs: (P,) or (n, P), nominal when None. layout: (S,) or (n, S), drawn
        uniformly from the task's ranges when None.
        """
        if layout is None:
            u = generator(seed, "layout").random((n, len(self.spec.layout)))
            low = np.array([v.low for v in self.spec.layout])
            high = np.array([v.high for v in self.spec.layout])
            layout = low + (high - low) * u
        chosen = self.space.nominal if knobs is None else np.asarray(knobs, dtype=float)
        return Attempts(
            layout=_rows(np.asarray(layout, dtype=float), n, len(self.spec.layout), "layout"),
            knobs=_rows(chosen, n, len(self.space), "knobs"),
            seeds=spawn_many(seed, n, "attempt"),
        )

    def rollout(
        self,
        attempts: Attempts,
        controller: Controller,
        *,
        observe: bool = False,
        steps: int | None = None,
    ) -> Recording:
        """Closed loop: the controller acts on what the sensors show.

        Commands are rounded to single precision, as a robot gets and a log keeps
        them. observe: also record the (T, N, history * frame) observations.
        steps: control steps, the task's horizon when None.
        """
        if isinstance(controller, Planner):
            controller.plan(self, attempts)
        controller.reset(len(attempts))
        steps = self.spec.horizon if steps is None else steps
        sent = np.empty((steps, len(attempts), len(self.spec.command)))
        return self._run(attempts, controller, sent, observe=observe, noise=True)

    def replay(self, attempts: Attempts, commands: np.ndarray, *, noise: bool = True) -> Recording:
        """Open loop: commands (T, N, a) as logged; T may differ from the horizon.

        noise=False leaves out all that is random (sensor noise, spread and
        dropout, lost commands, jitter): the path a likelihood compares with.
        """
        commands = np.asarray(commands, dtype=float)
        expected = (len(attempts), len(self.spec.command))
        if commands.ndim != 3 or commands.shape[1:] != expected:
            raise InputError(
                f"Commands of shape {commands.shape} cannot be replayed.",
                hint=f"Expected (T, {expected[0]}, {expected[1]}).",
            )
        return self._run(attempts, None, commands, observe=False, noise=noise)

    def _run(
        self,
        attempts: Attempts,
        controller: Controller | None,
        sent: np.ndarray,
        *,
        observe: bool,
        noise: bool,
    ) -> Recording:
        spec, n, steps = self.spec, len(attempts), len(sent)
        batch, readers = self._batch(n)
        settings = self._binding.apply(batch, attempts)
        if not noise:
            _silence(settings)
        rest = self._rest(batch)
        batch.bind("ctrl")[:, self._actuators] = rest
        warnings = batch.warning[:, :, 1].sum(axis=1)
        batch.forward()

        truth = {c.name: np.empty((steps + 1, n, len(c.columns))) for c in spec.channels}
        signals = {c.name: np.empty((steps, n, len(c.columns))) for c in spec.observed}
        seen = np.empty((steps, n, spec.history * len(spec.frame_columns)), dtype=np.float32)
        width = sum(len(c.columns) for c in spec.observed) + len(spec.command) + 2
        draws = Draws(attempts.seeds, steps + 1, width)
        actions = ActionPipeline(
            settings, rest, dt=spec.control_dt, substeps=self.substeps, draws=draws
        )
        sensors = self._sensors(settings, truth, draws)
        builder = ObservationBuilder(spec)
        builder.reset(n)
        last = np.zeros((n, len(spec.command)))
        broken = np.zeros(n, dtype=bool)
        self._read(readers, truth, 0)
        with Effects(settings, batch, spec, tuple(self._binding.fields)) as effects:
            for k in range(steps):
                for name, pipeline in sensors.items():
                    signals[name][k] = pipeline.step(k)
                if controller is not None:
                    shown = builder.push({name: signals[name][k] for name in signals}, last)
                    if observe:
                        seen[k] = shown
                    now = {name: values[k] for name, values in truth.items()}
                    sent[k] = np.asarray(controller.act(k, shown, now), dtype=np.float32)
                last = sent[k]
                effects.step(k * spec.control_dt)
                broken[self._advance(batch, *actions.step(k, last))] = True
                self._read(readers, truth, k + 1)
        warned = batch.warning[:, :, 1].sum(axis=1) > warnings
        return Recording(
            dt=spec.control_dt,
            command=sent,
            signals=signals,
            truth=truth,
            void=warned | broken | ~np.isfinite(sent).all(axis=(0, 2)),
            observation=seen if observe else None,
        )

    def _advance(self, batch: Batch, control: np.ndarray, moving: bool) -> np.ndarray:
        """One control step; `moving` control is (N, substeps, a). Returns ids MuJoCo gave up."""
        try:
            if moving:
                batch.rollout(self.substeps, self._all_actuators(batch, control), record=())
            else:
                batch.bind("ctrl")[:, self._actuators] = control
                batch.step(nstep=self.substeps)
        except SimulationError as error:
            return error.ids
        return np.empty(0, dtype=int)

    def _all_actuators(self, batch: Batch, control: np.ndarray) -> np.ndarray:
        """(N, substeps, nu) in MuJoCo's order; actuators that no command drives keep theirs."""
        if np.array_equal(self._actuators, np.arange(self.model.nu)):
            return control
        full = np.repeat(batch.bind("ctrl")[:, None], self.substeps, axis=1)
        full[:, :, self._actuators] = control
        return full

    def _sensors(
        self, settings: Settings, truth: dict[str, np.ndarray], draws: Draws
    ) -> dict[str, ChannelPipeline]:
        sensors, at = {}, 0
        for c in self.spec.observed:
            sensors[c.name] = ChannelPipeline(
                settings, c.name, truth[c.name], dt=self.spec.control_dt, draws=draws, at=at
            )
            at += len(c.columns)
        return sensors

    def _read(self, readers: list[Reader], truth: dict[str, np.ndarray], row: int) -> None:
        for reader, channel in zip(readers, self.spec.channels, strict=True):
            reader.read(truth[channel.name][row])

    def _rest(self, batch: Batch) -> np.ndarray:
        """(N, a) control before the first command: position servos hold where they start."""
        model = self.model
        rest = np.zeros((batch.nsim, len(self._actuators)))
        for column, i in enumerate(self._actuators):
            servo = model.actuator_biasprm[i, 1] != 0
            if servo and model.actuator_trntype[i] == mj.mjtTrn.mjTRN_JOINT:
                joint = model.actuator_trnid[i, 0]
                rest[:, column] = batch.bind("qpos")[:, model.jnt_qposadr[joint]]
        return rest

    def _batch(self, n: int) -> tuple[Batch, list[Reader]]:
        if n in self._cache:
            self._cache.move_to_end(n)
            return self._cache[n]
        batch = Batch(self.model, n, self.threads)
        self._cache[n] = (batch, [Reader(batch, c) for c in self.spec.channels])
        if len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return self._cache[n]


def _silence(settings: Settings) -> None:
    for kind, owner, field in list(settings.values):
        if (kind, field) in {
            ("sensor", "noise"), ("sensor", "spread"), ("sensor", "dropout"),
            ("action", "lost"), ("action", "jitter"),
        }:  # fmt: skip
            settings.values[kind, owner, field][:] = 0.0


def _quiet() -> None:
    """Diverged simulations are counted and reported as void; MuJoCo need not write a log file."""
    config = mj.MjLogConfig.get()
    config.logto_file = config.logto_console = False
    mj.MjLogConfig.set(config)


def _compile(xml: str, name: str) -> MjModel:
    try:
        return mj.MjModel.from_xml_string(xml)
    except ValueError as error:
        raise InputError(f"The MJCF of task {name!r} does not compile: {error}.") from error


def _substeps(model: MjModel, control_dt: float) -> int:
    ratio = control_dt / model.opt.timestep
    if round(ratio) < 1 or abs(ratio - round(ratio)) > 1e-6:
        raise InputError(
            f"A control period of {control_dt:g} s is no whole number of physics steps.",
            hint=f"The model steps {model.opt.timestep:g} s.",
        )
    return round(ratio)


def _actuators(model: MjModel, names: tuple[str, ...]) -> np.ndarray:
    from gaploop.sim.binding import object_id

    return np.array([object_id(model, "actuator", name) for name in names])


def _rows(values: np.ndarray, n: int, width: int, what: str) -> np.ndarray:
    """(width,) or (n, width) as a fresh (n, width)."""
    if values.shape not in ((width,), (n, width)):
        raise InputError(
            f"The {what} has shape {values.shape}.", hint=f"Expected ({width},) or ({n}, {width})."
        )
    return np.array(np.broadcast_to(values, (n, width)))
