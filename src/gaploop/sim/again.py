"""A logged attempt of a simulated world, run again from what the log says of itself."""

from typing import Literal

import numpy as np

from gaploop.core import Attempts, Episode, InputError, short
from gaploop.sim.world import World

Agreement = Literal["bit-equal", "within tolerance", "different"]


def again(world: World, episode: Episode) -> tuple[Agreement, float]:
    """Runs a logged attempt of this world again from its own facts; how it compares to the log.

    Returns the verdict and the largest difference of any reading. Raises
    InputError for an episode without the fact `attempt`, or of another world.
    """
    attempt, layout = episode.fact("attempt"), episode.fact("layout")
    if attempt is None or layout is None:
        raise InputError(
            f"Episode {short(episode.id)} carries no world to run again: it is a log of"
            f" a {episode.world} robot.",
            hint="Its reproductions can be run.",
        )
    made_in = str(attempt.get("world", "")) if isinstance(attempt, dict) else ""
    if made_in != world.digest:
        raise InputError(
            f"Episode {short(episode.id)} was made in world {short(made_in)}, and this"
            f" one is {short(world.digest)}: the task, its knobs or MuJoCo changed since."
        )
    try:
        attempts = Attempts(
            layout=np.array([[layout[v.name] for v in world.spec.layout]]),
            knobs=np.array([[attempt["knobs"][name] for name in world.space.names]]),
            seeds=np.array([int(attempt["seed"])], dtype=np.uint64),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"Episode {short(episode.id)} cannot be run again: its facts `attempt` and `layout`"
            f" do not name a world whole ({type(error).__name__}: {error})."
        ) from error
    commands = episode.signals["action"].values[:, None, :].astype(float)
    recording = world.replay(attempts, commands)
    worst, equal = 0.0, True
    for channel in world.spec.observed:
        logged = episode.signals[channel.key].values.reshape(recording.steps, -1)
        made = recording.signals[channel.name][:, 0].astype(np.float32)
        equal = equal and np.array_equal(made, logged, equal_nan=True)
        worst = max(worst, float(np.nanmax(np.abs(made - logged), initial=0.0)))
    return "bit-equal" if equal else "within tolerance" if worst < 1e-5 else "different", worst
