"""Where a logged attempt began, read off its log."""

import numpy as np

from gaploop.infer.episode import log_of, replays, start
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes
from gaploop.tasks.slide import Slide


def test_an_object_that_moved_began_where_it_was_first_seen():
    world = World(Slide())
    knobs = world.space.nominal
    knobs[world.space.index("puck_bias_y")] = 0.01
    attempts = world.attempts(2, 0, knobs=knobs)
    recording = world.rollout(attempts, world.task.expert())
    episode = to_episodes(
        world, attempts, recording, world.task.judge(recording),
        origin="rollout", policy="", world_kind="sim",
    )[0]  # fmt: skip
    log = log_of(world.spec, episode)
    biased, plain = knobs, world.space.nominal
    found = start(world, log, np.stack([biased, plain]))
    # the noise of one reading is 0.3 mm
    assert np.allclose(found[0], attempts.layout[0], atol=1.5e-3)
    assert np.allclose(found[1] - found[0], [0.0, 0.01, 0.0, 0.0], atol=1e-9)
    assert abs(log.readings["puck"][-1, 0] - found[0, 0]) > 0.2
    # the replay in the true world ends where the log does
    again = replays(world, log, biased[None]).recording
    assert np.allclose(again.truth["puck"][-1, 0], recording.truth["puck"][-1, 0], atol=0.01)
