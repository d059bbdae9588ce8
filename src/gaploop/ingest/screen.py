"""The door: every episode is tested before anything learns from it."""

import re
from collections.abc import Iterable, Sequence

from gaploop.core import Episode
from gaploop.ingest.checks import Said, batches, examine
from gaploop.ingest.config import ScreenConfig
from gaploop.ingest.findings import Finding, Screened, Seen

_RANK = {"error": 0, "warning": 1, "info": 2}
_SHOWN = 3
_DIGEST = re.compile(r"[0-9a-f]{64}")


def screen(episodes: Iterable[Episode], config: ScreenConfig | None = None) -> Screened:
    """Tests on every episode, then comparisons between them.

    Quarantine is for what would mislead calibration (`findings.QUARANTINE` says why for
    each code). A quarantined episode is not lost: diagnosis reads it like any other.
    """
    known = list(episodes)
    ids = [e.id for e in known]
    summary, seen = examine(batches(known), config or ScreenConfig())
    findings = ordered(gather(summary.said, ids, seen))
    # a copy shares its original's id: only copies under an id of their own can be kept out
    kept_out = {
        ids[i]
        for i, s in seen
        if i >= 0
        and _finding(s, (ids[i],), s.message).quarantines
        and not (s.code == "duplicate_episode" and ids.index(ids[i]) != i)
    }
    order = list(dict.fromkeys(ids))
    return Screened(
        clean=tuple(i for i in order if i not in kept_out),
        quarantined=tuple(i for i in order if i in kept_out),
        findings=findings,
    )


def gather(
    said: Sequence[Said], names: Sequence[str] | Sequence[int], seen: Sequence[tuple[int, Seen]]
) -> list[Finding]:
    """Equal findings of several episodes become one.

    names: what a finding calls each episode. An index below 0 means the set as a whole.
    """
    groups: dict[tuple[str, str, str], list[tuple[int, Seen]]] = {}
    for i, s in seen:
        groups.setdefault((s.code, s.severity, s.feature), []).append((i, s))
    return [_gathered(said, names, group) for group in groups.values()]


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then by code and feature."""
    return tuple(sorted(findings, key=lambda f: (_RANK[f.severity], f.code, f.feature)))


def _gathered(
    said: Sequence[Said], names: Sequence[str] | Sequence[int], group: list[tuple[int, Seen]]
) -> Finding:
    first: dict[int, Seen] = {}
    for i, s in group:
        first.setdefault(i, s)
    members = [i for i in first if i >= 0]
    named = tuple(dict.fromkeys(names[i] for i in members))
    whole = list(dict.fromkeys(s.message for i, s in group if i < 0))
    same = {first[i].message for i in members}
    if whole:
        rest = len(whole) - _SHOWN
        message = "; ".join(whole[:_SHOWN]) + (f"; and {rest} more" if rest > 0 else "")
    elif len(same) == 1 and len(members) > 1:
        every = len(members) == len(said)
        count = "all episodes" if every else f"{len(members)} episodes"
        message = f"{count}, {_where(said, names, members[0])} among them: {same.pop()}"
    else:
        parts = [f"{_where(said, names, i)}: {first[i].message}" for i in members[:_SHOWN]]
        rest = len(members) - _SHOWN
        message = "; ".join(parts) + (f"; and {rest} more episodes" if rest > 0 else "")
    return _finding(group[0][1], named, message)


def _finding(seen: Seen, episodes: tuple, message: str) -> Finding:
    message = f"{seen.feature}: {message}" if seen.feature else message  # it must stand alone
    return Finding(
        code=seen.code,
        severity=seen.severity,
        episodes=episodes,
        feature=seen.feature,
        message=message,
        fix=seen.fix,
    )


def _where(said: Sequence[Said], names: Sequence[str] | Sequence[int], index: int) -> str:
    source = said[index].source
    if not source:
        name = names[index]
        return f"ep:{name[:8]}" if isinstance(name, str) else f"episode {name}"
    names_ = [part.rsplit("/", 1)[-1] for part in source.split(" + ")]
    return _DIGEST.sub(lambda m: m[0][:8], " + ".join(names_))
