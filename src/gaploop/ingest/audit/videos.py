"""Videos against the rows they go with: are they there, as long, and where the table says."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gaploop.core import InputError
from gaploop.ingest.audit.tables import Tables
from gaploop.ingest.findings import Finding
from gaploop.store.datasets_video import Clip, Videos, count_frames

_RECORD = "Copy the dataset again, or drop these episodes."


def audit(found: Tables) -> Iterator[Finding]:
    """All findings on the cameras with files of their own."""
    if found.places is None:
        return
    clips = Videos(found.info, found.places["length"])
    for key in clips.keys:
        try:
            where = [clips.clip(key, e) for e in range(len(found.places))]
        except InputError as error:
            yield _finding("video_timestamp", key, str(error).split("\n")[0], ())
            continue
        yield from _camera(key, where)


# -- inside -------------------------------------------------------------------


def _camera(key: str, clips: list[Clip]) -> Iterator[Finding]:
    files: dict[Path, list[int]] = {}
    for e, clip in enumerate(clips):
        files.setdefault(clip.path, []).append(e)
    missing: list[int] = []
    short: dict[int, str] = {}
    broken: dict[int, str] = {}
    for path, members in files.items():
        if not path.is_file():
            missing += members
            continue
        try:
            frames = count_frames(path)
        except InputError as error:
            broken |= dict.fromkeys(members, str(error).split("\n")[0])
            continue
        needed = max(clips[e].first + clips[e].length for e in members)
        if frames is not None and frames != needed:
            late = [e for e in members if clips[e].first + clips[e].length > frames] or members
            short |= dict.fromkeys(late, f"{path.name} has {frames} frames, {needed} are told of")
    if missing:
        yield _finding("missing_file", key, f"{clips[missing[0]].path.name} is not there", missing)
    if broken:
        yield _finding("truncated_file", key, next(iter(broken.values())), sorted(broken))
    if short:
        yield _finding("video_frames", key, next(iter(short.values())), sorted(short))
    yield from _overlaps(key, clips, files)


def _overlaps(key: str, clips: list[Clip], files: dict[Path, list[int]]) -> Iterator[Finding]:
    """Clips of one file that share frames, or leave some between them."""
    odd: list[int] = []
    for members in files.values():
        ordered = sorted(members, key=lambda e: clips[e].first)
        ends = np.array([clips[e].first + clips[e].length for e in ordered])
        starts = np.array([clips[e].first for e in ordered])
        odd += [ordered[i + 1] for i in np.flatnonzero(starts[1:] != ends[:-1])]
    if odd:
        clip = clips[min(odd)]
        yield _finding(
            "video_timestamp", key,
            f"episode {min(odd)} begins at frame {clip.first} of {clip.path.name}, which is not "
            "where the one before ends", sorted(odd),
        )  # fmt: skip


def _finding(code: str, key: str, message: str, episodes: list[int] | tuple[()]) -> Finding:
    return Finding(
        code=code, severity="error", episodes=tuple(episodes), feature=key, message=message,
        fix=_RECORD,
    )  # fmt: skip
