"""Small tests on time series, shared by screening and diagnosis.

Arrays in, one frozen answer out, with the statistic, the span and, where it makes sense,
a log Bayes factor or a p-value. A series that cannot answer gives an answer that
says so (`reason`); only shapes that do not fit raise.
"""

from gaploop.signals.clock import Clock, clock
from gaploop.signals.droop import Droop, droop
from gaploop.signals.frozen import Frozen, frozen
from gaploop.signals.lag import Lag, lag
from gaploop.signals.permutation import Permutation, permutation, permutation_by_statistics
from gaploop.signals.rate import Rate, rate
from gaploop.signals.ratio import FACTORS, Factor, Ratio, ratio
from gaploop.signals.saturation import Saturation, saturation
from gaploop.signals.seam import Seam, find_seam, seam
from gaploop.signals.spans import Span

__all__ = [
    "FACTORS", "Clock", "Droop", "Factor", "Frozen", "Lag", "Permutation", "Rate", "Ratio",
    "Saturation", "Seam", "Span", "clock", "droop", "find_seam", "frozen", "lag", "permutation",
    "permutation_by_statistics", "rate", "ratio", "saturation", "seam",
]  # fmt: skip
