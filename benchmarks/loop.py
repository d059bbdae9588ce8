"""Does the loop close gaps nobody showed it, and better than what people do today?

A cell is a task, a stand-in, a seed and a recipe. One seed is one stand-in and one
training seed at once. All recipes have the same history, network and gradient steps a
training, and as many demonstrations as the loop after its rounds; those that learn from
the field meet the loop's starts and noise there. Success is measured in the stand-in,
unhelped, on starts and noise that all recipes share. Sim-to-sim.
"""

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Cell, Result, cpu_seconds, markdown
from gaploop.calibrate.config import CalibrateConfig
from gaploop.config import LoopConfig
from gaploop.core import Curation, Diagnosis, Exam, Posterior, spawn
from gaploop.diagnose.config import DiagnoseConfig
from gaploop.stats import Interval, two_level, wilson
from gaploop.studies import RECIPES, field_success, fine_tuned, loop_fine_tuned, recipes
from gaploop.studies import loop as run_loop
from gaploop.train.config import TrainConfig

WORKERS = 2
TUNED = "loop, then fine-tuned"
MEASURED = 200
FAILURES = 4
"""Diagnosed a round."""
LOGS = 8
"""A posterior rests on, two fewer than by default: calibration is most of a loop's cost."""
WORLDS = {
    "peg": {"lab-a": 3, "lab-b": 5, "lab-c": 5, "lab-d": 5, "lab-e": 5, "lab-mix": 5, "lab-out": 3},
    "slide": {"lab-a": 3, "lab-b": 5, "lab-c": 5, "lab-mix": 5},
}
"""Task to family to seeds."""
WATCHED = {"lab-e": "supervisor"}
"""Families with somebody who takes over, in the field and where takeovers are counted."""
TRAIN = {"peg": TrainConfig(), "slide": TrainConfig(lr=3e-3, steps=2400)}
"""What a task needs to be learnt at all; the same for every recipe."""
TARGETS = {
    ("peg", "lab-b"): (95, 20), ("peg", "lab-c"): (95, 20), ("peg", "lab-mix"): (95, 20),
    ("peg", "lab-d"): (None, 20), ("peg", "lab-e"): (None, 15),
    ("slide", "lab-a"): (90, 15), ("slide", "lab-b"): (60, 15), ("slide", "lab-c"): (70, 15),
    ("slide", "lab-mix"): (85, 15),
}  # fmt: skip
"""(rate, points over the best rival), in per cent, set before the run."""
COST = {
    "peg": {"loop": 90.0, "fine-tuned": 16.0, "": 4.5},
    "slide": {"loop": 132.0, "fine-tuned": 26.0, "": 11.0},
}
"""CPU-seconds of a cell, by task and recipe, as measured two at a time on two free cores."""


def cells(quick: bool) -> list[Cell]:
    """The cell of `fine-tuned` measures `uniform` too, which it begins with."""
    worlds = {"peg": {"lab-b": 1, "lab-mix": 1}} if quick else WORLDS
    rounds = 2 if quick else 3
    return [
        Cell(
            name=f"{task}/{family}:{seed}/{recipe}",
            parameters={"task": task, "family": family, "seed": seed, "recipe": recipe,
                        "rounds": rounds},
            cost=COST[task].get(recipe, COST[task][""]) * (rounds / 3 if recipe == "loop" else 1),
        )
        for task, families in worlds.items()
        for family, seeds in families.items()
        for seed in range(seeds)
        for recipe in (*recipes(task), "loop")
        if recipe != "uniform"
    ]  # fmt: skip


# -- a cell -------------------------------------------------------------------


def run(cell: Cell) -> dict[str, Any]:
    """Each policy by its name, and for the loop what it said of itself."""
    given = dict(cell.parameters)
    config, recipe = configured(given), given["recipe"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if recipe == "loop":
            return _loop(given, config, folder / "cell", folder / "tuned")
        return {"policies": _rival(given, config, recipe, folder / "policy")}


def _rival(given: dict[str, Any], config: LoopConfig, recipe: str, out: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    last, began = config.rounds + 1, cpu_seconds()
    arguments = (config, config.generate.demos * last, config.seed, out)
    if recipe == "fine-tuned":

        def untuned(policy: Path) -> None:
            spent = cpu_seconds() - began
            found["uniform"] = _measured(given, [(policy, last)], spent)

        fine_tuned(*arguments, begun=untuned)
    else:
        RECIPES[recipe](*arguments)
    return found | {recipe: _measured(given, [(out, last)], cpu_seconds() - began)}


def _loop(given: dict[str, Any], config: LoopConfig, cell: Path, tuned: Path) -> dict[str, Any]:
    began = cpu_seconds()
    released = run_loop(config, cell)
    spent = cpu_seconds() - began
    # each policy on the robots of the age at which it goes to work
    found = {"loop": _measured(given, [(p, k + 1) for k, p in enumerate(released)], spent)}
    began = cpu_seconds()
    if loop_fine_tuned(config, cell, tuned):
        spent += cpu_seconds() - began
        found[TUNED] = _measured(given, [(tuned, config.rounds + 1)], spent)
    else:
        last = {k: v[-1:] for k, v in found["loop"].items() if k != "spent"}
        found[TUNED] = last | {"spent": spent}
    return {"policies": found} | _history(cell, config.rounds)


def configured(given: dict[str, Any]) -> LoopConfig:
    """The loop's settings in a cell; its rivals take theirs from them."""
    task, family, seed = given["task"], given["family"], given["seed"]
    who = f"+{WATCHED[family]}" if family in WATCHED else ""
    return LoopConfig(
        task=task, field=f"{family}:{seed}{who}", seed=seed, rounds=given["rounds"],
        calibrate=CalibrateConfig(logs=LOGS), train=TRAIN[task],
        diagnose=DiagnoseConfig(failures=FAILURES),
    )  # fmt: skip


def _measured(
    given: dict[str, Any], policies: Sequence[tuple[Path, int]], spent: float
) -> dict[str, Any]:
    """k and n of each (policy, age of the robot), and takeovers per 100 where somebody watches."""
    task, family, seed = given["task"], given["family"], given["seed"]
    counts = [
        field_success(family, seed, task, policy, MEASURED, seed, round=age)
        for policy, age in policies
    ]
    out = {"k": [k for k, _ in counts], "n": [n for _, n in counts], "spent": spent}
    if family in WATCHED:
        out["takeovers"] = [_takeovers(given, policy, age) for policy, age in policies]
    return out


def _takeovers(given: dict[str, Any], policy: Path, age: int) -> float:
    """Takeovers per 100 episodes, on starts and noise that all recipes share."""
    from gaploop.field.labs import attempt
    from gaploop.field.supervisor import takeovers

    family, seed = given["family"], given["seed"]
    episodes = attempt(
        family, seed, given["task"], policy, MEASURED, spawn(seed, "watched"), age,
        WATCHED[family],
    )  # fmt: skip
    return takeovers(episodes)


def _history(cell: Path, rounds: int) -> dict[str, Any]:
    """What the loop said of itself, a round: healing, predictions, alarms, training."""
    from gaploop.store import Workcell

    out: dict[str, Any] = {"healed": [], "kept": [], "alarm": [], "causes": [], "training": []}
    with Workcell.open(cell) as opened:
        refs = opened.ledger.refs()
        for k in range(1, rounds + 1):
            exam = opened.objects.get(refs[f"exam@r{k}"], Exam)
            trained = bool(refs.get(f"training@r{k}"))
            own = sum(2 * h.own_k > h.own_n for h in exam.healed)
            healed = sum(h.healed for h in exam.healed)
            out["healed"].append([len(exam.healed), own, healed])
            out["kept"] += [[k, bucket, lift, got] for bucket, lift, got in exam.kept]
            posterior = opened.objects.get(refs[f"posterior@r{k}"], Posterior)
            out["alarm"].append(posterior.misspecified)
            answers = opened.objects.get(refs[f"diagnoses@r{k}"], tuple[Diagnosis, ...])
            out["causes"].append([d.verdict for d in answers])
            curation = opened.objects.get(refs[f"curation@r{k}"], Curation)
            out["training"].append([trained, len(curation.mends)])
    return out


# -- the table ----------------------------------------------------------------


def table(results: list[Result]) -> str:
    parts = [" ".join((__doc__ or "").partition("\n\n")[2].split())]
    parts += ["## The loop beside its best rival", _headline(results)]
    for task in _unique(results, "task"):
        mine = [r for r in results if r.cell.parameters["task"] == task]
        parts += [f"## `{task}`: every recipe", _every(mine)]
    if any(r.cell.parameters["family"] in WATCHED for r in results):
        parts += ["## Takeovers per 100 episodes", _taken(results)]
    loops = [r for r in results if r.cell.parameters["recipe"] == "loop"]
    parts += ["## Predictions kept", predictions(loops)]
    parts += ["## What the loop said of itself", _said(loops)]
    return "\n\n".join(parts)


def _headline(results: list[Result]) -> str:
    rows: list[list[str]] = []
    for task in _unique(results, "task"):
        for family in _unique(results, "family"):
            here = _cells(results, task, family)
            ours = _rates(here, "loop", -1)
            # the best rival is chosen by these very figures, which favours it
            rivals = {r: _rates(here, r, -1) for r in RECIPES}
            known = [r for r in rivals if rivals[r] is not None]
            if ours is None or not known:
                continue
            best = max(known, key=lambda r: rivals[r].mean)
            rate, lead = TARGETS.get((task, family), (None, None))
            aim = f"{f'{rate} %, ' if rate else ''}+{lead}" if lead else ""
            seeds = len({r.cell.parameters["seed"] for r in here})
            rows.append([
                task, family, str(seeds), _percent(ours), best, _percent(rivals[best]),
                difference(ours, rivals[best]), aim,
            ])  # fmt: skip
    header = ["task", "world", "seeds", "loop [95 %, two-level]", "best rival", "its rate",
              "loop less rival, points", "target"]  # fmt: skip
    return markdown(header, rows)


def _every(results: list[Result]) -> str:
    families = _unique(results, "family")
    last = max(r.cell.parameters["rounds"] for r in results)
    loops = [(f"loop, round {k}", "loop", k) for k in range(last + 1)]
    rows: list[list[str]] = []
    for name, recipe, index in [*((r, r, -1) for r in RECIPES), *loops, (TUNED, TUNED, -1)]:
        found = [_rates(_family(results, f), recipe, index) for f in families]
        if any(found):
            spent = [v["spent"] for v in _policies(results, recipe)]
            shown = f"{np.mean(spent):.0f}" if recipe != "loop" or index == last else ""
            rows.append([name, *(_percent(x) for x in found), shown])
    return markdown(["recipe", *(f"{f} %" for f in families), "CPU-s a seed"], rows)


def _taken(results: list[Result]) -> str:
    rows: list[list[str]] = []
    for task in _unique(results, "task"):
        for family in WATCHED:
            here = _cells(results, task, family)
            for name in (*RECIPES, "loop", TUNED):
                seen = np.array([v["takeovers"] for v in _policies(here, name)])
                for k, each in enumerate(seen.T if len(seen) else ()):
                    shown = f"loop, round {k}" if name == "loop" else name
                    spread = f"{each.min():.0f} to {each.max():.0f}"
                    rows.append([task, family, shown, f"{each.mean():.0f}", spread])
    return markdown(["task", "world", "policy", "mean over seeds", "range"], rows)


def predictions(loops: list[Result]) -> str:
    """Predicted against measured lift of every prescription, and their rank correlation."""
    pairs = [[(lift, got) for _, _, lift, got in r.values["kept"]] for r in loops]
    every = [pair for one in pairs for pair in one]
    if len(every) < 3:
        return f"{len(every)} prescriptions: too few for a correlation."
    rho, lo, hi = correlation(pairs)
    spread = f"[{lo:.2f}, {hi:.2f}] (95 %, loops resampled)" if lo <= hi else "(too few loops)"
    rows = [
        [name, str(len(group)), f"{np.mean([p for p, _ in group]):+.0f}",
         f"{np.mean([m for _, m in group]):+.0f}"]
        for name, group in _thirds(every)
    ]  # fmt: skip
    told = f"{len(every)} prescriptions of {len(loops)} loops: rank correlation {rho:.2f} {spread}."
    return f"{told}\n\n" + markdown(["predicted", "n", "mean predicted", "mean measured"], rows)


def correlation(
    pairs: Sequence[Sequence[tuple[float, float]]], draws: int = 2000
) -> tuple[float, float, float]:
    """Spearman's rho of all pairs, and its 95 % bootstrap interval over the groups.

    Prescriptions of one loop are not independent, so whole loops are resampled. NaN bounds
    for fewer than three loops.
    """
    from scipy.stats import rankdata

    def rho(chosen: Sequence[Sequence[tuple[float, float]]]) -> float:
        a, b = np.array([p for one in chosen for p in one]).T
        a, b = rankdata(a), rankdata(b)
        return float(np.corrcoef(a, b)[0, 1]) if a.std() and b.std() else float("nan")

    groups = [p for p in pairs if p]
    if len(groups) < 3:
        return rho(groups), float("nan"), float("nan")
    rng = np.random.default_rng(0)
    found = [
        rho([groups[i] for i in rng.integers(len(groups), size=len(groups))]) for _ in range(draws)
    ]
    lo, hi = np.nanquantile(found, [0.025, 0.975])
    return rho(groups), float(lo), float(hi)


def _thirds(pairs: list[tuple[float, float]]) -> list[tuple[str, list[tuple[float, float]]]]:
    ranked = sorted(pairs)
    edges = [round(i * len(ranked) / 3) for i in range(4)]
    names = ("lowest third", "middle third", "highest third")
    return [(name, ranked[a:b]) for name, (a, b) in zip(names, pairwise(edges), strict=True)]


def _said(loops: list[Result]) -> str:
    rows: list[list[str]] = []
    for task in _unique(loops, "task"):
        for family in _unique(loops, "family"):
            here = [r.values for r in _cells(loops, task, family)]
            if not here:
                continue
            asked, own, healed = np.sum([one for v in here for one in v["healed"]], axis=0)
            rounds = sum(len(v["alarm"]) for v in here)
            causes = [c for v in here for one in v["causes"] for c in one]
            counted = sorted({*causes}, key=lambda c: (-causes.count(c), c))
            rows.append([
                task, family, _share(int(own), int(asked)), _share(int(healed), int(asked)),
                f"{sum(map(sum, (v['alarm'] for v in here)))}/{rounds}",
                f"{sum(t for v in here for t, _ in v['training'])}/{rounds}",
                str(sum(m for v in here for _, m in v["training"])),
                ", ".join(f"{c} {causes.count(c)}" for c in counted),
            ])  # fmt: skip
    header = ["task", "world", "failures that pass their own scenario", "healed, siblings too",
              "rounds with a misspecification alarm", "rounds that trained", "mends",
              "causes named"]  # fmt: skip
    return markdown(header, rows)


# -- inside -------------------------------------------------------------------


def _policies(here: list[Result], name: str) -> list[dict[str, Any]]:
    """What was measured of a policy, a seed each."""
    return [r.values["policies"][name] for r in here if name in r.values["policies"]]


def _rates(here: list[Result], name: str, index: int) -> Interval | None:
    """Two-level rate of one policy of a recipe over its seeds; None where it was not run."""
    found = _policies(here, name)
    if not found:
        return None
    return two_level([v["k"][index] for v in found], [v["n"][index] for v in found])


def difference(ours: Interval, rival: Interval) -> str:
    """Points between two rates, with the interval their own intervals give.

    Newcombe (1998), Stat. Med. 17:873, method 10. It takes the two for independent:
    shared worlds and starts make it wider than need be.
    """
    gap = ours.mean - rival.mean
    lo = gap - np.hypot(ours.mean - ours.lo, rival.hi - rival.mean)
    hi = gap + np.hypot(ours.hi - ours.mean, rival.mean - rival.lo)
    return f"{100 * gap:+.0f} [{100 * lo:+.0f}, {100 * hi:+.0f}]"


def _share(k: int, n: int) -> str:
    lo, hi = wilson(k, n)
    return f"{k}/{n} [{100 * lo:.0f}, {100 * hi:.0f}] %"


def _percent(rate: Interval | None) -> str:
    if rate is None:
        return ""
    return f"{100 * rate.mean:.0f} [{100 * rate.lo:.0f}, {100 * rate.hi:.0f}]"


def _unique(results: list[Result], key: str) -> list[str]:
    return list(dict.fromkeys(r.cell.parameters[key] for r in results))


def _family(results: list[Result], family: str) -> list[Result]:
    return [r for r in results if r.cell.parameters["family"] == family]


def _cells(results: list[Result], task: str, family: str) -> list[Result]:
    return [r for r in _family(results, family) if r.cell.parameters["task"] == task]
