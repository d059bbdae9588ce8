import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.infer import RobustLikelihood, at_rest, correlation_time, noise_loglik, white_sd
from gaploop.infer.discrepancy import excess, replay_rms


def ar1(rng, rho, shape):
    x = rng.standard_normal(shape)
    for t in range(1, shape[1]):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]
    return x


def test_white_residuals_count_in_full_and_correlated_ones_do_not():
    rng = np.random.default_rng(0)
    assert correlation_time(rng.standard_normal((20, 100))) < 1.3
    assert correlation_time(ar1(rng, 0.8, (50, 300))) == pytest.approx(9.0, rel=0.25)


def test_a_constant_offset_is_one_error_however_long_the_log():
    assert correlation_time(np.full((5, 80), 0.3)) > 35


def test_temper_never_sharpens():
    rng = np.random.default_rng(1)
    for rho in (0.0, 0.5, 0.95):
        made = RobustLikelihood.at(ar1(rng, rho, (8, 60))[..., None], np.array([1e-6]))
        assert np.all(made.temper <= 1.0)
        assert np.all(made.temper > 0.0)


def test_the_scale_never_falls_below_the_floor():
    made = RobustLikelihood.at(np.zeros((3, 20, 2)), np.array([0.1, 0.2]))
    assert made.scale.tolist() == [[0.1, 0.2]]


def test_a_block_costs_at_most_its_price():
    rng = np.random.default_rng(2)
    best = rng.standard_normal((4, 40, 1))
    made = RobustLikelihood.at(best, np.array([0.1]), blocks=4, price=3.0)
    off = best.copy()
    off[1, :10] += 1e3
    drop = made(best[None])[0] - made(off[None])[0]
    assert 2.5 < drop < 3.8
    off[1, 10:] += 1e3
    assert made(best[None])[0] - made(off[None])[0] < 4 * 3.8


def test_a_diverged_replay_is_finite_and_bad():
    made = RobustLikelihood(scale=np.array([1.0]), temper=np.array([1.0]))
    good, bad = made(np.stack([np.zeros((1, 5, 1)), np.full((1, 5, 1), np.nan)]))
    assert np.isfinite(bad)
    assert bad < good - 50


@given(st.floats(0.0, 5.0), st.floats(0.1, 5.0))
def test_a_larger_residual_is_never_likelier(a, b):
    made = RobustLikelihood(scale=np.array([1.0]), temper=np.array([1.0]))
    near, far = made(np.array([a, a + b]).reshape(2, 1, 1, 1))
    assert far < near


def test_white_noise_is_measured_through_motion_and_at_rest():
    rng = np.random.default_rng(3)
    t = np.linspace(0, 4, 400)
    x = np.sin(3 * t)[:, None] + 0.01 * rng.standard_normal((400, 2))
    assert white_sd(x) == pytest.approx(np.full(2, 0.01), rel=0.15)
    rest = np.zeros(400, bool)
    rest[300:] = True
    x[300:] = 1.0 + 0.01 * rng.standard_normal((100, 2))
    assert white_sd(x, rest) == pytest.approx(np.full(2, 0.01), rel=0.2)
    # a joint that still creeps does not pass for noise
    x[300:] += 0.2 * np.exp(-np.arange(100) / 20)[:, None]
    assert white_sd(x, rest) == pytest.approx(np.full(2, 0.01), rel=0.3)


def test_too_short_a_log_has_no_noise_figure():
    assert white_sd(np.zeros((3, 2))).tolist() == [0.0, 0.0]


def test_rest_begins_some_frames_after_the_command_stops():
    command = np.array([0, 1, 2, 2, 2, 2, 2, 2.0])
    assert at_rest(command, settle=2).tolist() == [True, *[False] * 4, *[True] * 3]


def test_the_noise_likelihood_peaks_at_the_measured_sd():
    grid = np.linspace(0.5, 2.0, 301)
    level = noise_loglik(grid, measured=1.2, n=200)
    assert grid[level.argmax()] == pytest.approx(1.2, abs=0.01)
    inside = grid[level > level.max() - 1.35]
    assert 0.05 < np.ptp(inside) / 2 / 1.645 < 0.09  # 1.2 / sqrt(2 * 400/3) = 0.073


def test_rms_leaves_out_what_diverged():
    r = np.array([[3.0, np.nan], [4.0, np.nan]])
    assert replay_rms(r)[0] == pytest.approx(np.sqrt(12.5))
    assert np.isnan(replay_rms(r)[1])
    assert excess(np.array([0.5, 2.0]), np.array([1.0, 0.5])).tolist() == [1.0, 4.0]
