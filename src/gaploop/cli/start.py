"""First verbs: init, doctor, demo."""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Annotated

import tyro

from gaploop.cli.console import Console, inside
from gaploop.core import UsageError, registry

TOML = """\
# gaploop.toml: what this workcell works on. Every key below has this value by default;
# a stage's own settings are sections, such as [train] steps = 1200.
# `gaploop doctor` checks it.

task = {task}  # a registered task, or "module:Attr" of your own (gaploop init --task my_task.py)
field = {field}  # lab-mix:SEED (a stand-in), inbox:FOLDER, or command:SHELL LINE
seed = {seed}  # of everything that is drawn
rounds = 3
trials = 20  # field episodes a round
"""


def _toml(task: str, field: str, seed: int) -> str:
    # a JSON string is a TOML basic string: quotes and backslashes of a shell line survive
    return TOML.format(task=json.dumps(task), field=json.dumps(field), seed=seed)


def _try(task: str, field: str) -> None:
    """Refuse a task or a field that cannot be made, before a workcell of them is."""
    from gaploop.config import LoopConfig
    from gaploop.wiring import field_of

    registry.make("tasks", task)
    field_of(LoopConfig(task=task, field=field))


@dataclass(frozen=True, slots=True, kw_only=True)
class Init:
    """Make a workcell, or with --task a commented template of your own task."""

    path: Annotated[Path, tyro.conf.Positional] = Path()
    """Folder of the workcell; made if it does not exist."""
    task: Path | None = None
    """Write a task template to this file instead."""
    use: str = "peg"
    """Task of the workcell."""
    field: str = "lab-mix:0"
    """Field of the workcell: lab-mix:SEED, inbox:FOLDER or command:SHELL LINE."""
    seed: int = 0
    """Seed of everything that is drawn."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        out = Console(self.json)
        if self.task is not None:
            return self._template(self.task, out)
        from gaploop.store import Workcell

        text = _toml(self.use, self.field, self.seed)
        _try(self.use, self.field)
        with Workcell.create(self.path, text) as cell:
            out.say(f"wrote {cell.path / 'gaploop.toml'}")
            at = inside(self.path)
            out.say(f"next: gaploop doctor{at}, then gaploop loop{at}")
            out.result({"workcell": cell.path})
        return 0

    def _template(self, path: Path, out: Console) -> int:
        if path.exists():
            raise UsageError(f"{path} exists.", hint="Name a file that does not.")
        template = resources.files("gaploop.tasks.template").joinpath("task.py.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template.read_text(encoding="utf-8"), encoding="utf-8")
        name = path.stem
        out.say(f"wrote {path}: a task that runs as it is; its comments say what to change")
        out.say(f"next: python {path}, then gaploop init cell --use {name}:MyTask")
        out.result({"template": path})
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor:
    """Look whether this machine, and the workcell if there is one, have what the loop needs."""

    workcell: Path = Path()
    """Folder to look at."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        out = Console(self.json)
        rows = [*_machine(), *_plugins()]
        if (self.workcell / "gaploop.toml").exists():
            rows += _workcell(self.workcell)
        elif self.workcell != Path():
            rows.append(
                ("workcell", False, f"{self.workcell} is none; make one with: gaploop init")
            )
        for name, ok, text in rows:
            out.say(f"{'ok ' if ok else 'BAD'} {name:<12} {text}")
        bad = [r for r in rows if not r[1]]
        following = "demo"
        if (self.workcell / "gaploop.toml").exists():
            following = f"loop{inside(self.workcell)}"
        mend = f"to mend: {', '.join(r[0] for r in bad)}; see above"
        out.say(mend if bad else f"next: gaploop {following}")
        out.result({"checks": [{"name": n, "ok": o, "text": t} for n, o, t in rows]})
        return 1 if bad else 0


def _machine() -> list[tuple[str, bool, str]]:
    version = sys.version_info
    rows = [("python", (3, 11) <= version < (3, 14), f"{version.major}.{version.minor}"),
            ("cores", True, str(os.cpu_count()))]  # fmt: skip
    for package, extra in (("mujoco", ""), ("numpy", ""), ("onnxruntime", ""), ("torch", "train"),
                           ("onnx", "train")):  # fmt: skip
        try:
            rows.append((package, True, metadata.version(package)))
        except metadata.PackageNotFoundError:
            install = f"pip install 'gaploop[{extra}]'" if extra else "pip install gaploop"
            rows.append((package, False, f"not installed; needed to train: {install}"))
    return rows


def _plugins() -> list[tuple[str, bool, str]]:
    rows: list[tuple[str, bool, str]] = []
    for group in ("tasks", "readers", "fields"):
        for name in registry.names(group):
            try:
                registry.load(group, name)
            except UsageError as error:
                rows.append((name, False, str(error)))
        rows.append((group, True, ", ".join(registry.names(group))))
    return rows


def _workcell(path: Path) -> list[tuple[str, bool, str]]:
    from gaploop.config import LoopConfig, load
    from gaploop.core import GaploopError
    from gaploop.store import Workcell
    from gaploop.wiring import field_of

    rows: list[tuple[str, bool, str]] = []
    try:
        config = load(path / "gaploop.toml", LoopConfig)
        rows.append(("gaploop.toml", True, f"task {config.task}, field {config.field}"))
        registry.make("tasks", config.task)
        field_of(config)
        with Workcell.open(path) as cell:
            rows.append(("ledger", True, f"{len(cell.ledger.runs())} stage runs"))
    except GaploopError as error:
        rows.append(("workcell", False, str(error)))
    free = shutil.disk_usage(path).free / 1e9
    rows.append(("disk", free > 1, f"{free:.1f} GB free"))
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """Three rounds of peg insertion against a stand-in robot whose truth the loop cannot see.

    The policy is trained in the plain simulator, fails on the stand-in, and the
    loop explains, calibrates, reproduces, trains and examines until it does not.
    """

    path: Annotated[Path, tyro.conf.Positional] = Path("demo")
    """Folder of the workcell; an unfinished demo is resumed."""
    field: str = "lab-mix:7"
    """Which stand-in; another seed is another robot."""
    seed: int = 0
    """Seed of everything that is drawn."""
    rounds: int = 3
    """Rounds to run."""
    threads: int = 2
    """Threads of the simulation; results are the same for any number."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def run(self) -> int:
        from gaploop.cli.rounds import Loop
        from gaploop.config import LoopConfig, load
        from gaploop.store import Workcell

        out = Console(self.json)
        if not (self.path / "gaploop.toml").exists():
            _try("peg", self.field)
            text = _toml("peg", self.field, self.seed)
            Workcell.create(self.path, text).close()
        # a demo that is resumed keeps its robot, whatever --field says now
        config = load(self.path / "gaploop.toml", LoopConfig)
        out.say(
            f"{config.task} against {config.field}, a stand-in: everything here is sim-to-sim;"
            " a round takes about half a minute on two free cores"
        )
        out.say()
        return Loop(
            workcell=self.path, rounds=self.rounds, threads=self.threads, json=self.json
        ).run()
