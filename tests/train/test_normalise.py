import dataclasses

import numpy as np
import pytest

from gaploop.train.normalise import fit_normaliser
from gaploop.train.pairs import Windows


def made(obs, chunks, step=None) -> Windows:
    k = len(obs)
    return Windows(
        obs=np.asarray(obs, "f4"), chunks=np.asarray(chunks, "f4"),
        weights=np.ones((k, chunks.shape[1]), "f4"), episode=np.zeros(k, int),
        step=np.arange(k) + 2 if step is None else step,
    )  # fmt: skip


@pytest.fixture
def fit():
    rng = np.random.default_rng(0)
    newest = rng.normal([1.0, -20.0, 0.3], [0.5, 2.0, 1e-3], (4000, 3))
    oldest = newest - rng.normal(0, [0.1, 0.2, 1e-4], (4000, 3))
    chunks = rng.normal([0.2, -3.0], [0.05, 4.0], (4000, 5, 2))
    return made(np.concatenate([oldest, newest], 1), chunks)


def even(n):
    return np.full(n, 1 / n)


def test_every_feature_has_spread_one(fit):
    n = fit_normaliser(fit, even(4000), 2)
    z = (fit.obs - n.shift) @ n.mix
    np.testing.assert_allclose(np.sqrt((z**2).mean(0)), 1, rtol=0.02)
    np.testing.assert_allclose(z[:, 3:].mean(0), 0, atol=1e-2)
    y = (fit.chunks - n.out_shift) / n.out_scale
    np.testing.assert_allclose(y.mean((0, 1)), 0, atol=1e-4)
    np.testing.assert_allclose(y.std((0, 1)), 1, rtol=1e-3)
    np.testing.assert_allclose(n.mean, [1, -20, 0.3], atol=0.1)
    np.testing.assert_allclose(n.std, [0.5, 2.0, 1e-3], rtol=0.05)


def test_nothing_is_lost(fit):
    n = fit_normaliser(fit, even(4000), 2)
    assert np.linalg.matrix_rank(n.mix.astype(float), tol=1e-9) == 6


def test_a_constant_column_stays_small(fit):
    fit.obs[:, [1, 4]] = -20.0
    fit.chunks[..., 1] = 7.0
    n = fit_normaliser(fit, even(4000), 2)
    assert n.std[1] < 1e-9
    z = (fit.obs[0] + np.float32([0, 0.01, 0, 0, 0.01, 0]) - n.shift) @ n.mix
    assert z[4] == pytest.approx(0.01, abs=1e-5)
    assert n.out_scale[1] == 1
    assert n.out_shift[1] == pytest.approx(7)


def test_what_is_never_drawn_does_not_count(fit):
    share = even(4000)
    share[2000:] = 0
    half = fit.take(np.arange(2000))
    fit.obs[2000:] += 100
    fit.chunks[2000:] -= 50
    a, b = fit_normaliser(fit, share / share.sum(), 2), fit_normaliser(half, even(2000), 2)
    np.testing.assert_allclose(a.shift, b.shift, rtol=1e-6)
    np.testing.assert_allclose(a.mix, b.mix, rtol=1e-5)
    np.testing.assert_allclose(a.out_scale, b.out_scale, rtol=1e-6)


def test_one_frame_of_history(fit):
    alone = dataclasses.replace(fit, obs=fit.obs[:, 3:])
    n = fit_normaliser(alone, even(4000), 1)
    assert n.mix.shape == (3, 3)
    np.testing.assert_allclose(np.diag(n.mix), 1 / np.array(n.std), rtol=1e-5)


def test_the_jump_from_no_command_to_the_first_is_no_motion(fit):
    step = np.full(4000, 2)
    step[:1000] = 1
    fit.obs[:1000, :3] = 0
    jumpy = fit_normaliser(dataclasses.replace(fit, step=step), even(4000), 2)
    calm = fit_normaliser(fit.take(np.arange(1000, 4000)), even(3000), 2)
    np.testing.assert_allclose(jumpy.mix[:3, :3], calm.mix[:3, :3], rtol=1e-5)


def test_the_digest_follows_every_constant(fit):
    n = fit_normaliser(fit, even(4000), 2)
    seen = {n.digest}
    for name in ("shift", "mix", "out_shift", "out_scale"):
        seen.add(dataclasses.replace(n, **{name: getattr(n, name) * np.float32(1.01)}).digest)
    assert len(seen) == 5


def test_a_reading_that_hardly_ever_moves_does_not_shout_when_it_does(fit):
    """A goal stands still in simulation, and trembles in a few field episodes."""
    rng = np.random.default_rng(1)
    fit.obs[:, 1] = fit.obs[:, 4]
    fit.obs[:20, 1] += rng.normal(0, 1e-3, 20).astype("f4")
    n = fit_normaliser(fit, even(4000), 2)
    trembling = fit.obs[100:200].copy()
    trembling[:, 1] += rng.normal(0, 1e-3, 100).astype("f4")
    z = (trembling - n.shift) @ n.mix
    assert np.abs(z[:, 1]).max() < 0.5
