"""An emulator predicts replays near the posterior; the guess it makes is borne out or refused."""

import numpy as np
import pytest

from gaploop.core import Knob, KnobSpace, Prior, Target, generator
from gaploop.infer import Emulator, RobustLikelihood, Seen, chains, emulated, search

EPISODES, FRAMES, COLUMNS = 3, 12, 2
TRUTH = np.array([0.3, 0.6, 0.5])
FLOOR = np.full(COLUMNS, 0.02)
T = np.linspace(0.0, 1.0, FRAMES)
SPACE = KnobSpace(
    knobs=tuple(
        Knob(name=n, gap="dynamics", unit="1", nominal=0.5, prior=Prior(low=0.0, high=1.0),
             targets=(Target(path="action:gain"),), source="test")
        for n in "abc"
    )
)  # fmt: skip


def paths(values):
    """(M, 3) to (M, E, T, d): curved in a and b, blind to c."""
    a, b = values[:, :1], values[:, 1:2]
    one = np.sin(2 * a * T) + 0.3 * b * T
    two = a * b + b * T**2
    path = np.stack([one, two], axis=2)[:, None]
    return np.repeat(path, EPISODES, axis=1)


NOISE = 0.02 * generator(0, "noise").standard_normal((EPISODES, FRAMES, COLUMNS))


def residuals(values):
    return paths(TRUTH[None]) + NOISE - paths(np.atleast_2d(values))


def at(best):
    return RobustLikelihood.at(best, FLOOR, blocks=3, price=4.0)


def found(seed):
    seen = Seen(residuals=residuals, space=SPACE)
    rough = RobustLikelihood(scale=np.full(COLUMNS, 0.06), temper=np.ones(COLUMNS))
    fit = search(lambda v: rough(seen(v)), SPACE, seed=seed, budget=120, starts=2)
    return seen, *emulated(seen, fit, at, floor=FLOOR, seed=seed, batches=4, size=32)


def test_it_predicts_what_it_has_not_seen():
    rng = generator(1, "x")
    unit = TRUTH + 0.15 * rng.uniform(-1, 1, (200, 3))
    residual, likelihood = residuals(unit), at(residuals(TRUTH)[0])
    emulator = Emulator.fit(unit[:150], residual[:150], likelihood(residual[:150]), likelihood)
    missed = emulator(unit[150:]) - residual[150:]
    assert np.abs(missed).max() < 0.01
    assert np.abs(residual[150:]).max() > 0.1


def test_a_replay_that_diverged_is_left_out():
    rng = generator(2, "x")
    unit = rng.random((120, 3))
    residual, likelihood = residuals(unit), at(residuals(TRUTH)[0])
    residual[::10] = np.nan
    level = np.where(np.isfinite(residual).all(axis=(1, 2, 3)), likelihood(residual), -np.inf)
    emulator = Emulator.fit(unit, residual, level, likelihood)
    assert np.isfinite(emulator(unit)).all()


def test_chains_that_propose_a_guess_have_the_posterior_of_chains_that_do_not():
    _, fit, likelihood, guess = found(3)

    def level(values):
        return likelihood(residuals(values))

    quick = chains(level, SPACE, fit=fit, seed=1, walkers=64, steps=60, burn=5, guess=guess)
    slow = chains(level, SPACE, fit=fit, seed=2, walkers=64, steps=500, burn=200)
    assert np.all(quick.rhat < 1.05)
    assert quick.flat.mean(axis=0) == pytest.approx(slow.flat.mean(axis=0), abs=0.02)
    assert quick.flat.std(axis=0) == pytest.approx(slow.flat.std(axis=0), rel=0.15)


def test_a_knob_that_replays_do_not_show_stays_at_its_prior():
    _, fit, likelihood, guess = found(4)
    chain = chains(
        lambda v: likelihood(residuals(v)), SPACE, fit=fit, seed=1, steps=40, burn=5, guess=guess
    )
    assert chain.flat[:, 2].std() == pytest.approx(12**-0.5, rel=0.1)
    assert chain.redraw_acceptance[2] == pytest.approx(1.0)


def test_a_place_that_no_replay_had_met_is_found_by_probes():
    """A peg goes in only where the bias is right: elsewhere all replays look alike."""

    def blind(values):
        values = np.atleast_2d(values)
        inside = np.abs(values[:, 1] - 0.85) < 0.05
        base = residuals(values * [1, 0, 1] + [0, 0.6, 0])
        # no other knob bends a path like this
        jag = 0.3 * (-1.0) ** np.arange(FRAMES)
        return base + np.where(inside[:, None], 0.0, jag)[:, None, :, None]

    seen = Seen(residuals=blind, space=SPACE)
    rng = generator(5, "x")
    start = rng.random((60, 3)) * [1, 0.7, 1]  # none inside
    seen(start)
    fit = search(lambda v: np.zeros(len(v)), SPACE, seed=1, budget=20)
    better, _, _ = emulated(seen, fit, at, floor=FLOOR, seed=6, batches=8, size=16)
    assert abs(better.best[1] - 0.85) < 0.05


def test_same_seed_same_guess_and_another_seed_another():
    assert np.array_equal(found(7)[3].pool, found(7)[3].pool)
    assert not np.array_equal(found(7)[3].pool, found(8)[3].pool)
