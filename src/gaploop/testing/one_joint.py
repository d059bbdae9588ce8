"""A vectorised one-joint position servo, fast enough to check a posterior's coverage.

J a = k (c(t - delay) - q) - b v - friction, in units of the inertia (J = 1), so the
knobs are the ones a log can show. A fifth knob, the payload, acts only on contact and
no log here touches anything: a posterior must return its prior.
"""

from dataclasses import dataclass

import numpy as np

from gaploop.core import Knob, KnobSpace, Prior, Target, generator

IDLE = "payload"
"""The knob that no free-space log can show."""


def space() -> KnobSpace:
    """The servo's knobs; `payload` is the planted one without any effect."""

    def knob(name: str, gap: str, unit: str, low: float, high: float, kind: str) -> Knob:
        prior = Prior(kind="loguniform" if kind == "log" else "uniform", low=low, high=high)
        middle = float(prior.from_unit(np.array([0.5]))[0])
        target = Target(path=f"joint:servo.{name}")
        return Knob(name=name, gap=gap, unit=unit, prior=prior, nominal=middle, targets=(target,))

    return KnobSpace(
        knobs=(
            knob("stiffness", "execution", "1", 150.0, 900.0, "log"),
            knob("damping", "dynamics", "1", 8.0, 40.0, "log"),
            knob("friction", "dynamics", "1", 0.0, 12.0, "flat"),
            knob("delay", "execution", "s", 0.0, 0.06, "flat"),
            knob(IDLE, "dynamics", "kg", 0.0, 0.8, "flat"),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OneJoint:
    """E logs of T frames: what was commanded, and how the joint answers."""

    commands: np.ndarray
    """(E, T) rad, held from one frame to the next."""
    dt: float = 0.02
    """Frame period in s."""
    substeps: int = 4

    def simulate(self, values: np.ndarray) -> np.ndarray:
        """(M, E, 5) knob values, a row each log, to (M, E, T) joint angles in rad.

        Semi-implicit Euler; Coulomb friction is exact within a step: it stops the joint
        rather than reverse it. The joint rests at the first command at t = 0.
        """
        stiffness, damping, friction, delay = np.moveaxis(values, -1, 0)[:4]
        h = self.dt / self.substeps
        count, frames = self.commands.shape
        # the command one substep late lies on a line between two neighbouring ones,
        # which keeps the answer smooth in the delay
        fine = np.repeat(self.commands, self.substeps, axis=1)
        shift = delay / h
        whole = np.floor(shift).astype(int)
        part = shift - whole
        row = np.arange(count)[None, :] * fine.shape[1]
        fine = fine.ravel()
        decay = 1.0 / (1.0 + h * damping)
        push, stop = h * stiffness * decay, h * friction * decay
        q = np.broadcast_to(self.commands[:, 0], values.shape[:-1]).copy()
        v = np.zeros_like(q)
        out = np.empty((*values.shape[:-1], frames))
        for step in range(frames * self.substeps):
            if step % self.substeps == 0:
                out[..., step // self.substeps] = q
            late = np.maximum(step - whole, 0)
            near = fine[row + late]
            command = near + part * (fine[row + np.maximum(late - 1, 0)] - near)
            free = v * decay + push * (command - q)
            v = np.sign(free) * np.maximum(np.abs(free) - stop, 0.0)
            q = q + h * v
        return out


def excite(seed: int, logs: int, frames: int = 120, dt: float = 0.02) -> OneJoint:
    """Logs with two random sines and a rest at both ends."""
    rng = generator(seed, "one_joint", "excite")
    t = np.arange(frames) * dt
    total = frames * dt
    rate = rng.uniform([0.4, 1.2], [1.0, 2.5], size=(logs, 2))[..., None]
    size = rng.uniform([0.2, 0.05], [0.6, 0.2], size=(logs, 2))[..., None]
    phase = rng.uniform(0, 2 * np.pi, size=(logs, 2, 1))
    wave = (size * np.sin(2 * np.pi * rate * t + phase)).sum(axis=1)
    window = np.clip(np.minimum(t - 0.1, total - t - 0.6) / 0.3, 0.0, 1.0)
    return OneJoint(commands=wave * window, dt=dt)


def measure(joint: OneJoint, values: np.ndarray, seed: int, noise: float = 2e-3) -> np.ndarray:
    """(E, 5) true knob values to (E, T) noisy angles, `noise` the white sd in rad."""
    clean = joint.simulate(values[None])[0]
    return clean + noise * generator(seed, "one_joint", "noise").standard_normal(clean.shape)
