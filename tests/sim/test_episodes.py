"""Episodes carry what a log holds, what is said of it, and enough to run again."""

from dataclasses import replace

import numpy as np
import pytest

from gaploop.core import Attempts, InputError
from gaploop.sim import World
from gaploop.sim.again import again
from gaploop.sim.episodes import to_episodes
from gaploop.sim.scenario import compare
from gaploop.store.datasets import as_stored
from gaploop.tasks.peg import Peg


@pytest.fixture(scope="module")
def run():
    world = World(Peg())
    knobs = world.space.sample(np.random.default_rng(2), 3)
    attempts = world.attempts(3, 4, knobs=knobs)
    recording = world.rollout(attempts, world.task.expert())
    return world, attempts, recording, world.task.judge(recording)


def _episodes(run, kind="sim", **more):
    return to_episodes(*run, origin="generated", policy="", world_kind=kind, **more)


def test_signals_are_what_a_policy_sees_and_nothing_true(run):
    episode = _episodes(run)[1]
    assert set(episode.signals) == {
        "action", "observation.state", "observation.environment_state", "frame_weight",
    }  # fmt: skip
    state = episode.signals["observation.state"]
    assert state.columns == ("x", "y", "z")
    assert state.unit == "m"
    assert np.array_equal(state.values, run[2].signals["q"][:, 1].astype(np.float32))
    assert episode.contract == run[0].spec.contract


def test_the_outcome_is_a_fact_and_no_part_of_the_id(run):
    world, attempts, recording, judged = run
    first = _episodes(run)[0]
    outcome = first.fact("outcome")
    assert outcome["success"] is True
    assert outcome["stage"] == "hold"
    assert outcome["tag"] == "inserted"
    assert outcome["onset"] is None
    assert first.fact("layout") == dict(
        zip(("hole_x", "hole_y"), attempts.layout[0].tolist(), strict=True)
    )
    judged.margin[:] += 1.0
    assert to_episodes(
        world, attempts, recording, judged, origin="generated", policy="", world_kind="sim"
    )[0].id == first.id  # fmt: skip


def test_an_episode_runs_again(run):
    world, _, recording, _ = run
    episode = _episodes(run)[2]
    told = episode.fact("attempt")
    attempts = Attempts(
        layout=np.array([list(episode.fact("layout").values())]),
        knobs=np.array([list(told["knobs"].values())]),
        seeds=np.array([int(told["seed"])], dtype=np.uint64),
    )
    commands = episode.signals["action"].values[:, None].astype(float)
    replayed = world.replay(attempts, commands)
    assert np.array_equal(replayed.truth["q"][:, 0], recording.truth["q"][:, 2])
    assert compare(replayed, replayed) == "bit-equal"


def test_a_stand_in_tells_neither_knobs_nor_seed(run):
    assert _episodes(run, "stand-in")[0].fact("attempt") is None


def test_ids_survive_being_stored(run):
    episode = _episodes(run)[0]
    assert as_stored(episode, fps=20).id == episode.id


def test_further_facts_and_parents(run):
    episodes = _episodes(
        run, facts=[{"note": i} for i in range(3)], parents=[(f"p{i}",) for i in range(3)]
    )
    assert [e.fact("note") for e in episodes] == [0, 1, 2]
    assert episodes[1].parents == ("p1",)
    assert all(f.subject == episodes[1].id for f in episodes[1].facts)


def test_an_episode_that_does_not_name_its_world_whole_is_no_traceback(run):
    world, (episode, *_) = run[0], _episodes(run)
    facts = {f.key: f for f in episode.facts}
    for value in ("x", {}, {**facts["attempt"].value, "knobs": {}}):
        changed = replace(facts["attempt"], value=value)
        with pytest.raises(InputError):
            again(world, replace(episode, facts=(*episode.facts, changed)))
