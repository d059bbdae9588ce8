"""What the benchmarks that run the loop share: its settings, and what it said of itself."""

from pathlib import Path
from typing import Any

from gaploop.calibrate.config import CalibrateConfig
from gaploop.config import LoopConfig
from gaploop.core import Curation, Diagnosis, Exam, Posterior
from gaploop.diagnose.config import DiagnoseConfig
from gaploop.train.config import TrainConfig

MEASURED = 200
"""Attempts of a final measurement."""
FAILURES = 3
"""Diagnosed a round."""
LOGS = 8
"""A posterior rests on, two fewer than by default: calibration is most of a loop's cost."""
TRAIN = {"peg": TrainConfig(), "slide": TrainConfig(lr=3e-3, steps=2400)}
"""What a task needs to be learnt at all; the same for every recipe."""
LOOP = {"peg": 65.0, "slide": 105.0}
"""CPU-seconds of a loop of three rounds, measurements included, one thread a process."""
UNITS = {"lab-d": 1.5}
"""What a family's units, each with its own fit, make of that."""


def cost(task: str, family: str, rounds: int) -> float:
    """CPU-seconds that a loop is thought to take."""
    return LOOP[task] * UNITS.get(family, 1.0) * rounds / 3


def settings(task: str, field: str, seed: int, rounds: int) -> LoopConfig:
    """The loop's settings in a cell; its rivals take theirs from them."""
    return LoopConfig(
        task=task, field=field, seed=seed, rounds=rounds,
        calibrate=CalibrateConfig(logs=LOGS), train=TRAIN[task],
        diagnose=DiagnoseConfig(failures=FAILURES),
    )  # fmt: skip


def history(cell: Path, rounds: int) -> dict[str, Any]:
    """What the loop said of itself, a round: healing, predictions, alarms, causes, training.

    `healed` holds [asked, passed their own scenario, healed in siblings too], `kept`
    [round, bucket, predicted, measured], `training` [whether it trained, mends], `trained`
    the causes whose remedies were what it trained for.
    """
    from gaploop.store import Workcell

    names = ("healed", "kept", "alarm", "causes", "training", "trained")
    out: dict[str, Any] = {name: [] for name in names}
    with Workcell.open(cell) as opened:
        refs = opened.ledger.refs()
        for k in range(1, rounds + 1):
            exam = opened.objects.get(refs[f"exam@r{k}"], Exam)
            trained = bool(refs.get(f"training@r{k}"))
            own = sum(2 * h.own_k > h.own_n for h in exam.healed)
            healed = sum(h.healed for h in exam.healed)
            out["healed"].append([len(exam.healed), own, healed])
            out["kept"] += [[k, bucket, lift, got] for bucket, lift, got in exam.kept]
            posterior = opened.objects.get(refs[f"posterior@r{k}"], Posterior)
            out["alarm"].append(posterior.misspecified)
            answers = opened.objects.get(refs[f"diagnoses@r{k}"], tuple[Diagnosis, ...])
            out["causes"].append([d.verdict for d in answers])
            curation = opened.objects.get(refs[f"curation@r{k}"], Curation)
            out["training"].append([trained, len(curation.mends)])
            causes = sorted({p.cause for p in curation.prescriptions if p.trains})
            out["trained"].append(causes if trained else [])
    return out
