"""All that is needed to run one attempt again, and the smallest change that flips it."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One attempt, complete. Exactly one of `policy` and `controls` acts."""

    task: str
    world: str
    """Digest of the world: model XML, pipelines, MuJoCo version."""
    layout: np.ndarray
    """(S,) start variables."""
    knobs: np.ndarray
    """(P,) knob values."""
    knob_names: tuple[str, ...]
    seed: int
    """Noise seed (uint64)."""
    horizon: int
    policy: str = ""
    """Digest of the policy folder."""
    controls: np.ndarray | None = None
    """(T, a) commands, for open-loop replay."""
    origin: str = ""
    """Id of the episode it reproduces, empty for a made-up one."""
    unit: str = ""
    """Specimen whose knobs these are, so that its mends apply; empty where all are alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """A scenario, the smallest change of the diagnosed knob that flips it, and the curve."""

    scenario: Scenario
    knob: str
    unit: str
    value: float
    """Where the knob stands in the scenario."""
    flip: float
    """Where success crosses one half on the way to nominal; NaN if it never does."""
    flip_lo: float
    flip_hi: float
    """Neighbouring scan points around the flip."""
    p_before: float
    p_after: float
    """Success at `value` and just past the flip."""
    n: int
    """Simulations a scan point."""
    scan: np.ndarray
    """(K,) scanned values, from `value` toward nominal."""
    response: np.ndarray
    """(K,) success rate at each."""
    monotone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """How a failed episode was met again in simulation."""

    episode: str
    reproduced: int
    """Of `n` posterior draws, how many failed at the same stage."""
    n: int
    scenarios: tuple[Scenario, ...]
    """The failing ones that were kept."""
    counterfactual: Counterfactual | None = None
    sentence: str = ""
    """The counterfactual in one sentence a technician understands."""
    replay: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Signal key to (T, d): the logged commands replayed in the world this episode points to."""
    replay_trained: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """The same commands in a world as the policy was trained on."""
