"""Verbs that look at what is stored: show, log, replay."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from gaploop.cli.console import Console, inside
from gaploop.cli.shown import LINES
from gaploop.core import (
    Curation,
    Decision,
    Diagnosis,
    Exam,
    Posterior,
    Reproduction,
    short,
)
from gaploop.generate.gate import GateReport
from gaploop.ingest import Screened
from gaploop.store import Workcell

TYPES: dict[str, Any] = {
    "posterior": Posterior,
    "aimed": Posterior,
    "diagnoses": tuple[Diagnosis, ...],
    "reproductions": tuple[Reproduction, ...],
    "curation": Curation,
    "exam": Exam,
    "decision": Decision,
    "screened": Screened,
    "gates": GateReport,
    "training": dict[str, Any],
}
"""What lies behind a name; anything else is a dataset, a policy or an episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """Show one stored thing."""

    ref: Annotated[str, tyro.conf.Positional] = "last"
    """A name (posterior@r2, decision@r1), an episode (ep:3f2a), or last."""
    workcell: Path = Path()
    """Folder with a gaploop.toml."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        from gaploop.cli.story import story, summary
        from gaploop.loop import current

        out = Console(self.json)
        with Workcell.open(self.workcell) as cell:
            if self.ref == "last":
                number = current(cell)
                if f"field@r{number}" not in cell.ledger.refs():  # not begun: the one before
                    number = max(number - 1, 0)
                for line in story(cell, number):
                    out.say(line)
                if not number:
                    out.say("no round is finished yet")
                    out.say(f"next: gaploop loop{inside(self.workcell)}")
                out.result(summary(cell, number))
                return 0
            digest = cell.ledger.resolve(self.ref)
            kind = _kind(cell, self.ref, digest)
            if kind in TYPES:
                value = cell.objects.get(digest, TYPES[kind])
                if kind in LINES:
                    for line in LINES[kind](value):
                        out.say(line)
                else:
                    _tree(out, value)
            elif (run := cell.ledger.find(digest)) is not None:
                value = run
                _tree(out, value)
            elif cell.ledger.find_episode(digest) is not None:
                value = _episode(cell, digest, out)
            else:
                value = _stored(cell, digest, out)
            out.result({"ref": self.ref, "digest": digest, "value": value})
        return 0


def _kind(cell: Workcell, ref: str, digest: str) -> str:
    """What a reference is of: by its own name, or by a name that was given to the digest."""
    named = [ref, *(name for name, value in cell.ledger.refs().items() if value == digest)]
    made = [name for run in cell.ledger.runs() for name, d in run.outputs.items() if d == digest]
    kinds = [*(name.partition("@")[0] for name in named), *made]
    return next((kind for kind in kinds if kind in TYPES), "")


def _tree(out: Console, value: Any, indent: int = 0) -> None:
    """A stored value as indented lines; arrays by shape, long sequences by their length."""
    from gaploop.cli.console import plain

    def walk(name: str, item: Any, depth: int) -> None:
        pad = "  " * depth
        if isinstance(item, dict):
            out.say(f"{pad}{name}")
            for key, inner in item.items():
                walk(key, inner, depth + 1)
        elif isinstance(item, list) and len(item) > 12:
            out.say(f"{pad}{name}: {len(item)} values")
        elif isinstance(item, list) and any(isinstance(i, (dict, list)) for i in item):
            for i, inner in enumerate(item):
                walk(f"{name}[{i}]", inner, depth)
        else:
            out.say(f"{pad}{name}: {item}")

    data = plain(value)
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, inner in items:
        walk(str(key), inner, indent)


def _episode(cell: Workcell, digest: str, out: Console) -> dict[str, Any]:
    episode = cell.episode(digest)
    out.say(f"episode {short(episode.id)}  {episode.world} {episode.origin}  task {episode.task}")
    for signal in episode.signals.values():
        columns = ", ".join(signal.columns)
        out.say(f"  {signal.name:<32} {signal.values.shape} {signal.unit}  {columns}")
    labels = [*episode.facts, *cell.ledger.labels(episode.id)]
    for label in labels:
        out.say(f"  {label.key}: {label.value}  ({label.author})")
    return {"id": episode.id, "labels": labels, "signals": list(episode.signals)}


def _stored(cell: Workcell, digest: str, out: Console) -> dict[str, Any]:
    rows = cell.ledger.episodes(digest)
    if rows:
        out.say(f"dataset {short(digest)}: {len(rows)} episodes in {cell.dataset(digest)}")
        for row in rows:
            outcome = {True: "success", False: "failure", None: "not judged"}[row.success]
            out.say(f"  ep:{short(row.id)}  {row.length} frames  {outcome}")
        return {"path": cell.dataset(digest), "episodes": rows}
    path = cell.objects.tree(digest)
    out.say(f"folder {short(digest)} at {path}")
    for file in sorted(path.iterdir()):
        out.say(f"  {file.name}  {file.stat().st_size} bytes")
    return {"path": path}


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What ran, in order: stage, time, from what to what."""

    workcell: Path = Path()
    """Folder with a gaploop.toml."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        out = Console(self.json)
        with Workcell.open(self.workcell) as cell:
            runs = cell.ledger.runs()
            # equal results share a digest: the k-th run that made one is its k-th name
            names: dict[tuple[str, str], list[str]] = {}
            for name, value in cell.ledger.refs().items():
                names.setdefault((name.partition("@")[0], value), []).append(name)

            def named(made: str, digest: str) -> str:
                left = names.get((made, digest), [f"{made}:{short(digest)}"])
                return left.pop(0) if len(left) > 1 else left[0]

            for run in runs:
                when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started))
                made = " ".join(named(k, v) for k, v in run.outputs.items()) or "nothing new"
                out.say(f"{when}  {run.stage:<10} {run.wall:7.1f} s  -> {made}")
            if not runs:
                out.say("nothing ran yet")
            following = "show last" if runs else "loop"
            out.say(f"next: gaploop {following}{inside(self.workcell)}")
            out.result({"runs": runs})
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Run a stored simulated attempt again: bit-equal, within tolerance, or different.

    An attempt of a robot or a stand-in has no stored world; its reproductions do
    (gaploop show reproductions@r1).
    """

    ref: Annotated[str, tyro.conf.Positional]
    """An episode: ep:3f2a."""
    workcell: Path = Path()
    """Folder with a gaploop.toml."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        from gaploop.config import LoopConfig, load
        from gaploop.core import registry
        from gaploop.sim import World
        from gaploop.sim.again import again

        out = Console(self.json)
        config = load(self.workcell / "gaploop.toml", LoopConfig)
        with Workcell.open(self.workcell) as cell:
            episode = cell.episode(cell.ledger.resolve(self.ref))
        world = World(registry.make("tasks", config.task))
        verdict, worst = again(world, episode)
        out.say(f"ep:{short(episode.id)}: {verdict} (largest difference {worst:.3g})")
        out.result({"episode": episode.id, "verdict": verdict, "largest_difference": worst})
        return 0 if verdict != "different" else 1
