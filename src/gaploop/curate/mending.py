"""What is mended instead of trained: a unit's zeros, and what the run-time path gets wrong.

One failure diagnosed as mechanical is reason to look at every unit: a mend costs nothing,
is data that can be taken out again, and goes through the same exam as training would.
Only what the logs identify is mended; the rest needs a person, and the prescription says so.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from gaploop.core import Diagnosis, Episode, Mend, Posterior, TaskSpec
from gaploop.curate.prescribe import Remedy
from gaploop.policies.mend import mendable, zero_mends

CERTAIN = 3.0
"""Posterior standard deviations that a zero must lie from 0."""
LEAST = 0.15
"""And this share of its prior's width: a mend for less would follow the noise."""


def mends(
    diagnoses: Sequence[Diagnosis],
    table: Mapping[str, Remedy],
    episodes: Sequence[Episode],
    spec: TaskSpec,
    posterior: Posterior,
    path: Sequence[Mend],
) -> tuple[Mend, ...]:
    """Mends for what was diagnosed, on top of those the acting policy has.

    path: what the logs say their run-time path does (`gaploop.policies.path`).
    """
    causes = {d.verdict for d in diagnoses if table[d.verdict].remedy == "mend"}
    found = list(path) if "contract" in causes else []
    if "mechanical" in causes:
        for unit in sorted({e.unit for e in episodes}):
            found += _unit(spec, posterior.of(unit), unit)
    return tuple(found)


def _unit(spec: TaskSpec, posterior: Posterior, unit: str) -> tuple[Mend, ...]:
    space = posterior.space
    values = np.zeros(len(space))
    for i, knob in enumerate(space.knobs):
        if not mendable(space, knob.name):
            continue
        mean, sd = float(posterior.mean[i]), float(posterior.sd[i])
        if abs(mean) > CERTAIN * sd and abs(mean) > LEAST * knob.prior.width:
            values[i] = mean
    said = ", ".join(
        f"{knob.name} {1e3 * values[i]:+.2f} m{knob.unit}"
        for i, knob in enumerate(space.knobs)
        if values[i]
    )
    return zero_mends(space, values, spec, unit, f"{unit or 'the robot'}: {said}")
