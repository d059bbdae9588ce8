"""Intervals, paired tests and what a sample could have shown.

Everything works from n = 0 on: too little data gives a wide interval, never an error.
"""

from gaploop.stats.intervals import Interval, clopper_pearson, two_level, wilson
from gaploop.stats.multiplicity import holm
from gaploop.stats.paired import (
    NonInferiority,
    PairedChange,
    non_inferiority,
    paired_change,
    paired_seeds,
)
from gaploop.stats.power import detectable, paired_power

__all__ = [
    "Interval", "NonInferiority", "PairedChange", "clopper_pearson", "detectable", "holm",
    "non_inferiority", "paired_change", "paired_power", "paired_seeds", "two_level", "wilson",
]  # fmt: skip
