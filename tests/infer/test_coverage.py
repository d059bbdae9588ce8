"""A posterior must be right: coverage over 200 simulated logs, and a prior given back."""

import numpy as np
import pytest

from gaploop.testing import one_joint
from gaploop.testing.coverage import posteriors

LOGS = 200


@pytest.fixture(scope="module")
def made():
    """Truths drawn from the prior, one log each, and the chain that each log gets."""
    return posteriors(LOGS, seed=7)


@pytest.mark.slow
def test_90_percent_intervals_cover_the_truth_in_85_to_95_percent(made):
    covered = made.covered(0.9)
    assert covered.shape == (LOGS, 5)
    assert 0.85 <= covered.mean() <= 0.95


@pytest.mark.slow
def test_the_idle_knob_returns_its_prior_in_every_log(made):
    idle = made.space.index(one_joint.IDLE)
    prior = made.space.knobs[idle].prior
    assert np.all(np.abs(made.width()[:, idle] - 1.0) < 0.10)
    mean = np.array([c.flat[:, idle].mean() for c in made.chains])
    assert np.all(np.abs(mean - prior.from_unit(np.array([0.5]))) < 0.25 * prior.width)
    assert all(c.redraw_acceptance[idle] == 1.0 for c in made.chains)


@pytest.mark.slow
def test_the_other_knobs_are_told_apart_by_their_redraws(made):
    idle = made.space.index(one_joint.IDLE)
    seen = np.delete(np.array([c.redraw_acceptance for c in made.chains]), idle, axis=1)
    assert np.median(seen, axis=0).max() < 0.1
    assert not any(fit.moved[idle] for fit in made.fits)
    assert np.delete(np.median(made.width(), axis=0), idle).max() < 0.15


@pytest.mark.slow
def test_chains_have_mixed(made):
    rhat = np.array([c.rhat for c in made.chains])
    assert np.median(rhat) < 1.02
    assert np.quantile(rhat, 0.95) < 1.06


@pytest.mark.slow
def test_noise_is_measured_to_a_fifth(made):
    assert abs(np.median(made.noise) / 2e-3 - 1.0) < 0.1
    assert np.quantile(np.abs(made.noise / 2e-3 - 1.0), 0.7) < 0.25
