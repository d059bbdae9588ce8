"""What a training was fed, how it went, and where the policy lies."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One dataset of the mixture."""

    dataset: str
    """Digest of its episodes."""
    episodes: int
    real: int
    """Episodes recorded on a real robot."""
    frames: int
    share: float
    """Share of the batches drawn from it."""
    epochs: float
    """How often each of its frames was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Losses at one moment, in variances of a command."""

    step: int
    train: float
    """Mean over the steps since the last moment."""
    held_out: float
    """NaN without held-out episodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainReport:
    """The result of one training."""

    policy: str
    """Digest of the policy folder."""
    folder: Path = field(metadata={"digest": False})
    sources: tuple[Source, ...]
    steps: int
    seed: int
    parameters: int
    train_loss: float
    """Weighted loss over all training windows with the final weights."""
    held_out_loss: float
    """The same over the held-out episodes; NaN without any."""
    held_out_rms: tuple[float, ...]
    """Root mean square error of the actions that get executed, a command, in its unit."""
    curve: tuple[Epoch, ...]
    golden_error: float
    """Largest difference between torch and the exported graph, in the command's unit."""
    wall: float = field(metadata={"digest": False})
    cpu: float = field(metadata={"digest": False})
    """CPU-seconds, loading torch and data included."""

    @property
    def episodes(self) -> int:
        return sum(s.episodes for s in self.sources)
