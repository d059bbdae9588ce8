import numpy as np
import pytest

from gaploop.infer import ess, split_rhat
from gaploop.infer.mixing import ensemble_rhat


def test_independent_draws_have_rhat_one_and_full_size():
    x = np.random.default_rng(0).standard_normal((500, 4, 2))
    assert split_rhat(x) == pytest.approx(np.ones(2), abs=0.01)
    assert np.all(ess(x) > 1200)


def test_chains_in_different_places_are_told():
    x = np.random.default_rng(0).standard_normal((200, 4, 1))
    x[:, 0] += 5
    assert split_rhat(x)[0] > 1.5
    assert ess(x)[0] < 20


def test_a_drift_within_one_ensemble_is_told():
    x = np.random.default_rng(0).standard_normal((40, 16, 1))
    assert ensemble_rhat(x, 2)[0] < 1.05
    x += np.linspace(0, 4, 40)[:, None, None]
    assert ensemble_rhat(x, 2)[0] > 1.2


def test_slow_chains_count_for_less():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2000, 4, 1))
    for t in range(1, 2000):
        x[t] = 0.9 * x[t - 1] + np.sqrt(1 - 0.81) * x[t]
    assert ess(x)[0] == pytest.approx(8000 / 19, rel=0.3)


def test_a_constant_has_mixed():
    x = np.ones((20, 4, 1))
    assert split_rhat(x)[0] == 1.0
    assert ess(x)[0] == 80
