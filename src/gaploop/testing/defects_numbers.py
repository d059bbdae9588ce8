"""Defects of stamps and readings."""

import numpy as np

from gaploop.testing.clean_sets import CleanSet
from gaploop.testing.defects import arm_column, busy, kind, share, some

Rng = np.random.Generator


@kind("nan", "nan")
def _nan(s: CleanSet, rng: Rng, level: int) -> list[int]:
    return _spoil(s, rng, level, np.nan)


@kind("inf", "inf")
def _inf(s: CleanSet, rng: Rng, level: int) -> list[int]:
    return _spoil(s, rng, level, np.inf)


def _spoil(s: CleanSet, rng: Rng, level: int, value: float) -> list[int]:
    hit = some(s, rng, (1, 2, 5)[level])
    for i in hit:
        table = s.takes[i].state if rng.random() < 0.7 else s.takes[i].action
        row = int(rng.integers(len(table) - 30))
        table[row : row + (1, 5, 30)[level], int(rng.integers(table.shape[1]))] = value
    return hit


@kind("stamps out of order", "timestamp_order")
def _order(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (1, 2, 6)[level])
    for i in hit:
        times = s.takes[i].times
        row = int(rng.integers(20, len(times) - 20))
        if level == 0:
            times[[row, row + 1]] = times[[row + 1, row]]
        else:  # the clock was set back
            times[row:] -= (0.0, 0.5, times[row])[level]
    return hit


@kind("stamps repeat", "timestamp_order")
def _repeat(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (1, 3, 8)[level])
    for i in hit:
        times = s.takes[i].times
        for row in rng.integers(10, len(times) - 10, (1, 4, 20)[level]):
            times[row] = times[row - 1]
    return hit


@kind("hole in the stamps", "timestamp_gap")
def _gap(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (1, 2, 5)[level])
    for i in hit:
        take = s.takes[i]
        lost = (2, 8, 30)[level]
        row = int(rng.integers(15, len(take.times) - lost - 15))
        keep = np.r_[0:row, row + lost : len(take.times)]
        _cut(take, keep)
    return hit


@kind("jittery stamps", "timestamp_jitter")
def _jitter(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = share(s, rng, 1)
    for i in hit:
        n, period = len(s.takes[i].times), 1 / s.shape.fps
        late = np.minimum(rng.exponential((0.06, 0.2, 0.35)[level], n), 0.9) * period
        s.takes[i].times = np.arange(n) * period + late - late[0]
    return hit


@kind("clock runs apart", "clock_skew", accepted=("fps_mismatch",))
def _drift(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = share(s, rng, 1)
    for i in hit:
        s.takes[i].times *= 1 + (5e-4, 2e-3, 1e-2)[level]
    return hit


@kind("another rate than declared", "fps_mismatch")
def _rate(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = list(range(len(s.takes))) if rng.random() < 0.5 else share(s, rng, 1)
    for i in hit:
        s.takes[i].times *= (1.04, 1.25, 2.0)[level]
    return hit


@kind("all readings freeze", "frozen_signal")
def _frozen(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (1, 2, 5)[level])
    for i in hit:
        take, length = s.takes[i], _frames(s, (0.8, 1.5, 3.0)[level])
        row = busy(take.action[:, arm_column(s, rng)], length, rng)
        take.state[row : row + length] = take.state[row]
    return hit


@kind("one joint freezes", "frozen_signal")
def _stuck(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (1, 2, 5)[level])
    for i in hit:
        take, length = s.takes[i], _frames(s, (1.0, 1.5, 3.0)[level])
        d = arm_column(s, rng)
        row = busy(take.action[:, d], length, rng)
        take.state[row : row + length, d] = take.state[row, d]
    return hit


@kind("dead reading", "constant_dimension", accepted=("frozen_signal",))
def _dead(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (1, 3, 8)[level])
    d = arm_column(s, rng)
    for i in hit:
        s.takes[i].state[:, d] = s.takes[i].state[0, d]
    return hit


@kind("reading leaps", "reading_jump")
def _glitch(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = some(s, rng, (1, 2, 6)[level])
    d = arm_column(s, rng)
    size = np.median([np.ptp(t.state[:, d]) for t in s.takes]) * (0.25, 0.6, 2.0)[level]
    for i in hit:
        row = int(rng.integers(10, len(s.takes[i].state) - 10))
        s.takes[i].state[row, d] += size * rng.choice([-1, 1])
    return hit


@kind("quaternion not of unit norm", "quaternion_norm", shapes=("pose",))
def _norm(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = share(s, rng, 1)
    for i in hit:
        s.takes[i].state[:, 3:7] *= (1.02, 1.1, 2.0)[level]
    return hit


@kind("quaternion changes sign", "quaternion_sign", shapes=("pose",))
def _flips(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = share(s, rng, 1)
    for i in hit:
        q = s.takes[i].state
        for row in rng.integers(5, len(q) - 5, (1, 3, 12)[level]):
            q[row:, 3:7] *= -1
    return hit


@kind("quaternion order", "quaternion_order", shapes=("pose",), either=True)
def _quaternion(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = share(s, rng, level)
    for i in hit:
        for table in (s.takes[i].state, s.takes[i].action):
            table[:, 3:7] = np.roll(table[:, 3:7], 1, axis=1)
    return hit


@kind("counts wrap", "integer_wrap", shapes=("arm",))
def _wrap(s: CleanSet, rng: Rng, level: int) -> list[int]:
    hit = list(range(len(s.takes))) if level == 2 else share(s, rng, level)
    for i in hit:
        load = s.takes[i].load
        assert load is not None
        s.takes[i].load = np.where(load < 0, load + 65536, load)
    # a load that never was negative holds no wrap
    return [i for i in hit if np.any(np.asarray(s.takes[i].load) > 32767)]


@kind("angle wraps", "reading_jump", shapes=("arm", "two_arms"))
def _angle(s: CleanSet, rng: Rng, level: int) -> list[int]:
    """A joint that crosses the end of its encoder: the reading starts again from the other."""
    d = arm_column(s, rng)
    turn = 360.0 if s.shape.unit == "deg" else 2 * np.pi
    hit = some(s, rng, (1, 3, 8)[level])
    for i in hit:
        x = s.takes[i].state[:, d]
        s.takes[i].state[:, d] = np.where(x > np.quantile(x, 0.7), x - turn, x)
    return hit


# -- inside -------------------------------------------------------------------


def _frames(s: CleanSet, seconds: float) -> int:
    return max(12, int(seconds * s.shape.fps))


def _cut(take, keep: np.ndarray) -> None:
    take.times, take.action, take.state = take.times[keep], take.action[keep], take.state[keep]
    for name in ("held", "load"):
        value = getattr(take, name)
        if value is not None:
            setattr(take, name, value[keep])
