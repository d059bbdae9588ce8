"""Do 90 % intervals hold the truth, and does an unseen knob return its prior?

The one-joint system of `gaploop.testing`: 200 simulated logs a seed, truths drawn from
the prior, `payload` without any effect on a log. The path is the one `calibrate` uses:
search, robust likelihood, chains with single-knob redraws from the prior.
"""

from typing import Any

import numpy as np

from benchmarks.harness import Cell, Result, markdown
from gaploop.testing.coverage import posteriors

LOGS = 200


def cells(quick: bool) -> list[Cell]:
    return [Cell(name=f"seed-{s}", parameters={"seed": s}) for s in ((0,) if quick else range(4))]


def run(cell: Cell) -> dict[str, Any]:
    made = posteriors(LOGS, cell.parameters["seed"])
    covered, width = made.covered(0.9), made.width()
    return {
        "knobs": list(made.space.names),
        "covered": covered.sum(axis=0).tolist(),
        "width": np.median(width, axis=0).tolist(),
        "widest": width.max(axis=0).tolist(),
        "narrowest": width.min(axis=0).tolist(),
    }


def table(results: list[Result]) -> str:
    rows: list[list[str]] = []
    for result in results:
        v = result.values
        pooled = sum(v["covered"]) / (LOGS * len(v["knobs"]))
        span = f"{v['narrowest'][-1]:.2f} to {v['widest'][-1]:.2f}"
        rows.append([
            str(result.cell.parameters["seed"]),
            *(f"{k}/{LOGS}" for k in v["covered"]), f"{100 * pooled:.1f} %", span,
        ])  # fmt: skip
    header = ["seed", *results[0].values["knobs"], "pooled",
              f"{results[0].values['knobs'][-1]}: sd over prior sd"]  # fmt: skip
    note = "Truth inside the 90 % interval, of 200 logs; aim 85 to 95 % pooled, sd 0.9 to 1.1."
    return f"{note}\n\n{markdown(header, rows)}"
