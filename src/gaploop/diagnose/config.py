"""How much work one diagnosis may do, and where its fixed thresholds lie."""

from dataclasses import dataclass

from gaploop.core.bounds import at_least, share


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnoseConfig:
    """Settings of `diagnose`."""

    failures: int = 4
    """At most this many failures a round; the loop takes the first that many."""
    healthy: int = 32
    """Draws of this robot's posterior that make the null of the inference."""
    proposals: int = 16
    """Replays a mechanism, its knobs redrawn."""
    put_back: int = 12
    """Replays a gap with its knobs as trained, for the evidence that it is off at all."""
    particles: int = 8
    """Worlds conditioned on the episode, in which the policy is rerun."""
    policy_draws: int = 16
    """Reruns in worlds as the policy was trained on, to see whether it fails there anyway."""
    policy_fails: float = 0.5
    """Failing in more than this share of trained worlds makes the answer `policy`."""
    reproduced: float = 0.5
    """A closed loop that fails in fewer particles than this is not reproduced."""
    misfit: float = 3.0
    """Replay residual, in units of what healthy replays show, beyond which no hypothesis fits."""
    rate_tolerance: float = 0.05
    """Relative difference of the measured and the declared control rate that is still equal."""

    def __post_init__(self) -> None:
        at_least(
            self, "diagnose", 1, "healthy", "proposals", "put_back", "particles", "policy_draws"
        )
        at_least(self, "diagnose", 0, "failures", "misfit", "rate_tolerance")
        share(self, "diagnose", "policy_fails", "reproduced")
