"""Runs a benchmark's grid cell by cell, remembers each, prints the table.

`python -m benchmarks NAME` runs the cells that no earlier run finished and writes the
table to benchmarks/results/NAME.md (NAME.quick.md with QUICK=1). A cell's result stands in
benchmarks/.cache/NAME/ under the digest of its parameters, of all of src/gaploop, of the
benchmark's own file and of the versions of the libraries that decide a figure: a figure
that stands in a table was measured with the code that stands beside it. A kill loses the
cell it hit and nothing else.
"""

import hashlib
import importlib
import json
import os
import platform
import resource
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import tyro

from gaploop.core.digest import digest
from gaploop.core.errors import GaploopError, UnknownNameError, UsageError
from gaploop.run import Processes, Serial

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src" / "gaploop"
_DECISIVE = ("mujoco", "numpy", "scipy", "cma", "onnxruntime", "torch", "gymnasium")
"""Libraries whose version is part of a cell's key."""
_NO_BENCH = {"harness", "pictures", "__init__", "__main__"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of the grid."""

    name: str
    """Unique in the benchmark; `--only` matches a part of it."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """All that decides the result, as JSON values."""
    cost: float = 0.0
    """CPU-seconds it is thought to take, for the estimate; 0 where nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A finished cell."""

    cell: Cell
    values: dict[str, Any]
    """What `run` returned."""
    wall: float
    """Seconds."""
    cpu: float
    """CPU-seconds of this process and the children it waited for."""


class Bench(Protocol):
    """What a module benchmarks/NAME.py declares. `WORKERS`, if it is there, is the number of
    cells that run at a time: more than 1 only where a cell uses one core. `picture`, if it is
    there, draws the results as SVG, to stand beside the table."""

    def cells(self, quick: bool) -> list[Cell]: ...
    def run(self, cell: Cell) -> dict[str, Any]: ...
    def table(self, results: list[Result]) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Run one benchmark's missing cells and print its table."""

    name: tyro.conf.Positional[str] = ""
    """The benchmark; without one, they are listed."""
    only: str = ""
    """Run only cells whose name contains this; then no results file is written."""
    fresh: bool = False
    """Measure cells again that are already there."""
    workers: int = 0
    """Cells that run at a time, each in a process of its own; 0 is what the benchmark says."""


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 done, 1 a cell failed, 2 usage."""
    options = tyro.cli(Options, args=argv, prog="python -m benchmarks")
    try:
        return bench(options, quick=os.environ.get("QUICK", "0") not in ("", "0"))
    except GaploopError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def bench(options: Options, *, quick: bool, folder: Path = HERE) -> int:
    """One benchmark from the grid to the table."""
    module = load(options.name)
    grid = _checked(module.cells(quick), options.name)
    wanted = [c for c in grid if options.only in c.name]
    if not wanted:
        listing = ", ".join(c.name for c in grid)
        raise UsageError(f"No cell contains {options.only!r}.", hint=f"Cells: {listing}.")
    store = folder / ".cache" / options.name
    results = measure(
        module, wanted, store, source_digest(options.name), fresh=options.fresh,
        workers=options.workers or getattr(module, "WORKERS", 1), name=options.name,
    )  # fmt: skip
    done = [r for r in results if r is not None]
    if len(done) < len(wanted):
        _say(f"{len(wanted) - len(done)} of {len(wanted)} cells failed: no table")
        return 1
    page = render(module, done, options.name, quick)
    print(page)
    if options.only:
        _say("a part of the grid: the results file stays as it is")
        return 0
    target = folder / "results" / f"{options.name}{'.quick' if quick else ''}.md"
    write_atomically(target, page)
    _say(f"wrote {target}")
    draw = getattr(module, "picture", None)
    if draw is not None:
        write_atomically(target.with_suffix(".svg"), draw(done))
        _say(f"wrote {target.with_suffix('.svg')}")
    return 0


def measure(
    module: Bench, cells: Sequence[Cell], store: Path, source: str, *, fresh: bool = False,
    workers: int = 1, name: str = "",
) -> list[Result | None]:  # fmt: skip
    """Results in the order of `cells`; None for a cell that failed, which is told on stderr.

    workers: cells run at a time, by processes of their own that load the benchmark `name`.
    """
    paths = [store / f"{digest(c.name, c.parameters, source)}.json" for c in cells]
    done: set[int] = set()
    jobs: list[_Job] = []
    for i, (cell, path) in enumerate(zip(cells, paths, strict=True)):
        line = f"[{i + 1}/{len(cells)}] {cell.name}"
        known = None if fresh else _read(path, cell)
        if known is None:
            jobs.append(_Job(index=i, cell=cell, path=path, line=line, bench=name))
            continue
        _say(f"{line}: known, {known.wall:.1f} s wall, {known.cpu:.1f} CPU-s")
        done.add(i)
    _estimate(jobs, workers)
    if workers > 1 and len(jobs) > 1:
        # the long ones first, so that no worker is left with one at the end
        jobs.sort(key=lambda job: -job.cell.cost)
        ended = Processes(workers).map(_elsewhere, jobs)
    else:
        ended = Serial().map(lambda job: _attempted(module, job), jobs)
    done |= {job.index for job, good in zip(jobs, ended, strict=True) if good}
    # what a later run would read: a value that JSON changes shows at once
    return [_read(paths[i], cell) if i in done else None for i, cell in enumerate(cells)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A cell to be measured."""

    index: int
    cell: Cell
    path: Path
    line: str
    bench: str


def _elsewhere(job: _Job) -> bool:
    """`_attempted` in a process of its own."""
    return _attempted(load(job.bench), job)


def _attempted(module: Bench, job: _Job) -> bool:
    """Measure one cell and remember it; False where it failed."""
    _say(f"{job.line} ...")
    try:
        found = _timed(module, job.cell)
        write_atomically(job.path, _text(found))
    except Exception:
        _say(f"{job.line} failed:\n{traceback.format_exc()}")
        return False
    _say(f"{job.line}: {found.wall:.1f} s wall, {found.cpu:.1f} CPU-s")
    return True


def _estimate(jobs: Sequence[_Job], workers: int) -> None:
    """Says beforehand what a run is thought to cost, where the benchmark says it."""
    cost = sum(job.cell.cost for job in jobs)
    if cost:
        _say(
            f"{len(jobs)} cells to measure, by estimate {cost:.0f} CPU-s: "
            f"{cost / workers / 60:.0f} min with {workers} at a time"
        )


def render(module: Bench, results: list[Result], name: str, quick: bool) -> str:
    """The page: command, machine, the benchmark's table, costs a cell."""
    command = f"{'QUICK=1 ' if quick else ''}make bench NAME={name}"
    costs = [[r.cell.name, f"{r.wall:.1f}", f"{r.cpu:.1f}"] for r in results]
    total = ["total", f"{sum(r.wall for r in results):.1f}", f"{sum(r.cpu for r in results):.1f}"]
    parts = [
        f"# {name}",
        f"`{command}`",
        _machine(),
        module.table(results).strip(),
        "What each cell cost:",
        markdown(["cell", "wall s", "CPU-s"], [*costs, total]),
    ]
    return "\n\n".join(parts) + "\n"


def markdown(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A plain table, aligned for reading as text; columns of numbers to the right."""
    text = [[str(v) for v in row] for row in rows]
    if any(len(row) != len(header) for row in text):
        raise ValueError(f"every row needs {len(header)} columns")
    columns = list(zip(*text, strict=True)) if text else [()] * len(header)
    widths = [
        max(3, len(h), *(len(v) for v in column)) for h, column in zip(header, columns, strict=True)
    ]
    right = [bool(column) and all(_numeric(v) for v in column) for column in columns]

    def line(values: Sequence[str]) -> str:
        padded = (
            v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = ("-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True))
    return "\n".join([line(header), f"| {' | '.join(rule)} |", *(line(row) for row in text)])


def load(name: str) -> Bench:
    """The module of a benchmark.

    Raises:
      UnknownNameError: with the closest name and all of them.
    """
    known = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in _NO_BENCH)
    known = [k for k in known if not k.startswith("_")]
    if name not in known:
        raise UnknownNameError("benchmark", name, known)
    module: Any = importlib.import_module(f"benchmarks.{name}")
    lacking = [f for f in ("cells", "run", "table") if not callable(getattr(module, f, None))]
    if lacking:
        raise UsageError(f"benchmarks/{name}.py lacks {' and '.join(lacking)}.")
    return module


def source_digest(name: str, source: Path = SOURCE, here: Path = HERE) -> str:
    """Digest of everything a figure of this benchmark rests on.

    Helpers in benchmarks/ whose names begin with an underscore count for all.
    """
    files = [p for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    files += [here / f"{name}.py", *here.glob("_*.py")]
    h = hashlib.sha256()
    for path in sorted(set(files)):
        base = source if source in path.parents else here
        h.update(f"{base.name}/{path.relative_to(base)}\n".encode())
        h.update(hashlib.sha256(path.read_bytes()).digest())
    return digest(h.hexdigest(), platform.python_version(), {n: _version(n) for n in _DECISIVE})


def write_atomically(path: Path, text: str) -> None:
    """All of `text` at `path`, or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # one name a target: what a kill leaves behind, the next run overwrites
    draft = path.with_name(path.name + ".tmp")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _timed(module: Bench, cell: Cell) -> Result:
    wall, cpu = time.perf_counter(), cpu_seconds()
    values = module.run(cell)
    return Result(
        cell=cell, values=values, wall=time.perf_counter() - wall, cpu=cpu_seconds() - cpu
    )


def cpu_seconds() -> float:
    """CPU-seconds so far, of this process and the children it waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _text(result: Result) -> str:
    data = {
        "cell": result.cell.name,
        "parameters": dict(result.cell.parameters),
        "values": result.values,
        "wall": result.wall,
        "cpu": result.cpu,
    }
    return json.dumps(data, indent=1, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a cell returned a {type(value).__name__}, which JSON cannot hold")


def _read(path: Path, cell: Cell) -> Result | None:
    """A remembered result; None where there is none or it cannot be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Result(cell=cell, values=data["values"], wall=data["wall"], cpu=data["cpu"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _checked(cells: list[Cell], name: str) -> list[Cell]:
    names = [c.name for c in cells]
    double = sorted({n for n in names if names.count(n) > 1})
    if double or not cells:
        what = f"has two cells named {double[0]!r}" if double else "has no cells"
        raise UsageError(f"benchmarks/{name}.py {what}.")
    return cells


def _machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = ", ".join(f"{n} {_version(n)}" for n in _DECISIVE if _version(n))
    return f"{cores} cores, Python {platform.python_version()}, {libraries}."


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _numeric(text: str) -> bool:
    try:
        float(text.rstrip("%"))
    except ValueError:
        return text in ("", "-")
    return True


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
