"""The door: every episode is tested before anything learns from it."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from gaploop.core import Episode
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import Finding, Screened
from gaploop.ingest.integrity import Seen, integrity
from gaploop.ingest.meaning import across, meaning

_RANK = {"error": 0, "warning": 1, "info": 2}
_SHOWN = 3
_DIGEST = re.compile(r"[0-9a-f]{64}")


def screen(episodes: Iterable[Episode], config: ScreenConfig | None = None) -> Screened:
    """Integrity and timing tests on every episode, then comparisons between them.

    Quarantine is for what would mislead calibration (`findings.QUARANTINE` says why for
    each code). A quarantined episode is not lost: diagnosis reads it like any other.
    """
    config = config or ScreenConfig()
    known = list(episodes)
    ids = [e.id for e in known]
    seen: list[tuple[int, Seen]] = []
    for i, episode in enumerate(known):
        seen += [(i, s) for s in integrity(episode, config)]
        seen += [(i, s) for s in meaning(episode, config)]
    seen += list(across(known, config))
    seen += list(_lengths(known, config))
    findings = tuple(_gather(known, ids, seen))
    # a copy shares its original's id: only copies under an id of their own can be kept out
    kept_out = {
        ids[i]
        for i, s in seen
        if s.severity == "error"
        and _finding(s, (ids[i],), s.message).quarantines
        and not (s.code == "duplicate_episode" and ids.index(ids[i]) != i)
    }
    order = list(dict.fromkeys(ids))
    return Screened(
        clean=tuple(i for i in order if i not in kept_out),
        quarantined=tuple(i for i in order if i in kept_out),
        findings=findings,
    )


def _lengths(episodes: Sequence[Episode], config: ScreenConfig) -> Iterable[tuple[int, Seen]]:
    frames = [max((len(s.times) for s in e.signals.values()), default=0) for e in episodes]
    if len(frames) < 4:
        return
    middle = float(np.median(frames))
    for i, n in enumerate(frames):
        if config.shortest <= n < config.short_share * middle:
            yield (
                i,
                Seen(
                    code="episode_length",
                    severity="warning",
                    feature="",
                    message=f"{n} frames against a median of {middle:.0f}",
                    fix="Cut short by a stop or a crash? See how it ended.",
                ),
            )


def _gather(
    episodes: Sequence[Episode], ids: Sequence[str], seen: Sequence[tuple[int, Seen]]
) -> list[Finding]:
    """Equal findings of several episodes become one; errors first."""
    groups: dict[tuple[str, str, str], list[tuple[int, Seen]]] = {}
    for i, s in seen:
        groups.setdefault((s.code, s.severity, s.feature), []).append((i, s))
    found: list[Finding] = []
    for group in groups.values():
        members = list(dict.fromkeys(i for i, _ in group))
        first = {}
        for i, s in group:
            first.setdefault(i, s)
        same = {s.message for s in first.values()}
        if len(same) == 1 and len(members) > 1:
            every = len(members) == len(episodes)
            count = "all episodes" if every else f"{len(members)} episodes"
            said = f"{count}, {_where(episodes[members[0]], ids[members[0]])} among them: "
            found.append(
                _finding(
                    group[0][1],
                    tuple(dict.fromkeys(ids[i] for i in members)),
                    said + same.pop(),
                )
            )
            continue
        parts = [f"{_where(episodes[i], ids[i])}: {first[i].message}" for i in members[:_SHOWN]]
        rest = len(members) - _SHOWN
        message = "; ".join(parts) + (f"; and {rest} more episodes" if rest > 0 else "")
        found.append(_finding(group[0][1], tuple(dict.fromkeys(ids[i] for i in members)), message))
    return sorted(found, key=lambda f: (_RANK[f.severity], f.code, f.feature))


def _finding(seen: Seen, episodes: tuple[str, ...], message: str) -> Finding:
    message = f"{seen.feature}: {message}" if seen.feature else message  # it must stand alone
    return Finding(
        code=seen.code,
        severity=seen.severity,
        episodes=episodes,
        feature=seen.feature,
        message=message,
        fix=seen.fix,
    )


def _where(episode: Episode, identity: str) -> str:
    if not episode.source:
        return f"ep:{identity[:8]}"
    names = [part.rsplit("/", 1)[-1] for part in episode.source.split(" + ")]
    return _DIGEST.sub(lambda m: m[0][:8], " + ".join(names))
