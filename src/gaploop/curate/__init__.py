"""Curate: a remedy a cause, what goes into training, and the hard set that grows."""

from gaploop.curate.admit import imitable
from gaploop.curate.config import CurateConfig
from gaploop.curate.prescribe import Remedy, remedies
from gaploop.curate.stage import curate

__all__ = ["CurateConfig", "Remedy", "curate", "imitable", "remedies"]
