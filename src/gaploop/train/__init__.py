"""Train a policy on datasets and export it with its contract. The only place that needs torch."""

from gaploop.train.config import TrainConfig
from gaploop.train.pairs import Windows, windows
from gaploop.train.report import Epoch, Source, TrainReport
from gaploop.train.stage import fit_policy, train

__all__ = [
    "Epoch",
    "Source",
    "TrainConfig",
    "TrainReport",
    "Windows",
    "fit_policy",
    "train",
    "windows",
]
