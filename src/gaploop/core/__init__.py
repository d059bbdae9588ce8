"""The types everything passes through. Imports the standard library and NumPy only."""

from gaploop.core.attempt import Attempts, Judgement, Recording
from gaploop.core.camera import Camera
from gaploop.core.contract import (
    UNKNOWN,
    Contract,
    Feature,
    GoldenPairs,
    PolicyContract,
    Stated,
    declared,
)
from gaploop.core.curation import Admission, Bucket, Curation, HardSet, Prescription
from gaploop.core.diagnosis import Diagnosis, Evidence, KnobEstimate
from gaploop.core.digest import array_digest, digest, short
from gaploop.core.episode import HELD, Episode
from gaploop.core.errors import (
    ConfigError,
    ContractError,
    FieldError,
    GaploopError,
    InputError,
    KnobError,
    MissingExtraError,
    UnknownNameError,
    UsageError,
    WorkcellError,
)
from gaploop.core.field_run import FieldRun, field_run
from gaploop.core.gaps import CAUSES, COLOURS, GAPS
from gaploop.core.knob import Knob, KnobSpace, Prior, Target
from gaploop.core.label import Label
from gaploop.core.loss import Loss
from gaploop.core.mend import Mend
from gaploop.core.posterior import Check, KnobVerdict, Posterior
from gaploop.core.runs import Run
from gaploop.core.scenario import Counterfactual, Reproduction, Scenario
from gaploop.core.score import BucketChange, Decision, Exam, Gate, Healed, Score
from gaploop.core.seeds import generator, spawn, spawn_many
from gaploop.core.signal import Signal
from gaploop.core.task import Channel, LayoutVariable, TaskSpec

__all__ = [
    "CAUSES", "COLOURS", "GAPS", "HELD", "UNKNOWN",
    "Admission", "Attempts", "Bucket", "BucketChange", "Camera", "Channel", "Check", "ConfigError",
    "Contract", "ContractError", "Counterfactual", "Curation", "Decision", "Diagnosis", "Episode",
    "Evidence", "Exam", "Feature", "FieldError", "FieldRun", "GaploopError", "Gate", "GoldenPairs",
    "HardSet", "Healed", "InputError", "Judgement", "Knob", "KnobError", "KnobEstimate",
    "KnobSpace", "KnobVerdict", "Label", "LayoutVariable", "Loss", "Mend", "MissingExtraError",
    "PolicyContract", "Posterior", "Prescription", "Prior", "Recording", "Reproduction", "Run",
    "Scenario", "Score", "Signal", "Stated", "Target", "TaskSpec", "UnknownNameError", "UsageError",
    "WorkcellError",
    "array_digest", "declared", "digest", "field_run", "generator", "short", "spawn", "spawn_many",
]  # fmt: skip
