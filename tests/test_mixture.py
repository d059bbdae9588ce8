"""Which demonstrations are trained on: what the logs have ruled out since is left out."""

from types import SimpleNamespace

import numpy as np
import pytest

from gaploop.core import Episode, Knob, KnobSpace, Label, Posterior, Prior, Signal, Target
from gaploop.mixture import demonstrations

SPACE = KnobSpace(
    knobs=tuple(
        Knob(name=n, gap="dynamics", unit="1", nominal=0.5, prior=Prior(low=0.0, high=1.0),
             targets=(Target(path="action:gain"),), source="test")
        for n in ("friction", "mass")
    )
)  # fmt: skip


def made(number: int, friction: float) -> Episode:
    values = np.full((4, 1), 0.1 * number, np.float32)
    action = Signal(name="action", unit="m", columns=("x",), times=np.arange(4) / 10, values=values)
    episode = Episode(signals={"action": action}, origin="generated", world="sim")
    ran = {"world": "w", "knobs": {"friction": friction, "mass": 0.5}, "seed": "1"}
    return Episode(
        signals=episode.signals, origin="generated", world="sim",
        facts=(Label(subject=episode.id, key="attempt", value=ran, author="test"),),
    )  # fmt: skip


def turn(*rounds: list[Episode]) -> SimpleNamespace:
    """Round k made the k-th list; the posterior holds friction for 0.3 and says nothing of mass."""
    rng = np.random.default_rng(0)
    draws = np.stack([rng.normal(0.3, 0.02, 400), rng.random(400)], axis=1)
    posterior = Posterior(
        space=SPACE, particles=draws, weights=np.full(400, 1 / 400), shipped=draws
    )
    number = len(rounds) - 1
    return SimpleNamespace(
        number=number,
        refs={f"data@r{k}": "x" for k, r in enumerate(rounds) if r},
        need=lambda name, cls: posterior,
        episodes=lambda name, back: rounds[number - back],
    )


def test_what_the_logs_have_ruled_out_is_left_out() -> None:
    old = [made(0, 0.5), made(1, 0.5), made(2, 0.31), made(3, 0.29)]
    new = [made(4, 0.3), made(5, 0.6)]
    sources, weights = demonstrations(turn(old, new))
    assert [e.id for e in sources[0]] == [e.id for e in old[2:]]
    # what was made last was made for what is believed now, its tails included
    assert sources[1] == new
    assert weights == pytest.approx([0.5, 2.0])


def test_a_round_of_which_nothing_is_left_has_no_part() -> None:
    sources, weights = demonstrations(turn([made(0, 0.5)], [made(1, 0.3)]))
    assert len(sources) == 1
    assert weights == pytest.approx([2.0])


def test_without_new_data_the_last_made_is_kept() -> None:
    sources, weights = demonstrations(turn([made(0, 0.5)], []))
    assert len(sources[0]) == 1
    assert weights == pytest.approx([1.0])
