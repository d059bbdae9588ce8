"""Any robot's logs: what checking them finds and costs, what inference gets right, how fast
readers read. Each part stands in a module `_logs_PART.py` of its own.

Peers run in environments of their own: GAPLOOP_PEERS names a folder of virtual
environments (`qa` for the tools that check data sets, `ros` for the ROS readers). Where it
is not set, their columns say so; nothing of ours depends on them.
"""

from types import ModuleType
from typing import Any

from benchmarks import _logs_contracts, _logs_cost, _logs_defects, _logs_ros
from benchmarks.harness import Cell, Result

PARTS: dict[str, ModuleType] = {
    "defects": _logs_defects, "contracts": _logs_contracts, "cost": _logs_cost, "ros": _logs_ros,
}  # fmt: skip


def cells(quick: bool) -> list[Cell]:
    """Every part's cells, named PART/NAME."""
    return [
        Cell(name=f"{part}/{c.name}", parameters={"part": part, **c.parameters}, cost=c.cost)
        for part, module in PARTS.items()
        for c in module.cells(quick)
    ]


def run(cell: Cell) -> dict[str, Any]:
    return PARTS[cell.parameters["part"]].run(cell)


def table(results: list[Result]) -> str:
    """The parts' tables, one below the other."""
    pages: list[str] = []
    for part, module in PARTS.items():
        mine = [r for r in results if r.cell.parameters["part"] == part]
        if mine:
            pages.append(module.table(mine).strip())
    return "\n\n".join(pages)
