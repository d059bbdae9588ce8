"""What checking a set costs: CPU-seconds and memory of whole commands, start-up included.

Each command runs in a process of its own, one thread, and the kernel's account of it
(rusage) is what is reported: ours and the peers' in turn, the median of several runs.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._logs_set import FRAMES, WIDTH, write_set
from benchmarks.harness import Cell, Result, markdown

PEERS = {
    "robot-report-card 0.1.0": ("robot-report-card", "score"),
    "robovet 0.2.2": ("robovet", "doctor"),
    "rdq 0.3.4": ("rdq", "check"),
    "lerobot-doctor 0.2.0": ("lerobot-doctor", "check"),
}
"""Name and version to the command before the path; the fastest of the field in our notes."""


def cells(quick: bool) -> list[Cell]:
    """Ours at three lengths, each peer at one."""
    lengths = (500,) if quick else (500, 5000, 50000)
    found = [
        Cell(name=f"ours-{n}", parameters={"episodes": n, "tool": "", "runs": 5 if n == 500 else 1})
        for n in lengths
    ]
    peers = [
        Cell(name=p.split()[0], parameters={"episodes": 500, "tool": p, "runs": 3}) for p in PEERS
    ]
    return found + ([] if quick else peers)


def run(cell: Cell) -> dict[str, Any]:
    """Median CPU-seconds and the largest peak memory; ours beside each peer, in turn."""
    p = cell.parameters
    with tempfile.TemporaryDirectory() as folder:
        path, log = write_set(Path(folder) / "set", p["episodes"]), Path(folder) / "log"
        mine, theirs = [], []
        for _ in range(p["runs"]):
            mine.append(ours(path, log))
            if p["tool"]:
                command = peer(*PEERS[p["tool"]])
                if command is None:
                    return {"absent": True}
                theirs.append(cost([*command, str(path)], log))
    return {"ours": _figures(mine), "theirs": _figures(theirs) if theirs else None}


def table(results: list[Result]) -> str:
    """One row a set and tool."""
    rows: list[list[str]] = []
    for r in results:
        p, v = r.cell.parameters, r.values
        size = f"{p['episodes']:,}"
        if v.get("absent"):
            rows.append([p["tool"], size, "not here", "", "", ""])
            continue
        told = v["theirs"] or v["ours"]
        ratio = f"{told['cpu'] / v['ours']['cpu']:.1f}" if v["theirs"] else ""
        rows.append([
            p["tool"] or "gaploop check", size, f"{told['cpu']:.2f}", f"{told['rss']:.0f}", ratio,
            str(told["code"]),
        ])  # fmt: skip
    header = ["command", "episodes", "CPU-s", "peak MiB", "times ours", "exit code"]
    note = (
        f"Whole commands, start-up included, on sets of {FRAMES} frames an episode, {WIDTH} "
        f"commands and {WIDTH} readings, no video. Aim: 500 episodes in 1.0 CPU-s, 350 MiB at any "
        "length, twice as fast as the fastest peer."
    )
    return f"## What checking costs\n\n{note}\n\n{markdown(header, rows)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one command took."""

    cpu: float
    """CPU-seconds, its children's too."""
    rss: float
    """Peak resident memory, MiB."""
    code: int
    """Exit code."""


def cost(command: Sequence[str], log: Path) -> Cost:
    """Runs a command on one thread; its output goes to `log`."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with log.open("wb") as out:
        process = subprocess.Popen(
            list(command), stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **one}
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(
        cpu=used.ru_utime + used.ru_stime, rss=used.ru_maxrss / 1024, code=process.returncode
    )


def ours(path: Path, log: Path) -> Cost:
    """`gaploop check PATH --json`, as a user would call it."""
    main = "import sys; from gaploop.cli import main; sys.exit(main(sys.argv[1:]))"
    return cost([sys.executable, "-c", main, "check", str(path), "--json"], log)


def peer(name: str, *words: str) -> list[str] | None:
    """The command of a peer in its own environment, None where there is none."""
    program = Path(os.environ.get("GAPLOOP_PEERS", "")) / "qa" / "bin" / name
    return [str(program), *words] if program.is_file() else None


def _figures(costs: Sequence[Cost]) -> dict[str, float]:
    return {
        "cpu": statistics.median(c.cpu for c in costs),
        "rss": max(c.rss for c in costs),
        "code": costs[-1].code,
    }
