"""Each effect of the action and sensor pipelines, against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaploop.sim.actions import ActionPipeline
from gaploop.sim.noise import Draws
from gaploop.sim.sensors import ChannelPipeline
from gaploop.sim.settings import Settings

T, N, SUB, DT = 12, 3, 10, 0.05
RAMP = np.arange(1.0, T + 1)[:, None, None] * np.ones((T, N, 2))


def _act(commands: np.ndarray = RAMP, seeds=(1, 2, 3), **values: float) -> np.ndarray:
    """(T, N, SUB, 2) what arrives."""
    table = {
        ("action", "", f): np.full((N, 1 if f in ("delay", "latency", "jitter", "lost") else 2), v)
        for f, v in values.items()
    }
    pipeline = ActionPipeline(
        Settings(N, table), np.zeros((N, 2)), dt=DT, substeps=SUB,
        draws=Draws(np.array(seeds, dtype=np.uint64), T + 1, 6),
    )  # fmt: skip
    out = []
    for k, command in enumerate(commands):
        value, moving = pipeline.step(k, command)
        out.append(value if moving else np.repeat(value[:, None], SUB, axis=1))
    return np.array(out)


def _sense(truth: np.ndarray, width: int = 2, seeds=(1, 2, 3), **values: float) -> np.ndarray:
    """(T, N, d) what is shown; truth is (T + 1, N, d)."""
    scalar = ("latency", "rate", "dropout")
    table = {
        ("sensor", "s", f): np.full((truth.shape[1], 1 if f in scalar else width), v)
        for f, v in values.items()
    }
    draws = Draws(np.array(seeds, dtype=np.uint64), T + 1, 6)
    channel = ChannelPipeline(Settings(truth.shape[1], table), "s", truth, dt=DT, draws=draws, at=1)
    return np.array([channel.step(k) for k in range(T)])


TRUTH = np.arange(0.0, T + 1)[:, None, None] * np.ones((T + 1, N, 2))


def test_nothing_bound_passes_commands_unchanged():
    assert np.array_equal(_act()[:, :, 0], RAMP)


def test_gain_offset_limit():
    assert np.allclose(_act(gain=0.5, offset=0.25)[:, :, 0], 0.5 * RAMP + 0.25)
    assert _act(limit=3.0).max() == 3.0
    assert _act(-RAMP, limit=3.0).min() == -3.0


@given(delay=st.floats(0.0, 0.3))
@settings(max_examples=40, deadline=None)
def test_delay_shifts_a_step_and_keeps_its_area(delay):
    step = np.ones((T, N, 2))
    arrived = _act(step, delay=delay).transpose(0, 2, 1, 3).reshape(T * SUB, N, 2)
    # the area that is missing is the delay, whatever part of a physics step it is
    missing = (1.0 - arrived[:, 0, 0]).sum() * DT / SUB
    assert missing == pytest.approx(delay, abs=1e-9)
    assert (np.diff(arrived[:, 0, 0]) >= 0).all()


def test_delay_and_latency_are_one_sum():
    assert np.allclose(_act(delay=0.03, latency=0.02), _act(delay=0.05))
    assert np.array_equal(_act(delay=DT)[1:, :, 0], RAMP[:-1])


def test_jitter_never_lets_commands_overtake():
    arrived = _act(delay=0.01, jitter=0.12).transpose(0, 2, 1, 3).reshape(T * SUB, N, 2)
    assert (np.diff(arrived[:, :, 0], axis=0) >= -1e-12).all()
    assert not np.allclose(arrived[:, 0], arrived[:, 1])
    latest = np.repeat(_act(delay=0.13)[None], 1, axis=0)[0].transpose(0, 2, 1, 3)
    assert (arrived >= latest.reshape(T * SUB, N, 2) - 1e-12).all()


def test_lost_commands_leave_the_last_one():
    arrived = _act(lost=0.5)[:, :, 0, 0]
    for i in range(N):
        changed = np.diff(arrived[:, i]) != 0
        assert 0 < changed.sum() < T - 1
        assert set(arrived[:, i]) <= {0.0, *RAMP[:, 0, 0]}
    assert np.array_equal(_act(lost=1.0), np.zeros((T, N, SUB, 2)))


def test_rate_limits_the_change():
    arrived = _act(5 * RAMP, rate=2.0 / DT)[:, 0, 0, 0]
    assert np.allclose(np.diff(arrived, prepend=0.0), 2.0)


def test_deadband_ignores_small_changes():
    arrived = _act(0.4 * RAMP, deadband=1.0)[:, 0, 0, 0]
    changes = np.abs(np.diff(arrived))
    assert set(np.round(changes, 9)) == {0.0, 1.2}


def test_backlash_is_play_of_twice_its_half_width():
    there_and_back = np.concatenate([RAMP[:6], RAMP[:6][::-1]])
    arrived = _act(there_and_back, backlash=1.5)[:, 0, 0, 0]
    assert np.allclose(arrived[:6], np.maximum(there_and_back[:6, 0, 0] - 1.5, 0.0))
    # on the way back it stands still until the play of 3 is used up
    assert np.allclose(arrived[6:10], [4.5, 4.5, 4.5, 4.5])
    assert arrived[-1] == pytest.approx(2.5)


def test_neutral_sensor_shows_the_truth():
    assert np.array_equal(_sense(TRUTH), TRUTH[:T])


def test_bias_scale_drift_step():
    assert np.allclose(_sense(TRUTH, scale=2.0, bias=0.5), 2 * TRUTH[:T] + 0.5)
    drifted = _sense(0 * TRUTH, drift=0.2)
    assert np.allclose(drifted[:, 0, 0], 0.2 * DT * np.arange(T))
    assert set(np.unique(_sense(TRUTH, step=3.0))) == {0.0, 3.0, 6.0, 9.0, 12.0}


def test_latency_interpolates_and_starts_at_the_first_value():
    shown = _sense(TRUTH + 1.0, latency=0.075)[:, 0, 0]
    assert np.allclose(shown, np.maximum(np.arange(T) - 1.5, 0.0) + 1.0)


def test_rate_holds_samples():
    shown = _sense(TRUTH, rate=20.0 / 3)[:, 0, 0]
    assert np.allclose(shown, [0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9])
    noisy = _sense(TRUTH, rate=20.0 / 3, noise=0.1)[:, 0, 0]
    assert len(np.unique(noisy)) == 4
    assert np.array_equal(_sense(TRUTH, rate=500.0), TRUTH[:T])


def test_dropout_holds_the_last_reading_and_never_the_first():
    shown = _sense(TRUTH + 1.0, dropout=0.5)
    assert np.array_equal(shown[0], TRUTH[0] + 1.0)
    held = np.diff(shown[:, :, 0], axis=0) == 0
    assert 0 < held.sum() < held.size
    assert np.array_equal(_sense(TRUTH, dropout=1.0), np.zeros((T, N, 2)))


def test_noise_and_spread_have_their_size():
    many = np.zeros((T + 1, 400, 2))
    seeds = tuple(range(400))
    noise = _sense(many, seeds=seeds, noise=0.3)
    assert noise.std() == pytest.approx(0.3, rel=0.03)
    assert abs(np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1]) < 0.05
    spread = _sense(many, seeds=seeds, spread=0.3)
    assert np.array_equal(spread[0], spread[-1])
    assert spread[0].std() == pytest.approx(0.3, rel=0.1)


def test_draws_depend_on_the_seed_alone():
    one = Draws(np.array([7], dtype=np.uint64), 5, 4)
    many = Draws(np.array([3, 7, 2**64 - 1], dtype=np.uint64), 9, 4)
    assert np.array_equal(one.normal[:, 0], many.normal[:5, 1])
    assert np.array_equal(one.uniform[:, 0], many.uniform[:5, 1])
    assert not np.array_equal(many.normal[:, 0], many.normal[:, 1])
    assert ((many.uniform >= 0) & (many.uniform < 1)).all()
