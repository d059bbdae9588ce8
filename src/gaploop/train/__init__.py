"""Train a policy on datasets and export it with its contract. The only place that needs torch."""

from gaploop.train.config import TrainConfig
from gaploop.train.report import Epoch, Source, TrainReport
from gaploop.train.stage import fit_policy, train
from gaploop.train.windows import Windows, windows

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
