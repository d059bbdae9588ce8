"""Tests that come before physics: units, signs, stamps and readings of one log."""

from collections.abc import Iterator

import numpy as np

from gaploop.core import Episode, Evidence
from gaploop.signals import rate
from gaploop.signals.pairs import Pair, inverted, unit_fault

SURE = 50.0
"""Bayes factor of a test that hardly ever fires on a healthy log."""


def span(episode: Episode) -> tuple[float, float]:
    """First and last stamp of the episode in s."""
    stamps = [s.times for s in episode.signals.values() if len(s.times)]
    if not stamps:
        return 0.0, 0.0
    return float(min(t[0] for t in stamps)), float(max(t[-1] for t in stamps))


def contract_evidence(episode: Episode, matched: tuple[Pair, ...]) -> Iterator[Evidence]:
    """Numbers that mean something else than the contract says."""
    for pair in matched:
        if not (np.isfinite(pair.command).all() and np.isfinite(pair.measured).all()):
            continue
        fault = unit_fault(pair)
        sent, seen = float(np.std(pair.command)), float(np.std(pair.measured))
        if fault:
            yield _evidence(
                episode, "units", "contract", SURE, seen / sent, f"{fault}."
            )  # fmt: skip
        elif inverted(pair):
            together = float(np.corrcoef(pair.command, pair.measured)[0, 1])
            yield _evidence(
                episode, "sign", "contract", SURE, together,
                f"{pair.measured_key} mirrors {pair.command_key} (correlation {together:.2f}): "
                "one sign is wrong.",
            )  # fmt: skip


def timing_evidence(episode: Episode) -> Iterator[Evidence]:
    """Readings and stamps that cannot be taken at their word."""
    for key in sorted(episode.signals):
        signal = episode.signals[key]
        bad = ~np.isfinite(np.asarray(signal.values, dtype=float)).reshape(len(signal.times), -1)
        rows = np.flatnonzero(bad.any(axis=1))
        if len(rows):
            yield Evidence(
                test="finite", cause="sensor", bayes_factor=10.0, statistic=float(len(rows)),
                t0=float(signal.times[rows[0]]), t1=float(signal.times[rows[-1]]),
                sentence=f"{key} has {len(rows)} rows without a finite number, from "
                f"{signal.times[rows[0]]:.2f} s on.",
            )  # fmt: skip
    main = episode.signals.get("observation.state")
    if main is None:
        return
    found = rate(main.times)
    if found.backwards or found.duplicates:
        row = min((*found.backwards, *found.duplicates))
        yield _evidence(
            episode, "stamps", "contract", SURE, float(len(found.backwards)),
            f"Stamps run backwards or repeat, first in row {row}: two episodes in one, or two "
            "writers.",
        )  # fmt: skip
    stated = episode.contract.log_rate
    if stated.source == "declared" and stated.value and found.hz:
        off = found.hz / float(stated.value)
        if not 0.95 < off < 1.05:
            yield _evidence(
                episode, "rate", "contract", SURE, off,
                f"Declared {float(stated.value):g} Hz, stamps say {found.hz:.3g} Hz.",
            )  # fmt: skip
    for gap in sorted(found.gaps, key=lambda g: g.t0 - g.t1)[:1]:
        width = gap.t1 - gap.t0
        if width > max(5 * found.period, 0.1):
            yield Evidence(
                test="gap", cause="execution", bayes_factor=3.0, statistic=width, t0=gap.t0,
                t1=gap.t1,
                sentence=f"The log has a hole of {1e3 * width:.0f} ms at {gap.t0:.2f} s; whether "
                "the robot went on moving in it is not known.",
            )  # fmt: skip


def _evidence(
    episode: Episode, test: str, cause: str, factor: float, statistic: float, sentence: str
) -> Evidence:
    t0, t1 = span(episode)
    return Evidence(
        test=test, cause=cause, bayes_factor=factor, statistic=float(statistic), t0=t0, t1=t1,
        sentence=sentence,
    )  # fmt: skip
