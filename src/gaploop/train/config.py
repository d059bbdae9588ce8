"""How a policy is trained."""

from dataclasses import dataclass

from gaploop.core import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """Behaviour cloning of action chunks with a multilayer perceptron."""

    steps: int = 1200
    """Gradient steps."""
    batch: int = 256
    """Windows a step."""
    width: int = 192
    """Units a hidden layer."""
    layers: int = 3
    """Hidden layers; the second and later ones add to what they are given."""
    chunk: int = 16
    """Actions predicted a call."""
    execute: int = 8
    """Actions executed before the policy is asked again."""
    lr: float = 1e-3
    """Peak learning rate; rises for `warmup` of the steps, then falls as a cosine to zero."""
    warmup: float = 0.03
    """Share of the steps in which the learning rate rises."""
    weight_decay: float = 1e-4
    """Decoupled weight decay (AdamW)."""
    huber: float = 1.0
    """Residual, in standard deviations of a command, from which the loss is linear."""
    after: float = 0.5
    """Weight of what is predicted past the end of an episode, its last command held."""
    field_share: float = 0.5
    """Share of the batches that the field's own successes and corrections get where there are many;
    0 leaves them out."""
    field_half: int = 20
    """Number of them at which they get half of that: few must not dominate."""
    held_out: float = 0.05
    """Share of episodes kept out of training to report a validation loss."""
    clip: float = 10.0
    """Largest normalised input, so that a column constant in training cannot blow up."""
    golden: int = 16
    """Input and output pairs stored with the policy."""
    tolerance: float = 1e-4
    """Largest difference allowed on them, in standard deviations of a command."""

    def __post_init__(self) -> None:
        for name in (
            "steps",
            "batch",
            "width",
            "layers",
            "chunk",
            "execute",
            "golden",
            "field_half",
        ):
            if getattr(self, name) < 1:
                raise ConfigError(f"train.{name} is {getattr(self, name)}; it must be at least 1.")
        for name in ("lr", "huber", "clip", "tolerance"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"train.{name} is {getattr(self, name)}; it must be above 0.")
        for name in ("warmup", "held_out", "field_share"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"train.{name} is {getattr(self, name)}; expected 0 to below 1.")
        for name in ("weight_decay", "after"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"train.{name} is {getattr(self, name)}; it cannot be negative.")
        if self.execute > self.chunk:
            raise ConfigError(
                f"train.execute is {self.execute} and train.chunk is {self.chunk}; a policy cannot "
                "execute more actions than it predicts."
            )

    def share(self, shown: int) -> float:
        """Share of the batches for `shown` episodes of the field."""
        return self.field_share * shown / (shown + self.field_half)
