"""The servo simulator against closed forms."""

import numpy as np
import pytest

from gaploop.calibrate.servo_logs import ServoLogs
from gaploop.calibrate.servo_model import DUTY_PER_TICK, LADDER, servo_space, simulate_servo

MASS, LENGTH, GRAVITY = 0.49, 0.1, 9.81


def _logs(goal: np.ndarray, *, on: float = 1.0, start: float = 0.0, kp: float = 400.0) -> ServoLogs:
    shape = (len(goal), 1)
    return ServoLogs(
        names=("made",), dt=0.005, goal=goal[:, None], position=np.full(shape, start),
        volts=np.full(shape, 7.4), on=np.full(shape, on), valid=np.ones(shape, dtype=bool),
        start_speed=np.zeros(1), gain=np.array([kp]), mass=np.array([MASS]),
        length=np.array([LENGTH]), kinds=("made",),
    )  # fmt: skip


def _values(rung: str, **knobs: float) -> np.ndarray:
    space = servo_space(rung)
    base = {"torque_constant": 0.4, "resistance": 4.5, "armature": 1e-3}
    return np.array([[{**base, **knobs}.get(n, 0.0) for n in space.names]])


def test_ladder_only_names_knobs_with_priors_around_their_nominal() -> None:
    for rung in LADDER:
        space = servo_space(rung)
        assert np.isfinite(space.log_prior(space.nominal[None])).all()


def test_free_swing_has_the_pendulum_period() -> None:
    logs = _logs(np.zeros(2000), on=0.0, start=0.05)
    q = simulate_servo(logs, servo_space("M1"), _values("M1"))[:, 0, 0]
    falls = np.flatnonzero((q[:-1] > 0) & (q[1:] <= 0))
    period = np.diff(falls).mean() * 0.005
    inertia = MASS * LENGTH**2 + 1e-3
    assert period == pytest.approx(
        2 * np.pi * np.sqrt(inertia / (MASS * GRAVITY * LENGTH)), rel=0.01
    )


def test_rest_under_gravity_is_the_droop_of_the_position_loop() -> None:
    logs = _logs(np.full(3000, 1.0))
    q = simulate_servo(logs, servo_space("M1"), _values("M1", viscous=0.02))[-1, 0, 0]
    stiffness = 0.4 / 4.5 * 7.4 * DUTY_PER_TICK * 400
    assert stiffness * (1.0 - q) == pytest.approx(MASS * GRAVITY * LENGTH * np.sin(q), rel=1e-3)


def test_coulomb_friction_holds_and_never_pushes() -> None:
    logs = _logs(np.zeros(400), on=0.0, start=0.1)
    pull = MASS * GRAVITY * LENGTH * np.sin(0.1)
    held = simulate_servo(logs, servo_space("M1"), _values("M1", coulomb=1.01 * pull))
    assert np.all(held == 0.1)
    slips = simulate_servo(logs, servo_space("M1"), _values("M1", coulomb=0.9 * pull))
    assert slips[-1, 0, 0] < 0.1


def test_duty_saturates() -> None:
    far, farther = (
        simulate_servo(_logs(np.full(20, g), kp=800), servo_space("M1"), _values("M1"))
        for g in (2.0, 3.0)
    )
    assert np.array_equal(far, farther)


def test_delay_shifts_by_whole_and_part_frames() -> None:
    times = np.arange(400) * 0.005
    goal = 0.3 * np.sin(5 * times)
    space = servo_space("M1")
    late = simulate_servo(_logs(goal), space, _values("M1", delay=0.0125))
    shifted = np.interp(times - 0.0125, times, goal)
    same = simulate_servo(_logs(shifted), space, _values("M1"))
    assert np.allclose(late, same, atol=2e-4)


def test_candidates_and_logs_do_not_see_each_other() -> None:
    goal = 0.5 * np.sin(3 * np.arange(300) * 0.005)
    one, two = _logs(goal), _logs(goal, kp=100)
    both = ServoLogs(
        names=("a", "b"), dt=0.005, goal=np.hstack([one.goal, two.goal]),
        position=np.hstack([one.position, two.position]),
        volts=np.hstack([one.volts, two.volts]), on=np.hstack([one.on, two.on]),
        valid=np.hstack([one.valid, two.valid]), start_speed=np.zeros(2),
        gain=np.array([400.0, 100.0]), mass=np.full(2, MASS), length=np.full(2, LENGTH),
        kinds=("", ""),
    )  # fmt: skip
    space = servo_space("M6")
    values = space.sample(np.random.default_rng(0), 5)
    together = simulate_servo(both, space, values)
    for i, logs in enumerate((one, two)):
        for m in range(5):
            alone = simulate_servo(logs, space, values[m : m + 1])[:, 0, 0]
            assert np.array_equal(together[:, m, i], alone)


@pytest.mark.parametrize("rung", list(LADDER))
def test_every_rung_stays_finite_over_its_prior(rung: str) -> None:
    space = servo_space(rung)
    values = space.sample(np.random.default_rng(1), 64)
    goal = np.sign(np.sin(7 * np.arange(400) * 0.005)) * 1.5
    assert np.isfinite(simulate_servo(_logs(goal, kp=800), space, values)).all()
