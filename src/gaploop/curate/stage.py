"""The curate stage: one round's logs become remedies, admissions and the next exam."""

from collections.abc import Sequence

from gaploop.core import (
    Admission,
    Curation,
    Diagnosis,
    Episode,
    HardSet,
    Mend,
    Posterior,
    Prescription,
    Reproduction,
    Scenario,
    TaskSpec,
    UsageError,
)
from gaploop.curate.admit import Side, admit, corrects, side
from gaploop.curate.buckets import grow
from gaploop.curate.config import CurateConfig
from gaploop.curate.mending import mends
from gaploop.curate.prescribe import prescribe, remedies


def curate(
    episodes: Sequence[Episode],
    diagnoses: Sequence[Diagnosis],
    reproductions: Sequence[Reproduction],
    previous: HardSet | None,
    config: CurateConfig,
    seed: int,
    *,
    spec: TaskSpec,
    posterior: Posterior,
    path: Sequence[Mend] = (),
    mend: bool = True,
) -> Curation:
    """What one round's logs become. Nothing enters training unexamined.

    A failure's side (exam or trainable) is decided once, by its id; an exam
    scenario is never returned in `around`. What is mended instead of trained is in `mends`;
    `path` is what the logs' run-time path does to their numbers; `mend` False leaves out
    mends, as after an exam that refused them: they must not keep training away for good.
    Raises UsageError for a
    diagnosis or reproduction of an episode that is not among `episodes`, ConfigError
    for a table of remedies that is off.
    """
    table = remedies(config.remedies)
    known = {e.id for e in episodes}
    for owner in (*(d.episode for d in diagnoses), *(r.episode for r in reproductions)):
        if owner not in known:
            raise UsageError(f"Episode {owner[:8]} was diagnosed but is not among the episodes.")
    origins: dict[str, Side] = dict(previous.origins) if previous else {}
    for diagnosis in diagnoses:
        origins.setdefault(diagnosis.episode, side(diagnosis.episode, config.exam_share))
    hard_set = grow(
        previous, episodes, diagnoses, reproductions, origins, table, spec, posterior, config, seed
    )
    mended = mends(diagnoses, table, episodes, spec, posterior, path) if mend else ()
    prescriptions = prescribe(diagnoses, reproductions, hard_set, config, mended)
    admissions = admit(episodes, diagnoses, origins, table)
    return Curation(
        prescriptions=prescriptions,
        admissions=admissions,
        hard_set=hard_set,
        around=_around(diagnoses, reproductions, origins, config),
        mends=mended,
        trains=_trains(prescriptions, admissions, episodes),
    )


def _trains(
    prescriptions: Sequence[Prescription],
    admissions: Sequence[Admission],
    episodes: Sequence[Episode],
) -> bool:
    """Whether a remedy trains, or a correction came in and nothing is to be mended first.

    The policy's own successes are no reason to train: they go in when there is another.
    """
    if any(p.trains for p in prescriptions):
        return True
    shown = {e.id for e in episodes if corrects(e)}
    corrected = any(a.episode in shown and a.destination == "train" for a in admissions)
    return corrected and not any(p.remedy == "mend" for p in prescriptions)


def _around(
    diagnoses: Sequence[Diagnosis],
    reproductions: Sequence[Reproduction],
    origins: dict[str, Side],
    config: CurateConfig,
) -> tuple[Scenario, ...]:
    """Scenarios of trainable failures whose remedy trains."""
    table = remedies(config.remedies)
    trains = {d.episode for d in diagnoses if table[d.verdict].trains}
    return tuple(
        s
        for r in reproductions
        if r.episode in trains and origins.get(r.episode) == "trainable"
        for s in r.scenarios
    )
