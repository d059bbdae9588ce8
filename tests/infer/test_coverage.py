"""A posterior must be right: coverage over 200 simulated logs, and a prior given back."""

import numpy as np
import pytest

from gaploop.core import generator
from gaploop.infer import RobustLikelihood, at_rest, chains_many, search_many, white_sd
from gaploop.testing import one_joint

LOGS = 200


@pytest.fixture(scope="module")
def posteriors():
    """Truths drawn from the prior, one log each, and the chain that each log gets."""
    space = one_joint.space()
    joint = one_joint.excite(7, LOGS)
    truth = space.sample(generator(7, "truth"), LOGS)
    logged = one_joint.measure(joint, truth, 7)

    def residual(values):
        rows = values.reshape(LOGS, -1, len(space)).transpose(1, 0, 2)
        return (logged[None] - joint.simulate(rows))[..., None]

    def level(likelihood):
        return lambda values: likelihood.by_episode(residual(values)).T.ravel()

    noise = np.array(
        [white_sd(logged[i, :, None], at_rest(joint.commands[i])) for i in range(LOGS)]
    )
    rough = RobustLikelihood(scale=3 * noise, temper=np.ones((LOGS, 1)))
    fits = search_many(level(rough), space, seed=7, groups=LOGS, starts=2, budget=960)
    best = np.array([fit.best for fit in fits])
    likelihood = RobustLikelihood.at(
        residual(best)[0], noise, parameters=4, per_episode=True, blocks=4, price=8.0
    )
    chains = chains_many(
        level(likelihood), space, fits=fits, seed=7, walkers=16, steps=200, burn=100
    )
    return space, truth, noise, fits, chains


@pytest.mark.slow
def test_90_percent_intervals_cover_the_truth_in_85_to_95_percent(posteriors):
    _, truth, _, _, chains = posteriors
    low, high = np.array([np.quantile(c.flat, [0.05, 0.95], axis=0) for c in chains]).swapaxes(0, 1)
    covered = (truth >= low) & (truth <= high)
    assert covered.shape == (LOGS, 5)
    assert 0.85 <= covered.mean() <= 0.95


@pytest.mark.slow
def test_the_idle_knob_returns_its_prior_in_every_log(posteriors):
    space, _, _, _, chains = posteriors
    idle = space.index(one_joint.IDLE)
    prior = space.knobs[idle].prior
    sd = np.array([c.flat[:, idle].std() for c in chains]) / prior.width
    assert np.all(np.abs(sd - 1.0) < 0.10)
    mean = np.array([c.flat[:, idle].mean() for c in chains])
    assert np.all(np.abs(mean - prior.from_unit(np.array([0.5]))) < 0.25 * prior.width)
    assert all(c.redraw_acceptance[idle] == 1.0 for c in chains)


@pytest.mark.slow
def test_the_other_knobs_are_told_apart_by_their_redraws(posteriors):
    space, _, _, fits, chains = posteriors
    idle = space.index(one_joint.IDLE)
    seen = np.delete(np.array([c.redraw_acceptance for c in chains]), idle, axis=1)
    assert np.median(seen, axis=0).max() < 0.1
    assert not any(fit.moved[idle] for fit in fits)
    width = np.array([k.prior.width for k in space.knobs])
    sd = np.median([c.flat.std(axis=0) for c in chains], axis=0) / width
    assert np.delete(sd, idle).max() < 0.15


@pytest.mark.slow
def test_chains_have_mixed(posteriors):
    *_, chains = posteriors
    rhat = np.array([c.rhat for c in chains])
    assert np.median(rhat) < 1.02
    assert np.quantile(rhat, 0.95) < 1.06


@pytest.mark.slow
def test_noise_is_measured_to_a_fifth(posteriors):
    _, _, noise, _, _ = posteriors
    assert abs(np.median(noise) / 2e-3 - 1.0) < 0.1
    assert np.quantile(np.abs(noise / 2e-3 - 1.0), 0.7) < 0.25
