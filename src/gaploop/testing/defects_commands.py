"""Defects between commands and readings: signs, order, units, zeros, lags, modes."""

import numpy as np

from gaploop.testing.clean_sets import CleanSet, Take
from gaploop.testing.defects import arm_column, kind, share, some

Rng = np.random.Generator
ANGLES = ("arm", "two_arms")


@kind("gripper command inverted", "gripper_polarity")
def _polarity(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = share(s, rng, level)
    for i in hit:
        _turn_hands(s, s.takes[i].action)
    return hit


@kind("gripper inverted on both sides", "gripper_polarity", either=True)
def _both_hands(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = share(s, rng, level)
    for i in hit:
        _turn_hands(s, s.takes[i].action)
        _turn_hands(s, s.takes[i].state)
    return hit


@kind("joint sign", "joint_sign")
def _sign(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit, d = share(s, rng, level), arm_column(s, rng)
    for i in hit:
        s.takes[i].state[:, d] *= -1
    return hit


@kind("joints swapped", "joint_swap")
def _swap(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit, a = share(s, rng, level), arm_column(s, rng)
    b = arm_column(s, rng, skip=(a,))
    for i in hit:
        s.takes[i].state[:, [a, b]] = s.takes[i].state[:, [b, a]]
    return hit


@kind("degrees among radians", "unit_mismatch", shapes=ANGLES, either=True)
def _degrees(s: CleanSet, rng: Rng, level: int) -> list[int]:
    return _scaled(s, share(s, rng, level), _turn(s), both=True)


@kind("degrees on one side", "unit_mismatch", shapes=ANGLES)
def _one_side(s: CleanSet, rng: Rng, level: int) -> list[int]:
    return _scaled(s, share(s, rng, level), _turn(s), both=False)


@kind("millimetres among metres", "unit_mismatch", shapes=("pose",), either=True)
def _millimetres(s: CleanSet, rng: Rng, level: int) -> list[int]:
    return _scaled(s, share(s, rng, level), 1000.0, both=True)


@kind("reading in another scale", "unit_mismatch")
def _scale(s: CleanSet, rng: Rng, level: int) -> list[int]:
    return _scaled(s, share(s, rng, 1), (2.54, 10.0, 100.0)[level], both=False)


@kind("degrees declared as radians", "unit_mismatch", shapes=ANGLES)
def _declared(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = list(range(len(s.takes)))
    for i in hit:
        take = s.takes[i]
        if s.shape.unit == "rad":
            take.action, take.state = take.action * 180 / np.pi, take.state * 180 / np.pi
        take.unit = "rad"
        # the mild set hardly moves: less than a turn in degrees
        if level == 0:
            take.action, take.state = take.action * 0.3, take.state * 0.3
        if level == 2:
            take.action, take.state = take.action * 1.5, take.state * 1.5
    return hit


@kind("two units declared", "unit_mismatch", shapes=ANGLES)
def _two_units(s: CleanSet, rng: Rng, level: int) -> list[int]:
    """The declarations differ; all episodes are named, since neither is right by itself."""
    hit = share(s, rng, level)
    for i, take in enumerate(s.takes):
        take.unit = "mrad" if i in hit else s.shape.unit
    return list(range(len(s.takes)))


@kind("commands delayed", "action_lag")
def _late(s: CleanSet, rng: Rng, level: int) -> list[int]:
    """The recorder stored commands earlier than they were sent: readings trail them more."""
    hit = share(s, rng, 1)
    for i in hit:
        _shift(s.takes[i], (1, 3, 8)[level])
    return hit


@kind("commands one step late", "action_offset", accepted=("action_lag",))
def _offset(s: CleanSet, rng: Rng, level: int) -> list[int]:
    """Each command lies beside the observation after the one it was made for."""
    hit = some(s, rng, (2, int(0.4 * len(s.takes)), int(0.4 * len(s.takes)))[level])
    for i in hit:
        _shift(s.takes[i], (-1, -1, -4)[level])
    return hit


@kind("all commands after their reading", "action_offset")
def _acausal(s: CleanSet, rng: Rng, level: int) -> list[int]:
    for take in s.takes:
        _shift(take, (-6, -7, -8)[level])
    return list(range(len(s.takes)))


@kind("steps among places", "action_mode")
def _delta(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = share(s, rng, level)
    fixed = list(s.shape.grippers)
    for i in hit:
        take = s.takes[i]
        steps = np.diff(take.action, axis=0, append=take.action[-1:])
        steps[:, fixed] = take.action[:, fixed]
        take.action = steps
    return hit


@kind("commands held", "control_rate")
def _held(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit, every = share(s, rng, 1), (2, 3, 5)[level]
    for i in hit:
        action = s.takes[i].action
        s.takes[i].action = np.repeat(action[::every], every, axis=0)[: len(action)]
    return hit


@kind("control rate declared wrong", "control_rate")
def _declared_rate(s: CleanSet, rng: Rng, level: int) -> list[int]:
    for take in s.takes:
        take.control_rate = s.shape.fps * (1.3, 2.0, 5.0)[level]
    return list(range(len(s.takes)))


@kind("commands clipped", "saturation", accepted=("constant_dimension",))
def _clipped(s: CleanSet, rng: Rng, level: int) -> list[int]:
    """A limit of the driver cuts what a joint is asked for."""
    d = arm_column(s, rng)
    every = np.concatenate([t.action[:, d] for t in s.takes])
    low, high = np.quantile(every, (0.06, 0.94) if level == 0 else (0.15, 0.85))
    if level == 2:
        low, high = np.quantile(every, (0.3, 0.7))
    hit = []
    for i, take in enumerate(s.takes):
        cut = (take.action[:, d] < low) | (take.action[:, d] > high)
        take.action[:, d] = np.clip(take.action[:, d], low, high)
        if cut.mean() > 0.1:
            hit.append(i)
    return hit


@kind("command leaps", "action_jump")
def _leap(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit, d = some(s, rng, (1, 2, 6)[level]), arm_column(s, rng)
    size = np.median([np.ptp(t.action[:, d]) for t in s.takes]) * (0.25, 0.6, 2.0)[level]
    for i in hit:
        row = int(rng.integers(10, len(s.takes[i].action) - 10))
        s.takes[i].action[row, d] += size * rng.choice([-1, 1])
    return hit


@kind("dead command", "constant_dimension")
def _dead(s: CleanSet, rng: Rng, level: int) -> list[int]:
    d = arm_column(s, rng)
    hit = list(range(len(s.takes))) if level == 2 else share(s, rng, level)
    for i in hit:
        s.takes[i].action[:, d] = s.takes[i].action[0, d]
    return hit


@kind("joint zero", "joint_zero")
def _zero(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit, d = some(s, rng, max(2, int(0.3 * len(s.takes)))), arm_column(s, rng)
    travel = np.median([np.ptp(t.action[:, d]) for t in s.takes])
    for i in hit:
        s.takes[i].state[:, d] += (0.03, 0.1, 0.4)[level] * travel
    return hit


@kind("leap at takeover", "intervention_jump")
def _takeover(s: CleanSet, rng: Rng, level: int) -> list[int]:
    """A leader arm that does not stand where the robot stands when a person takes over."""
    hit, d = some(s, rng, (1, 3, 8)[level]), arm_column(s, rng)
    travel = np.median([np.ptp(t.action[:, d]) for t in s.takes])
    for take in s.takes:
        if take.held is None:
            take.held = np.zeros(len(take.times), bool)
    for i in hit:
        take = s.takes[i]
        start = int(len(take.times) * rng.uniform(0.3, 0.5))
        stop = start + int(0.3 * len(take.times))
        take.held = np.zeros(len(take.times), bool)
        take.held[start:stop] = True
        take.action[start:, d] += travel * (0.1, 0.25, 0.8)[level]
    return hit


@kind("idle end", "idle_frames")
def _idle(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (2, 4, 10)[level])
    ends = rng.random(len(hit)) < 0.5
    for i, before in zip(hit, ends, strict=True):
        take = s.takes[i]
        length = int((0.5, 1.0, 2.0)[level] * len(take.times))
        pads = ((length, 0) if before else (0, length), (0, 0))
        still = np.sin(np.arange(length + len(take.times)) / 3.0)[:, None]
        rest = np.zeros((length + len(take.times), 1))
        rest[slice(0, length) if before else slice(len(take.times), None)] = 1
        for name in ("action", "state"):
            grown = np.pad(getattr(take, name), pads, mode="edge")
            setattr(take, name, grown + s.shape.quantum * 0.5 * rest * still)
        for name in ("held", "load"):
            if getattr(take, name) is not None:
                setattr(take, name, np.pad(getattr(take, name), pads[0], mode="edge"))
        take.times = np.arange(len(take.action)) / s.shape.fps
    return hit


# -- inside -------------------------------------------------------------------


def _turn(s: CleanSet) -> float:
    """From the unit of the set to the other angle."""
    return 180 / np.pi if s.shape.unit == "rad" else np.pi / 180


def _scaled(s: CleanSet, hit: list[int], factor: float, both: bool) -> list[int]:
    columns = list(s.shape.angles or s.shape.places)
    for i in hit:
        s.takes[i].state[:, columns] *= factor
        if both:
            s.takes[i].action[:, columns] *= factor
    return hit


def _turn_hands(s: CleanSet, table: np.ndarray) -> None:
    hands = list(s.shape.grippers)
    table[:, hands] = sum(s.shape.opened) - table[:, hands]


def _shift(take: Take, frames: int) -> None:
    """Commands stored `frames` earlier; below 0 later."""
    at = np.clip(np.arange(len(take.action)) + frames, 0, len(take.action) - 1)
    take.action = take.action[at]
