from pathlib import Path

import numpy as np
import pytest

from gaploop.core import UnknownNameError
from gaploop.field import labs, takeovers
from gaploop.field.supervisor import MOST, SUPERVISORS, Supervisor, supervise
from gaploop.ingest import screen
from gaploop.sim import World
from gaploop.store.datasets import read_dataset, write_dataset
from gaploop.tasks.peg import Peg


class Lost:
    """Goes for a hole that is not there, 4 mm aside."""

    def __init__(self) -> None:
        self.expert = Peg().expert()

    def reset(self, n: int) -> None:
        self.expert.reset(n)

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        return self.expert.act(step, observation, truth | {"hole": truth["hole"] + 4e-3})


@pytest.fixture(scope="module")
def world() -> World:
    return World(Peg())


def _run(world: World, controller, name: str, n: int = 60):
    attempts = world.attempts(n, 4)
    return supervise(world, attempts, controller, SUPERVISORS[name], 9)


def test_help_saves_what_would_be_lost(world: World) -> None:
    alone = world.task.judge(world.rollout(world.attempts(60, 4), Lost())).success.mean()
    _, judged, spans = _run(world, Lost(), "supervisor")
    assert alone < 0.1
    assert judged.success.mean() > 0.5
    assert all(1 <= len(s) <= MOST for s in spans if s)
    for mine in spans:
        edges = [x for span in mine for x in span]
        assert edges == sorted(edges)
        assert all(0 <= x <= world.spec.horizon for x in edges)


def test_the_lazy_one_comes_less_and_the_eager_one_for_nothing(world: World) -> None:
    count = {name: sum(map(len, _run(world, Lost(), name)[2])) for name in SUPERVISORS}
    assert count["lazy"] < count["supervisor"]
    able = world.task.expert
    calm = sum(map(len, _run(world, able(), "supervisor")[2]))
    eager = sum(map(len, _run(world, able(), "eager")[2]))
    assert calm <= 0.1 * 60
    assert eager >= 0.15 * 60


def test_until_the_takeover_the_policy_acts_alone(world: World) -> None:
    recording, _, spans = _run(world, Lost(), "supervisor", 8)
    alone = world.rollout(world.attempts(8, 4), Lost())
    for i, mine in enumerate(spans):
        first = mine[0][0] if mine else world.spec.horizon
        assert np.array_equal(recording.command[:first, i], alone.command[:first, i])
        if mine:
            # the jump of a hand on the stick is in the log
            step = np.abs(recording.command[first, i] - recording.command[first - 1, i]).max()
            usual = np.abs(np.diff(alone.command[:first, i], axis=0)).max()
            assert step > 1e-4
            assert usual < 0.02


def test_nobody_comes_who_never_looks(world: World) -> None:
    blind = Supervisor(watching=1e-9, away=1e9, false_alarm=0.0)
    _, _, spans = supervise(world, world.attempts(5, 4), Lost(), blind, 9)
    assert not any(spans)


def test_the_log_marks_who_held_the_robot(policy: Path, tmp_path: Path) -> None:
    labs.lab_b("3+supervisor").collect(policy, 6, 5, tmp_path / "out")
    episodes = list(read_dataset(tmp_path / "out"))
    marked = 0
    for episode in episodes:
        held = episode.signals["intervention"].values
        assert held.dtype == np.bool_
        spans = [f.span for f in episode.facts if f.key == "intervention"]
        times = episode.signals["action"].times
        inside = np.zeros(len(times), dtype=bool)
        for span in spans:
            assert span is not None
            inside |= (times >= span[0] - 1e-9) & (times <= span[1] + 1e-9)
        assert np.array_equal(np.ravel(held), inside)
        marked += len(spans)
    assert marked >= 3, "a policy trained for nothing needs help"
    assert takeovers(episodes) == pytest.approx(100 * marked / 6)
    assert takeovers([]) == 0.0
    assert len(screen(episodes).clean) == 6


def test_an_unknown_supervisor_is_named() -> None:
    with pytest.raises(UnknownNameError, match="lazy"):
        labs.lab_b("3+lasy")


def test_only_what_the_person_did_is_imitated(policy: Path, tmp_path: Path) -> None:
    from gaploop.core import Admission, Curation, HardSet
    from gaploop.curate import imitable
    from gaploop.train.pairs import windows

    episodes = labs.attempt("lab-b", 3, "peg", policy, 6, 5, 1, "supervisor")
    curation = Curation(
        prescriptions=(), around=(), hard_set=HardSet(version=1, buckets=()),
        admissions=tuple(
            Admission(episode=e.id, destination="train", reason="") for e in episodes
        ),
    )  # fmt: skip
    chosen = imitable(curation, episodes)
    assert chosen
    for episode in chosen:
        weight = episode.signals["frame_weight"].values
        source = next(e for e in episodes if e.signals["action"] is episode.signals["action"])
        held = source.signals["intervention"].values
        assert np.array_equal(weight > 0, held if held.any() else np.ones(len(held), bool))
    write_dataset(tmp_path / "d", chosen, fps=20, robot="gantry")
    assert len(windows(list(read_dataset(tmp_path / "d")), Peg().spec, 8)) == 44 * len(chosen)
