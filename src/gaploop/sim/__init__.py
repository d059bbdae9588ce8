"""The batch engine on MuJoCo: worlds, pipelines, observations, replay."""

from gaploop.sim.observe import ObservationBuilder, frames, frames_to_history
from gaploop.sim.world import World

__all__ = ["ObservationBuilder", "World", "frames", "frames_to_history"]
