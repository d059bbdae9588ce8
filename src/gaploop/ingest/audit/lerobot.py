"""All tests on the files of a LeRobot dataset."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import SupportsInt

import numpy as np

from gaploop.core import InputError
from gaploop.ingest.audit import tables, videos
from gaploop.ingest.audit.tables import Tables
from gaploop.ingest.checks.summary import Columns, Summary
from gaploop.ingest.findings import Finding, Severity
from gaploop.store import datasets_layout as layout
from gaploop.store.datasets_layout import load_info, read_json

_ROUNDED = 2e-3
"""Relative difference that single precision and a sum in another order may make."""
_AGAIN = "`gaploop convert` writes the set anew with tables that fit."


def audit_dataset(path: Path, summary: Summary) -> list[Finding]:
    """What is wrong with the files; episodes by index.

    summary: of the pass over the frames, in the order they are stored.
    """
    try:
        found = tables.load(load_info(Path(path)))
    except InputError as error:
        return [_finding("table_broken", "error", str(error).split("\n")[0])]
    return [
        *_broken(found),
        *_counts(found, summary),
        *_places(found),
        *_files(found),
        *_lengths(found, summary),
        *_schemas(found),
        *_stats(found, summary),
        *videos.audit(found),
    ]


# -- inside -------------------------------------------------------------------


def _finding(
    code: str, severity: Severity, message: str, episodes: Iterable[SupportsInt] = (), *,
    feature: str = "", fix: str = _AGAIN,
) -> Finding:  # fmt: skip
    return Finding(
        code=code, severity=severity, episodes=tuple(int(e) for e in episodes), feature=feature,
        message=message, fix=fix,
    )  # fmt: skip


def _broken(found: Tables) -> Iterator[Finding]:
    for sentence in found.broken:
        yield _finding("table_broken", "error", sentence, fix="Copy the dataset again.")


def _counts(found: Tables, summary: Summary) -> Iterator[Finding]:
    info = found.info
    there, frames = len(summary.said), sum(summary.frames)
    if info.episodes != there or info.frames != frames:
        yield _finding(
            "episode_count", "error",
            f"info.json tells of {info.episodes} episodes and {info.frames} frames, and the files "
            f"hold {there} and {frames}",
        )  # fmt: skip


def _places(found: Tables) -> Iterator[Finding]:
    """The episodes table against itself."""
    if found.places is None:
        return
    p = found.places
    twice = np.flatnonzero(p["episode_index"] != np.arange(len(p)))
    if len(twice):
        yield _finding(
            "episode_order", "error",
            f"the episodes table goes wrong at row {twice[0]}: it says episode "
            f"{p['episode_index'][twice[0]]}", twice[:1],
        )  # fmt: skip
        return
    wrong = np.flatnonzero(p["dataset_to_index"] - p["dataset_from_index"] != p["length"])
    if len(wrong):
        e = wrong[0]
        yield _finding(
            "episode_boundary", "error",
            f"episode {e} is {p['length'][e]} frames long and reaches from row "
            f"{p['dataset_from_index'][e]} to {p['dataset_to_index'][e]}", wrong,
        )  # fmt: skip
    gaps = 1 + np.flatnonzero(p["dataset_from_index"][1:] != p["dataset_to_index"][:-1])
    gaps = np.setdiff1d(gaps, np.concatenate([wrong, wrong + 1]))
    if len(gaps):
        yield _finding(
            "episode_boundary", "error",
            f"episode {gaps[0]} begins at row {p['dataset_from_index'][gaps[0]]}, and the one "
            f"before ends at {p['dataset_to_index'][gaps[0] - 1]}", gaps,
        )  # fmt: skip


def _files(found: Tables) -> Iterator[Finding]:
    """Each episode lies in the file that the table names."""
    if found.places is None:
        return
    known = {f.path.resolve(): f for f in found.footers}
    wrong: list[int] = []
    missing: list[int] = []
    pairs = found.places[["data/chunk_index", "data/file_index"]]
    for pair in np.unique(pairs):  # paths are looked up a file, not an episode
        members = found.places["episode_index"][pairs == pair].tolist()
        try:
            path = layout.data_file(found.info, *(int(x) for x in pair.item()))
        except InputError:
            wrong += members
            continue
        footer = known.get(path.resolve())
        if footer is not None:
            wrong += [e for e in members if not footer.holds(e)]
        elif not path.is_file():
            missing += members
    wrong, missing = sorted(wrong), sorted(missing)
    if wrong:
        yield _finding(
            "file_index", "error",
            f"the table names a data file for episode {wrong[0]} that does not hold it", wrong,
        )  # fmt: skip
    if missing:
        yield _finding(
            "missing_file", "error", f"the data file of episode {missing[0]} is not there", missing,
            fix="Copy the dataset again.",
        )  # fmt: skip


def _lengths(found: Tables, summary: Summary) -> Iterator[Finding]:
    """Lengths that the table tells against the rows that are there."""
    if found.places is None or len(found.places) != len(summary.frames):
        return
    told, there = found.places["length"], np.array(summary.frames)
    wrong = np.flatnonzero(told != there)
    if len(wrong):
        e = wrong[0]
        yield _finding(
            "episode_boundary", "error",
            f"the table says {told[e]} frames for episode {e}, and {there[e]} rows are there",
            wrong,
        )  # fmt: skip


def _schemas(found: Tables) -> Iterator[Finding]:
    """Files whose columns or types differ from the first file's."""
    if len(found.footers) < 2:
        return
    first = found.footers[0]
    for footer in found.footers[1:]:
        odd = sorted(
            k for k in {*first.schema, *footer.schema}
            if first.schema.get(k) != footer.schema.get(k)
        )  # fmt: skip
        if odd:
            key = odd[0]
            yield _finding(
                "schema_drift", "error",
                f"{footer.name} has {footer.schema.get(key, 'no such column')}, and {first.name} "
                f"has {first.schema.get(key, 'no such column')}", feature=key,
                fix="Write all files with one set of columns.",
            )  # fmt: skip
            return


def _stats(found: Tables, summary: Summary) -> Iterator[Finding]:
    """stats.json against the rows: a policy is normalised with it."""
    path = found.info.path / layout.STATS
    if not path.is_file() or summary.bad:  # what is no number counts in nobody's statistics
        return
    try:
        told = read_json(path, dict[str, dict[str, object]])
    except InputError as error:
        yield _finding("table_broken", "error", str(error).split("\n")[0])
        return
    for feature in summary.features:
        stated = told.get(feature.key)
        if stated is None or len(feature.index) < len(summary.frames):
            continue
        for name, value in _pooled(feature).items():
            said = _numbers(stated.get(name), len(value))
            if said is None:
                continue
            scale = np.maximum(np.abs(value), _pooled(feature)["std"]) + 1e-9
            off = np.abs(said - value) / scale
            if np.nanmax(off, initial=0) > _ROUNDED:
                d = int(np.nanargmax(off))
                yield _finding(
                    "stats_mismatch", "error",
                    f"stats.json says {name} {said[d]:.6g}, and the rows say {value[d]:.6g}",
                    feature=feature.labels[d],
                    fix="Take the statistics afresh: a policy would be normalised with wrong ones. "
                    + _AGAIN,
                )  # fmt: skip
                break


def _pooled(feature: Columns) -> dict[str, np.ndarray]:
    """min, max, mean and standard deviation over all rows, of those of the episodes."""
    weight = feature.length / feature.length.sum()
    mean = feature.mean.astype(np.float64) @ weight
    square = feature.sd.astype(np.float64) ** 2 + (feature.mean - mean[:, None]) ** 2
    return {
        "min": feature.low.min(axis=1).astype(np.float64),
        "max": feature.high.max(axis=1).astype(np.float64),
        "mean": mean,
        "std": np.sqrt(square @ weight),
    }


def _numbers(value: object, width: int) -> np.ndarray | None:
    try:
        found = np.ravel(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        return None
    return found if len(found) == width else None
