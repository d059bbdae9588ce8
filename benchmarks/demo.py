"""What three rounds bring on `peg` against `lab-mix`, beside nominal and uniform randomisation.

One seed is one stand-in and one training seed at once. Every recipe has the same
history, network and gradient steps; the rivals get all the demonstrations of the
loop's rounds at once. Success is measured in the stand-in, on starts and noise
that all recipes share. Sim-to-sim.
"""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import Cell, Result, markdown
from gaploop.config import LoopConfig
from gaploop.stats import two_level, wilson
from gaploop.studies import RECIPES, field_success
from gaploop.studies import loop as run_loop

RIVALS = ("nominal", "uniform")
"""All of `studies.RECIPES` are in the benchmark `loop`."""
ROUNDS = 3
MEASURED = 300


def cells(quick: bool) -> list[Cell]:
    seeds, rounds = (range(1), 2) if quick else (range(5), ROUNDS)
    return [
        Cell(name=f"{recipe}-{seed}", parameters={"recipe": recipe, "seed": seed, "rounds": rounds})
        for seed in seeds
        for recipe in (*RIVALS, "loop")
    ]


def run(cell: Cell) -> dict[str, Any]:
    recipe, seed = cell.parameters["recipe"], cell.parameters["seed"]
    rounds = cell.parameters["rounds"]
    config = LoopConfig(field=f"lab-mix:{seed}", seed=seed, rounds=rounds)
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        if recipe == "loop":
            policies = run_loop(config, out / "cell", threads=2)
        else:
            demos = config.generate.demos * (rounds + 1)
            RECIPES[recipe](config, demos, seed, out / "policy")
            policies = [out / "policy"]
        measured = [_measure(config, policy, seed) for policy in policies]
    return {"k": [k for k, _ in measured], "n": [n for _, n in measured]}


def _measure(config: LoopConfig, policy: Path, seed: int) -> tuple[int, int]:
    return field_success("lab-mix", seed, config.task, policy, MEASURED, seed, threads=2)


def table(results: list[Result]) -> str:
    rows: list[list[str]] = []
    seeds = sorted({r.cell.parameters["seed"] for r in results})
    for recipe in (*RIVALS, "loop"):
        found = {r.cell.parameters["seed"]: r for r in results if _recipe(r) == recipe}
        rounds = min((len(r.values["k"]) for r in found.values()), default=0)
        for k in range(rounds):
            name = f"loop, round {k}" if recipe == "loop" else recipe
            rows.append(_row(name, [found.get(s) for s in seeds], k))
    header = ["recipe", *(f"lab-mix:{s} k/n [95 %]" for s in seeds), "mean [95 %, two-level]",
              "CPU-s a seed"]  # fmt: skip
    return "Sim-to-sim. " + (__doc__ or "").partition("\n")[0] + "\n\n" + markdown(header, rows)


def _recipe(result: Result) -> str:
    return result.cell.parameters["recipe"]


def _row(name: str, found: list[Result | None], index: int) -> list[str]:
    """One line of the table; a seed that was not measured stays blank."""
    done = [r for r in found if r is not None]
    whole = two_level([r.values["k"][index] for r in done], [r.values["n"][index] for r in done])
    shown = [_rate(r.values["k"][index], r.values["n"][index]) if r else "" for r in found]
    mean = f"{100 * whole.mean:.0f} [{100 * whole.lo:.0f}, {100 * whole.hi:.0f}] %"
    cpu = f"{sum(r.cpu for r in done) / len(done):.0f}"
    return [name, *shown, mean, cpu if index == 0 else ""]


def _rate(k: int, n: int) -> str:
    lo, hi = wilson(k, n)
    return f"{k}/{n} [{100 * lo:.0f}, {100 * hi:.0f}]"
