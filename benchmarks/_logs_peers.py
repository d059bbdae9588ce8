"""Other tools on the same planted defects, written as plain LeRobot v3.0 folders.

    python -m benchmarks._logs_peers --bin VENV/bin --out FOLDER

Each tool runs with its default command on a healthy set and on each defect at middle
severity. A tool names a defect if a line that it does not print about the healthy set
speaks of the fault in words of WORDS: generous, since which episodes it names does not
count. Our own row is held to the same folder without our sidecar, and to its own codes.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gaploop.ingest import screen
from gaploop.ingest.readers.lerobot import LeRobotReader
from gaploop.store.datasets_write import write_dataset
from gaploop.testing.clean_sets import CleanSet, clean_set
from gaploop.testing.defects import defective, kinds
from gaploop.testing.shapes import SHAPES

COMMANDS = {
    "rdq": ("rdq", "check"),
    "robovet": ("robovet", "doctor"),
    "lerobot-doctor": ("lerobot-doctor", "check"),
    "calibra": ("calibra",),
    "adduct": ("adduct", "scan"),
}
WORDS = {
    "nan": r"\bnans?\b|non-?finite|missing value",
    "inf": r"\binf|non-?finite",
    "timestamp_order": r"monoton|backward|out.of.order|not sorted|duplicate.*time",
    "timestamp_gap": r"\bgaps?\b|\bhole|dropped frame|missing frame|frame drop|timestamp",
    "timestamp_jitter": r"jitter|irregular|timestamp|timing",
    "clock_skew": r"skew|drift|fps|\brate\b|timestamp",
    "fps_mismatch": r"fps|\brate\b|timestamp|\bhz\b",
    "frozen_signal": r"froz|freez|stuck|stale|flatline|static|repeated|constant|stall",
    "constant_dimension": r"constant|dead|zero.variance|never (move|change)|flat|static|stuck",
    "reading_jump": r"jump|spike|outlier value|discontinu|leap|glitch|wrap|teleport",
    "action_jump": r"jump|spike|outlier value|discontinu|leap|glitch|jerk",
    "quaternion_norm": r"quat|unit.norm|unit.length|\bnorm\b",
    "quaternion_sign": r"quat|\bsign\b|hemisphere|double.cover|jump|discontinu",
    "quaternion_order": r"quat|wxyz|xyzw",
    "integer_wrap": r"\bwrap|overflow|unsigned|uint",
    "gripper_polarity": r"polarit|invert|opposite|flipped",
    "joint_sign": r"\bsign\b|invert|mirror|anti-?correl|negative corr|opposite|flipped",
    "joint_swap": r"swap|permut|crossed|order of (joint|col)",
    "unit_mismatch": r"\bunits?\b|degree|radian|\bscales?\b|millim|magnitude",
    "action_lag": r"\blag|delay|latency|misalign|desync|shift",
    "action_offset": r"\blag|delay|latency|misalign|desync|shift|off.by.one|causal",
    "action_mode": r"\bdelta\b|absolute|action (mode|space|type)",
    "control_rate": r"held|repeated|control rate|duplicate|stale|zero.order|\bhz\b",
    "saturation": r"satur|clipp|\blimits?\b",
    "joint_zero": r"\boffset|\bbias|zero.point|miscalib",
    "idle_frames": r"idle|static|still|no motion|inactive|pause",
    "duplicate_episode": r"duplic|identical|\bcop(y|ies)",
    "near_duplicate": r"duplic|identical|\bcop(y|ies)|near-dup|redundan|similar",
    "episode_length": r"short|episode length|truncat|\blong",
    "language_missing": r"(missing|no|empty).*(task|language|instruct)|task.*(missing|empty)",
}
LIMIT_S = 120


def write(s: CleanSet, path: Path) -> None:
    """A set as a plain LeRobot folder with its own stamps."""
    episodes = s.episodes()
    fps = s.shape.fps
    even = []
    for e in episodes:
        parts = {}
        for key, signal in e.signals.items():
            grid = np.arange(len(signal.times)) / fps
            values = signal.values.astype(np.float32)
            parts[key] = replace(signal, times=grid, values=values)
        even.append(replace(e, signals=parts))
    write_dataset(path, even, fps=fps, robot=s.shape.name, finite=False)
    stamps = np.concatenate([t.times for t in s.takes]).astype(np.float32)
    at = 0
    for file in sorted((path / "data").rglob("*.parquet")):
        table = pq.read_table(file)
        column = pa.array(stamps[at : at + len(table)])
        where = table.schema.get_field_index("timestamp")
        pq.write_table(table.set_column(where, "timestamp", column), file)
        at += len(table)
    shutil.rmtree(path / "meta" / "gaploop")


def lines(text: str) -> set[str]:
    """Lines of a report without figures, so that only what is new stands out."""
    plain = {re.sub(r"[\d.,%+-]+", "#", x).strip().lower() for x in text.splitlines()}
    return {x for x in plain if x and "pass" not in x}


def run(tool: Path, words: Sequence[str], path: Path) -> str:
    """Everything a tool prints about a folder, or why it did not."""
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "COLUMNS": "200",
           "OMP_NUM_THREADS": "1"}  # fmt: skip
    try:
        done = subprocess.run(
            [str(tool / words[0]), *words[1:], str(path)],
            capture_output=True, text=True, timeout=LIMIT_S, env=env, cwd=path.parent,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timed out"
    return done.stdout + done.stderr


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bin", type=Path, required=True, help="where the tools are installed")
    parser.add_argument("--out", type=Path, required=True, help="folder for sets and reports")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--episodes", type=int, default=16)
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    healthy: dict[tuple[str, str], set[str]] = {}
    sets = {shape: clean_set(shape, args.seed, args.episodes) for shape in SHAPES}
    for shape in ("arm", "pose"):
        path = args.out / f"healthy-{shape}"
        if not path.exists():
            write(sets[shape], path)
        for name, words in COMMANDS.items():
            healthy[name, shape] = lines(_report(args, path, name, words))
    print("| defect | ours | " + " | ".join(COMMANDS) + " |")
    print("|---|---|" + "---|" * len(COMMANDS), flush=True)
    totals = dict.fromkeys(["ours", *COMMANDS], 0)
    count = 0
    for kind in kinds().values():
        if kind.code not in WORDS or kind.name in _UNSAID:
            continue
        shape = "arm" if "arm" in kind.shapes else "pose"
        bad, defect = defective(kind.name, "middle", shape, args.seed, sets[shape])
        path = args.out / f"set{count:02d}"  # a name that gives nothing away
        if not path.exists():
            write(bad, path)
        ours = _ours(path)
        row = {"ours": bool(ours & set(defect.accepted))}
        for name, words in COMMANDS.items():
            new = lines(_report(args, path, name, words)) - healthy[name, shape]
            row[name] = any(re.search(WORDS[kind.code], x) for x in new)
        count += 1
        for name, hit in row.items():
            totals[name] += hit
        print(f"| {kind.name} | " + " | ".join("Y" if h else "." for h in row.values()) + " |",
              flush=True)  # fmt: skip
    print(f"| of {count} | " + " | ".join(str(v) for v in totals.values()) + " |")


_UNSAID = ("two units declared", "degrees declared as radians", "control rate declared wrong")
"""Faults of declarations for which a plain LeRobot folder has no place."""


def _ours(path: Path) -> set[str]:
    found = screen(LeRobotReader(finite=False).read(path)).findings
    return {f.code for f in found if f.severity != "info"}


def _report(args, path: Path, name: str, words: Sequence[str]) -> str:
    kept = args.out / f"{path.name}.{name}.txt"
    if not kept.exists():
        kept.write_text(run(args.bin, words, path))
        print(f"{path.name} {name}", file=sys.stderr)
    return kept.read_text()


if __name__ == "__main__":
    main()
