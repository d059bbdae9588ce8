import numpy as np
import pytest

from gaploop.core import Knob, KnobSpace, Prior, Target, generator
from gaploop.infer import chains, chains_many, search, search_many
from gaploop.infer.chains import start_points
from gaploop.infer.search import Fit


def flat(*names: str) -> KnobSpace:
    return KnobSpace(
        knobs=tuple(
            Knob(
                name=n, gap="dynamics", unit="1", prior=Prior(low=0.0, high=1.0), nominal=0.3,
                targets=(Target(path=f"geom:{n}.friction[0]"),),
            )
            for n in names
        )
    )  # fmt: skip


def bell(values: np.ndarray) -> np.ndarray:
    """Correlated in a and b (0.5 and 0.4, sd 0.02 and 0.04, rho 0.8); silent about the rest."""
    a, b = (values[:, 0] - 0.5) / 0.02, (values[:, 1] - 0.4) / 0.04
    return -0.5 * (a**2 - 1.6 * a * b + b**2) / 0.36


def test_a_known_posterior_comes_back():
    space = flat("a", "b", "idle")
    fit = search(bell, space, seed=1, starts=2, budget=500)
    assert np.allclose(fit.best[:2], [0.5, 0.4], atol=0.01)
    assert fit.moved.tolist() == [True, True, False]
    assert fit.probe[2] == 1.0
    chain = chains(bell, space, fit=fit, seed=1, walkers=32, steps=400, burn=100)
    assert np.allclose(chain.flat.mean(axis=0)[:2], [0.5, 0.4], atol=0.003)
    assert np.allclose(chain.flat.std(axis=0), [0.02, 0.04, 12**-0.5], rtol=0.08)
    assert np.corrcoef(chain.flat.T)[0, 1] == pytest.approx(0.8, abs=0.05)
    assert np.all(chain.rhat < 1.02)
    assert chain.redraw_acceptance[2] == 1.0
    # accepted share of a uniform redraw of a alone: about its conditional width over the prior
    assert chain.redraw_acceptance[0] == pytest.approx(0.02 * 0.6 * 2.5, rel=0.6)


def test_two_basins_are_both_kept():
    space = flat("a", "idle")

    def two(values):
        low, high = (-0.5 * ((values[:, 0] - m) / 0.03) ** 2 for m in (0.2, 0.8))
        return np.logaddexp(low, high)

    fit = search(two, space, seed=3, starts=6, budget=900)
    assert len(fit.basins) == 2
    chain = chains(two, space, fit=fit, seed=3, walkers=40, steps=300, burn=60)
    assert 0.3 < (chain.flat[:, 0] < 0.5).mean() < 0.7


def test_a_likelihood_that_says_nothing_gives_the_prior():
    space = flat("a", "b", "c")
    fit = search(lambda v: np.zeros(len(v)), space, seed=2, budget=100)
    assert not fit.moved.any()
    chain = chains(lambda v: np.zeros(len(v)), space, fit=fit, seed=2, steps=100, burn=5)
    assert np.allclose(chain.flat.std(axis=0), 12**-0.5, rtol=0.06)
    assert np.all(chain.redraw_acceptance == 1.0)


def test_same_seed_same_samples_and_another_seed_others():
    space = flat("a", "b")

    def run(seed):
        fit = search(bell, space, seed=seed, budget=100)
        return chains(bell, space, fit=fit, seed=seed, steps=10, burn=3).samples

    assert np.array_equal(run(5), run(5))
    assert not np.array_equal(run(5), run(6))


def test_the_global_generator_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    search(bell, flat("a", "b"), seed=5, budget=60)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_many_at_once_see_their_own_data():
    space = flat("a", "idle")
    centre = np.array([0.3, 0.7])

    def level(values):
        rows = values.reshape(2, -1, 2)
        return (-0.5 * ((rows[:, :, 0] - centre[:, None]) / 0.05) ** 2).ravel()

    fits = search_many(level, space, seed=1, groups=2, budget=200)
    found = chains_many(level, space, fits=fits, seed=1, steps=150, burn=30)
    assert [round(float(c.flat[:, 0].mean()), 1) for c in found] == [0.3, 0.7]


def test_posterior_at_a_wall_of_the_prior_does_not_leave_it():
    space = flat("a")
    fit = search(lambda v: -40.0 * v[:, 0], space, seed=1, budget=100)
    chain = chains(lambda v: -40.0 * v[:, 0], space, fit=fit, seed=1, steps=500, burn=50)
    assert chain.flat.min() >= 0.0
    assert chain.flat.mean() == pytest.approx(1 / 40, rel=0.1)


def test_starts_come_from_the_prior_in_every_knob_the_optimiser_did_not_move():
    rng = generator(0, "x")
    history = np.full((50, 2), 0.25)
    fit = Fit(
        best=np.full(2, 0.25), loglik=0.0, basins=(), moved=np.array([True, False]),
        probe=np.array([0.0, 1.0]), history=history, history_loglik=np.zeros(50),
    )  # fmt: skip
    points = start_points(flat("a", "b"), fit, rng, 400)
    assert np.all(points[:, 0] == 0.25)
    assert points[:, 1].std() == pytest.approx(12**-0.5, rel=0.1)
