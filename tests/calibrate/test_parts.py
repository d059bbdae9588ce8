import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaploop.calibrate import CalibrateConfig
from gaploop.calibrate.randomise import shipped
from gaploop.calibrate.replay import Replay
from gaploop.calibrate.select import select
from gaploop.calibrate.verdict import Sampled, episode_scatter, verdicts
from gaploop.core import (
    ConfigError,
    Episode,
    InputError,
    Knob,
    KnobSpace,
    Label,
    Prior,
    Signal,
    Target,
)
from gaploop.sim import World
from gaploop.tasks.peg import Peg


def space(n=2):
    return KnobSpace(
        knobs=tuple(
            Knob(
                name=f"k{i}", gap="dynamics", unit="1", prior=Prior(low=0.0, high=1.0), nominal=0.5,
                targets=(Target(path=f"geom:g{i}.friction[0]"),),
            )
            for i in range(n)
        )
    )  # fmt: skip


def episode(number, success=None):
    values = np.full((3, 1), float(number))
    signal = Signal(name="action", times=np.arange(3) * 0.05, values=values)
    facts = ()
    if success is not None:
        facts = (Label(subject="", key="outcome", value={"success": success}, author="test"),)
    return Episode(signals={"action": signal}, facts=facts)


@given(st.floats(0.0, 0.45), st.floats(1.0, 4.0), st.floats(0.05, 0.95))
def test_shipped_is_never_narrower_than_the_posterior(width, factor, centre):
    rng = np.random.default_rng(0)
    particles = np.clip(centre + width * rng.uniform(-1, 1, (300, 2)), 0, 1)
    out = shipped(space(), particles, factor=np.array([factor, 1.0]), least=0.03, n=300, seed=1)
    assert out.shape == (300, 2)
    assert np.all((out >= 0) & (out <= 1))
    assert np.all(out.std(axis=0) >= 0.999 * particles.std(axis=0))
    assert np.all(out.std(axis=0) > 0.5 * 0.03 / np.sqrt(12))


def test_shipped_widens_by_the_factor_along_the_ridge():
    rng = np.random.default_rng(0)
    a = 0.5 + 0.02 * rng.standard_normal(2000)
    particles = np.stack([a, 1.0 - a + 0.001 * rng.standard_normal(2000)], axis=1)
    out = shipped(space(), particles, factor=np.array([3.0, 3.0]), least=0.0, n=2000, seed=1)
    assert out.std(axis=0) == pytest.approx(3 * particles.std(axis=0), rel=0.1)
    assert np.corrcoef(out.T)[0, 1] < -0.99


def test_selection_mixes_outcomes_and_never_tests_on_what_it_fits():
    episodes = [episode(i, success=i < 3) for i in range(20)]
    fitted, held = select(episodes, 8, 4)
    assert len(fitted) == 8
    assert len(held) == 4
    assert not {e.id for e in fitted} & {e.id for e in held}
    assert sum(bool(e.success) for e in (*fitted, *held)) == 3
    newest = [e for e in episodes if not e.success][-1]
    assert newest.id in {e.id for e in (*fitted, *held)}


def test_few_logs_are_all_fitted_and_a_repeat_counts_once():
    fitted, held = select([episode(1), episode(1), episode(2)], 8, 4)
    assert (len(fitted), len(held)) == (2, 0)
    assert select([], 8, 4) == ((), ())


def test_scatter_is_about_one_for_a_right_likelihood_and_larger_for_a_sharp_one():
    rng = np.random.default_rng(0)
    logs = 40
    centres = 0.5 + rng.standard_normal(logs)  # one reading of sd 1 a log

    def scatter(sharp):
        sd = 1.0 / np.sqrt(sharp * logs)
        draws = centres.mean() + sd * rng.standard_normal((4000, 1))
        levels = -0.5 * sharp * (draws - centres) ** 2
        return episode_scatter(draws, levels)[0]

    assert scatter(1.0) == pytest.approx(1.0, abs=0.3)
    assert scatter(16.0) == pytest.approx(4.0, abs=1.0)


def test_each_verdict_has_its_case():
    rng = np.random.default_rng(0)
    wide, tight, low = (
        rng.random(500),
        0.5 + 0.02 * rng.standard_normal(500),
        0.01 * rng.random(500),
    )
    flat = np.stack([wide, wide, tight, low, tight, tight], axis=1)
    sampled = Sampled(
        flat=flat,
        redraw=np.array([1.0, 0.8, 0.05, 0.02, 0.05, 0.05]),
        rhat=np.array([1, 1, 1, 1, 1, 9.0]),
        ess=np.full(6, 100.0),
    )
    found = verdicts(space(6), sampled, np.array([0, 0, 1, 1, 9, 9.0]), CalibrateConfig())
    assert [v.verdict for v in found] == [
        "no effect", "not identifiable", "identified", "at bound", "misspecified", "identified",
    ]  # fmt: skip
    assert found[2].lo < found[2].mean < found[2].hi


def test_a_config_that_cannot_run_is_refused():
    with pytest.raises(ConfigError, match=r"calibrate\.walkers is 2"):
        CalibrateConfig(walkers=2)
    with pytest.raises(ConfigError, match=r"calibrate\.steps is 0"):
        dataclasses.replace(CalibrateConfig(), steps=0)


def test_a_log_that_does_not_fit_the_task_is_named():
    world = World(Peg())
    with pytest.raises(InputError, match=r"'action' of .* has shape \(3, 1\)"):
        Replay(world, [episode(1)])
    with pytest.raises(InputError, match="has no 'action'"):
        Replay(world, [Episode(signals={})])


def test_the_start_comes_from_the_log_less_the_candidates_bias():
    world = World(Peg())
    t = np.arange(4) * 0.05

    def signal(name, values):
        return Signal(name=name, times=t, values=np.asarray(values, dtype=float))

    log = Episode(
        signals={
            "action": signal("action", np.zeros((4, 3))),
            "observation.state": signal("observation.state", np.zeros((4, 3))),
            "observation.environment_state": signal(
                "observation.environment_state", [[0.010, 0.02]] * 3 + [[0.5, 0.5]]
            ),
        }
    )
    values = np.tile(world.space.nominal, (2, 1))
    values[1, world.space.index("hole_bias_x")] = 2e-3
    layout = Replay(world, [log]).layout(values)
    assert layout.shape == (2, 1, 2)
    assert layout[0, 0] == pytest.approx([0.010, 0.02])
    assert layout[1, 0] == pytest.approx([0.008, 0.02])


def test_a_reading_that_never_moves_is_measured_by_something():
    t = np.arange(4) * 0.05
    widths = {"action": 3, "observation.state": 3, "observation.environment_state": 2}
    log = Episode(
        signals={k: Signal(name=k, times=t, values=np.zeros((4, d))) for k, d in widths.items()}
    )
    assert np.all(Replay(World(Peg()), [log]).range > 0)
