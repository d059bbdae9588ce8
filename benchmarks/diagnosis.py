"""What does diagnosis bring, and is training spent where no training helps?

Each world is met by three loops that differ in what they make of the diagnosis: the loop as it
is; with every failure's cause exchanged for one its diagnosis did not name, so that the remedy
no longer follows the cause (`shuffled`); and with no use of it at all, where every failure
gets the same remedy, training, and all demonstrations begin at uniform starts instead of half
of them around the failures (`uniform`). All three calibrate. Success is measured in the
stand-in, on starts and noise that the three share. Differences are paired by seed, which is
world and training seed at once. Then what is to be mended and not trained on: run-time paths
with a planted fault, measured through the fault, and units off their zeros. Sim-to-sim.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._figures import percent, points
from benchmarks._looping import MEASURED, cost, history, settings
from benchmarks.harness import Cell, Result, cpu_seconds, markdown
from gaploop.config import LoopConfig
from gaploop.stats import Interval, paired_seeds, two_level
from gaploop.studies import field_success
from gaploop.studies import loop as run_loop

WORKERS = 2
AS_IS, SHUFFLED, UNIFORM, PLANTED = "as it is", "shuffled", "uniform", "planted"
WAYS = (AS_IS, SHUFFLED, UNIFORM)
INSTEAD = {SHUFFLED: "shuffled", UNIFORM: "alike"}
"""Way to what its loop is told in place of its diagnoses, in `studies.TOLD`."""
TASKS = ("peg", "slide")
WORLDS = ("lab-mix", "lab-d")
SEEDS = 5
ROUNDS = 2
"""A loop, so that all of them fit an hour."""
FAULTS = ("mm", "swapped", "flipped")
Count = tuple[int, int]
"""(k, n)."""


def cells(quick: bool) -> list[Cell]:
    if quick:
        return [
            *(_cell("peg", "lab-mix", 0, way) for way in WAYS),
            _cell("peg", "lab-a", 0, PLANTED, "mm"),
        ]
    return [
        *(
            _cell(task, family, seed, way)
            for task in TASKS
            for family in WORLDS
            for seed in range(SEEDS)
            for way in WAYS
        ),
        *(_cell("peg", "lab-a", seed, PLANTED, fault) for fault in FAULTS for seed in range(SEEDS)),
    ]


def _cell(task: str, family: str, seed: int, way: str, fault: str = "") -> Cell:
    world = f"{family}:{seed}{f'+{fault}' if fault else ''}"
    return Cell(
        name=f"{task}/{world}/{way}", cost=cost(task, family, ROUNDS),
        parameters={"task": task, "family": family, "seed": seed, "way": way, "rounds": ROUNDS,
                    "fault": fault},
    )  # fmt: skip


# -- a cell -------------------------------------------------------------------


def run(cell: Cell) -> dict[str, Any]:
    """k and n of the policy of each round, and what the loop said of itself."""
    given = dict(cell.parameters)
    config = configured(given)
    with tempfile.TemporaryDirectory() as scratch:
        folder, began = Path(scratch) / "cell", cpu_seconds()
        released = run_loop(config, folder, told=INSTEAD.get(given["way"], ""))
        spent = cpu_seconds() - began
        # each policy on the robots of the age at which it goes to work
        counts = [
            field_success(
                given["family"], given["seed"], given["task"], policy, MEASURED, given["seed"],
                round=k + 1, fault=given["fault"],
            )
            for k, policy in enumerate(released)
        ]  # fmt: skip
        found = {"k": [k for k, _ in counts], "n": [n for _, n in counts], "spent": spent}
        return found | history(folder, config.rounds)


def configured(given: dict[str, Any]) -> LoopConfig:
    """The loop's settings in a cell."""
    fault = f"+{given['fault']}" if given["fault"] else ""
    field = f"{given['family']}:{given['seed']}{fault}"
    config = settings(given["task"], field, given["seed"], given["rounds"])
    if given["way"] == UNIFORM:
        config = replace(config, generate=replace(config.generate, around=0.0))
    return config


# -- the table ----------------------------------------------------------------


def table(results: list[Result]) -> str:
    planted = _where(results, way=PLANTED)
    results = [r for r in results if r not in planted]
    parts = [" ".join((__doc__ or "").partition("\n\n")[2].split())]
    if results:
        parts += ["## The loop beside itself without the diagnosis", _beside(results)]
        parts += [part for part in (_overall(results),) if part]
    mended = {fault: _where(planted, fault=fault) for fault in _unique(planted, "fault")}
    mended |= {task: _where(results, task=task, family="lab-d", way=AS_IS) for task in TASKS}
    if any(mended.values()):
        parts += ["## What is to be mended and not trained on", _mended(mended)]
    parts += [_wasted([*results, *planted])]
    return "\n\n".join(parts)


def _beside(results: list[Result]) -> str:
    rows: list[list[str]] = []
    for task in _unique(results, "task"):
        for family in _unique(results, "family"):
            for way in WAYS:
                here = _where(results, task=task, family=family, way=way)
                if not here:
                    continue
                asis = _where(results, task=task, family=family, way=AS_IS)
                gap = "" if way == AS_IS else points(_change(here, asis))
                rows.append([
                    task, family, way, str(len(here)), percent(_rate(here, 0)),
                    percent(_rate(here, -1)), gap, *_training(here),
                    f"{np.mean([r.values['spent'] for r in here]):.0f}",
                ])  # fmt: skip
    header = ["task", "world", "diagnoses", "seeds", "round 0 %",
              "last round % [95 %, two-level]", "as it is less this, points [95 %, paired by seed]",
              "rounds that trained", "for", "mends", "CPU-s a seed"]  # fmt: skip
    return markdown(header, rows)


def _overall(results: list[Result]) -> str:
    """One line a way: the difference over all worlds of both tasks."""
    asis = _where(results, way=AS_IS)
    lines: list[str] = []
    for way in WAYS[1:]:
        here = _where(results, way=way)
        pairs = len(_paired(here, asis))
        if pairs:
            lines.append(
                f"- as it is less {way}: {points(_change(here, asis))} points over {pairs} pairs "
                "of loops"
            )
    return "\n".join(["Over all these worlds:\n", *lines]) if lines else ""


def _mended(worlds: dict[str, list[Result]]) -> str:
    """A row a fault of the path, by its name, and a task with units off their zeros."""
    rows: list[list[str]] = []
    for name, here in worlds.items():
        if not here:
            continue
        given = here[0].cell.parameters
        amiss = f"contract: {name}" if given["fault"] else "mechanical"
        named = Counter(c for r in here for one in r.values["causes"] for c in one)
        change = paired_seeds([_count(r, 0) for r in here], [_count(r, -1) for r in here])
        rows.append([
            amiss, given["task"], given["family"], str(len(here)), percent(_rate(here, 0)),
            percent(_rate(here, -1)), points(change), *_training(here), _counted(named),
        ])  # fmt: skip
    header = ["planted", "task", "world", "seeds", "before % [95 %, two-level]", "after %",
              "change, points [95 %, paired by seed]", "rounds that trained", "for", "mends",
              "causes named"]  # fmt: skip
    return markdown(header, rows)


def _wasted(results: list[Result]) -> str:
    """Trainings for what no training heals: by what the loop said, and by what was planted."""
    told = sum(
        bool({"contract", "mechanical"} & set(causes))
        for r in results
        for causes in r.values["trained"]
    )
    rounds = sum(len(r.values["trained"]) for r in results)
    parts = [f"Rounds that trained for a cause called contract or mechanical: {told}/{rounds}."]
    worlds = {
        "a planted contract fault": _where(results, way=PLANTED),
        "planted mechanical gaps (`lab-d`, as it is)": _where(results, family="lab-d", way=AS_IS),
    }
    for name, here in worlds.items():
        if here:
            trained, _, mends = _training(here)
            parts.append(f"Rounds that trained at all under {name}: {trained}, mends {mends}.")
    return " ".join(parts)


# -- inside -------------------------------------------------------------------


def _training(here: list[Result]) -> tuple[str, str, str]:
    """Rounds that trained of all, what for, and mends."""
    rounds = [one for r in here for one in r.values["training"]]
    what = Counter(c for r in here for causes in r.values["trained"] for c in causes)
    trained = sum(bool(t) for t, _ in rounds)
    return f"{trained}/{len(rounds)}", _counted(what), str(sum(m for _, m in rounds))


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{c} {n}" for c, n in sorted(found.items(), key=lambda x: (-x[1], x[0])))


def _change(before: list[Result], after: list[Result]) -> Interval:
    """The last round's rate of `after` less that of `before`, in the same worlds and seeds."""
    pairs = _paired(before, after)
    return paired_seeds([a for a, _ in pairs], [b for _, b in pairs])


def _paired(before: list[Result], after: list[Result]) -> list[tuple[Count, Count]]:
    known = {_world(r): _count(r, -1) for r in after}
    return [(_count(r, -1), known[_world(r)]) for r in before if _world(r) in known]


def _world(result: Result) -> tuple[Any, ...]:
    return tuple(result.cell.parameters[key] for key in ("task", "family", "seed", "rounds"))


def _count(result: Result, index: int) -> Count:
    return result.values["k"][index], result.values["n"][index]


def _rate(here: list[Result], index: int) -> Interval:
    counts = [_count(r, index) for r in here]
    return two_level([k for k, _ in counts], [n for _, n in counts])


def _where(results: Iterable[Result], **given: str) -> list[Result]:
    return [r for r in results if given.items() <= dict(r.cell.parameters).items()]


def _unique(results: list[Result], key: str) -> list[str]:
    return list(dict.fromkeys(r.cell.parameters[key] for r in results))
