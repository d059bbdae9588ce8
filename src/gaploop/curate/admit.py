"""Where each episode goes: train, hard set, diagnostics, or set aside, with the reason."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from gaploop.core import HELD, Admission, Curation, Diagnosis, Episode, Signal, spawn
from gaploop.curate.prescribe import Remedy, kind_of

Side = Literal["exam", "trainable"]


def side(failure: str, exam_share: float) -> Side:
    """The side of a failure, from its id alone: the same in every round, whatever else came in."""
    return "exam" if spawn(0, "split", failure) / 2**64 < exam_share else "trainable"


def admit(
    episodes: Sequence[Episode],
    diagnoses: Sequence[Diagnosis],
    origins: Mapping[str, Side],
    table: Mapping[str, Remedy],
) -> tuple[Admission, ...]:
    """One admission an episode, in order. First rule that speaks wins."""
    causes = {d.episode: d for d in diagnoses}
    return tuple(_one(e, causes.get(e.id), origins, table) for e in episodes)


def trouble(episode: Episode) -> str | None:
    """Why an episode must not be learned from or examined on, or None."""
    outcome = episode.fact("outcome")
    if outcome is None:
        return "nobody judged its outcome"
    second = outcome.get("second")
    if second is not None and bool(second) != bool(outcome["success"]):
        return "the outcome and the second check disagree"
    broken = [k for k, s in episode.signals.items() if not np.all(np.isfinite(s.values))]
    return f"{broken[0]} holds values that are not finite" if broken else None


def corrects(episode: Episode) -> bool:
    """Whether it shows what a person did, and that it went well."""
    return episode.origin == "correction" or (episode.helped and episode.success is True)


def _one(
    episode: Episode,
    diagnosis: Diagnosis | None,
    origins: Mapping[str, Side],
    table: Mapping[str, Remedy],
) -> Admission:
    def to(
        destination: Literal["train", "hard set", "diagnostics", "set aside"], reason: str
    ) -> Admission:
        return Admission(episode=episode.id, destination=destination, reason=reason)

    why = trouble(episode)
    if why is not None:
        return to("set aside", f"{why}.")
    if corrects(episode):
        return to("train", "A person stepped in: the correction shows what to do.")
    if episode.success:
        return to("train", "A field success: it shows what works on this very robot.")
    if diagnosis is None:
        return to("set aside", "A failure nobody diagnosed this round; kept for a later one.")
    remedy = table[diagnosis.verdict]
    kind = kind_of(diagnosis)
    if not remedy.trains:
        return to("diagnostics", f"{diagnosis.verdict} ({kind}): {remedy.remedy}, no training.")
    if origins.get(episode.id) == "exam":
        return to("hard set", f"Exam only: `{kind}` is scored on it, nothing is trained near it.")
    return to("train", f"Trainable: demonstrations are generated around it ({kind}).")


def imitable(curation: Curation, episodes: Sequence[Episode]) -> tuple[Episode, ...]:
    """Episodes whose own frames may be imitated: admitted to train, and not failed.

    Of an episode with a takeover only what the person did counts (`frame_weight`): the
    frames before it show how to get into trouble, the ones after it need no lesson.
    """
    chosen = {a.episode for a in curation.admissions if a.destination == "train"}
    kept = [e for e in episodes if e.id in chosen and (e.success or e.origin == "correction")]
    if any(HELD in e.signals for e in kept):
        kept = [_weighed(e) for e in kept]
    return tuple(kept)


def _weighed(episode: Episode) -> Episode:
    action = episode.signals["action"]
    weight = np.ones(len(action.times), dtype=np.float32)
    held = episode.signals.get(HELD)
    if held is not None and held.values.any():
        weight = np.ravel(held.values).astype(np.float32)
    signal = Signal(name="frame_weight", times=action.times, values=weight)
    kept = {k: s for k, s in episode.signals.items() if k != HELD}
    return replace(episode, signals=kept | {"frame_weight": signal})
