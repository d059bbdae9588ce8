"""From cause to remedy, with the lift it should bring: predicted now, checked next round."""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from gaploop.core import (
    CAUSES,
    ConfigError,
    Counterfactual,
    Diagnosis,
    HardSet,
    Mend,
    Prescription,
    Reproduction,
    UnknownNameError,
)
from gaploop.curate.config import CurateConfig
from gaploop.stats import wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One row of the table of remedies."""

    cause: str
    remedy: str
    trains: bool
    ability: str
    sentence: str


def remedies(path: str = "") -> dict[str, Remedy]:
    """The table of remedies by cause, built in or from a TOML file.

    Raises ConfigError naming the file and the row that is off.
    """
    file = Path(path) if path else Path(__file__).with_name("remedies.toml")
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"The table of remedies {file} cannot be read: {error}.") from error
    wanted = {f.name for f in fields(Remedy)} - {"cause"}
    for cause, row in table.items():
        if cause not in CAUSES:
            raise UnknownNameError("cause", cause, CAUSES)
        if not isinstance(row, dict) or set(row) != wanted:
            raise ConfigError(f"[{cause}] in {file} needs exactly: {', '.join(sorted(wanted))}.")
    missing = [c for c in CAUSES if c not in table]
    if missing:
        raise ConfigError(f"{file} has no remedy for {', '.join(missing)}.")
    return {cause: Remedy(cause=cause, **row) for cause, row in table.items()}


def kind_of(diagnosis: Diagnosis) -> str:
    """The bucket a failure belongs to: its mechanism, else its cause."""
    return diagnosis.kind or (
        "unexplained" if diagnosis.verdict == "unknown" else diagnosis.verdict
    )


def prescribe(
    diagnoses: Sequence[Diagnosis],
    reproductions: Sequence[Reproduction],
    hard_set: HardSet,
    config: CurateConfig,
    mends: Sequence[Mend] = (),
) -> tuple[Prescription, ...]:
    """One prescription a (cause, kind), in the order first met.

    mends: what is mended at once; such a prescription predicts a lift as training does.
      Then training waits for the next round: a failure met behind the mend may be
      another one, and an exam of both together would not say which of them helped.
    """
    table = remedies(config.remedies)
    groups: dict[tuple[str, str], list[Diagnosis]] = {}
    for diagnosis in diagnoses:
        groups.setdefault((diagnosis.verdict, kind_of(diagnosis)), []).append(diagnosis)
    met = {r.episode: r for r in reproductions}
    written: list[Prescription] = []
    for (cause, kind), group in groups.items():
        remedy = table[cause]
        ids = tuple(d.episode for d in group)
        bucket = hard_set.bucket(kind)
        name = kind if bucket and bucket.scenarios else "calibrated"
        lift = (0.0, 0.0, 0.0)
        mended = [m for m in mends if m.cause == cause]
        trains = remedy.trains and not mends
        if trains or mended:
            here = [met[i] for i in ids if i in met]
            lift = predicted(here, own_bucket=name == kind, shortfall=config.shortfall)
        probe = next((d.probe for d in group if d.probe), "repeat the attempt with more logging.")
        sentence = remedy.sentence.format(kind=kind, n=len(ids), probe=probe)
        if mended:
            told = "; ".join(dict.fromkeys(m.sentence for m in mended if m.sentence))
            sentence = f"Mended in the policy's folder, without training: {told}. {sentence}"
        elif remedy.trains and mends:
            sentence = f"Waits for what is mended first. {sentence}"
        written.append(
            Prescription(
                cause=cause, remedy=remedy.remedy, trains=trains, sentence=sentence,
                episodes=ids, bucket=name,
                lift=100 * lift[0], lift_lo=100 * lift[1], lift_hi=100 * lift[2],
            )
        )  # fmt: skip
    return tuple(written)


def predicted(
    reproductions: Sequence[Reproduction], *, own_bucket: bool, shortfall: float
) -> tuple[float, float, float]:
    """(lift, low, high) as fractions, from what moving the diagnosed knob did.

    Before: half of an own bucket are scenarios picked because they failed, the
    other half fresh siblings at the counterfactual's `p_before`; `calibrated`
    stands at the share of posterior draws that did not fail. After: the end of the
    scan, where the gap is gone, which training may miss by `shortfall`.
    The interval of the difference is Newcombe's (1998, method 10), from two
    Wilson intervals. Without a counterfactual anything from no lift to all of
    the headroom is possible, and that is what is said.
    """
    flips = [r.counterfactual for r in reproductions if r.counterfactual is not None]
    if own_bucket:
        n_before = sum(f.n for f in flips)
        k_before = 0.5 * sum(f.p_before * f.n for f in flips)
    else:
        n_before = sum(r.n for r in reproductions)
        k_before = float(sum(r.n - r.reproduced for r in reproductions))
    before = k_before / n_before if n_before else 0.0
    n_after = sum(f.n for f in flips)
    if not n_after or not n_before:
        return 0.5 * (1 - before), 0.0, 1 - before
    after = sum(_without_gap(f) * f.n for f in flips) / n_after
    b_lo, b_hi = wilson(round(k_before), n_before)
    a_lo, a_hi = wilson(round(after * n_after), n_after)
    lift = after - before
    low = lift - math.hypot(after - a_lo, b_hi - before) - shortfall
    high = lift + math.hypot(a_hi - after, before - b_lo)
    return lift, max(low, -1.0), min(high, 1.0)


def _without_gap(flip: Counterfactual) -> float:
    return float(flip.response[-1]) if len(flip.response) else flip.p_after
