"""Do the checks find planted defects, and do they leave healthy sets alone?

Recall: a defect counts as found where a warning or error of its code names its episodes
(intersection over union at least 0.9). False findings: warnings and errors on sets that
have no defect. Sets are made from seeds; the checks were developed on seeds below 200.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from benchmarks._figures import share
from benchmarks.harness import Cell, Result, markdown
from gaploop.ingest.checks import batches, examine
from gaploop.ingest.config import ScreenConfig
from gaploop.testing.clean_sets import CleanSet, clean_set
from gaploop.testing.defects import SEVERITIES, Defect, defective, kinds
from gaploop.testing.shapes import SHAPES

OVERLAP = 0.9
FIRST = 300
"""First of the seeds that nobody developed on."""


def said(s: CleanSet) -> dict[str, set[int]]:
    """Code to the places of the episodes a warning or error with it names."""
    _, seen = examine(batches(s.episodes()), ScreenConfig())
    found: dict[str, set[int]] = defaultdict(set)
    for place, one in seen:
        if one.severity != "info":
            found[one.code].add(place)
    return found


def caught(found: dict[str, set[int]], defect: Defect) -> bool:
    """Whether the right code names the right episodes."""
    named = set().union(*(found.get(code, set()) for code in defect.accepted)) - {-1}
    truths = [set(defect.episodes), *([set(defect.others)] if defect.others else [])]
    return any(len(named & t) >= OVERLAP * len(named | t) for t in truths if t)


def recall(
    seeds: Sequence[int], only: str = "", verbose: bool = False,
    shapes: Sequence[str] = tuple(SHAPES),
) -> tuple[dict[tuple[str, str, str], list[int]], Counter[tuple[str, str]]]:  # fmt: skip
    """(name, severity, shape) to (found, planted)."""
    score: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    beside: Counter[tuple[str, str]] = Counter()
    for shape in shapes:
        for seed in seeds:
            clean = clean_set(shape, seed)
            for name, kind in kinds().items():
                if shape not in kind.shapes or only not in name:
                    continue
                for severity in SEVERITIES:
                    bad, defect = defective(name, severity, shape, seed, clean)
                    found = said(bad)
                    good = caught(found, defect)
                    score[name, severity, shape][0] += good
                    score[name, severity, shape][1] += 1
                    beside.update((name, c) for c in found if c not in defect.accepted)
                    if verbose and not good:
                        named = {c: sorted(v) for c, v in found.items()}
                        print(f"MISS {name} | {severity} | {shape} {seed}: planted in "
                              f"{defect.episodes}, said {named}", file=sys.stderr)  # fmt: skip
    return score, beside


def false_findings(
    seeds: Sequence[int], shapes: Sequence[str] = tuple(SHAPES)
) -> dict[str, list[tuple[int, Counter[str]]]]:
    """Shape to (seed, code to episodes named) of each healthy set."""
    return {
        shape: [
            (seed, Counter({c: len(v) for c, v in said(clean_set(shape, seed)).items()}))
            for seed in seeds
        ]
        for shape in shapes
    }


def cells(quick: bool) -> list[Cell]:
    """Each shape of set: planted defects, and healthy sets."""
    sets = {"planted": 1, "healthy": 4} if quick else {"planted": 2, "healthy": 12}
    return [
        Cell(
            name=f"{what}-{shape}",
            parameters={"what": what, "shape": shape, "sets": sets[what]},
            cost=sets[what] * (12 if what == "planted" else 1),
        )
        for shape in SHAPES
        for what in ("planted", "healthy")
    ]  # fmt: skip


def run(cell: Cell) -> dict[str, Any]:
    """Found and planted by kind and severity; or what was said of healthy sets."""
    p = cell.parameters
    seeds, shapes = range(FIRST, FIRST + p["sets"]), (p["shape"],)
    if p["what"] == "healthy":
        sets = false_findings(seeds, shapes)[p["shape"]]
        return {"sets": len(sets), "said": [[seed, dict(codes)] for seed, codes in sets if codes]}
    score, _ = recall(seeds, shapes=shapes)
    return {"rows": [[name, severity, *counts] for (name, severity, _), counts in score.items()]}


def table(results: list[Result]) -> str:
    """A row a kind, a column a severity, over all shapes; then the healthy sets."""
    planted = [r for r in results if r.cell.parameters["what"] == "planted"]
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for r in planted:
        for name, severity, k, n in r.values["rows"]:
            for key in ((name, severity), ("all", severity)):
                counts[key][0] += k
                counts[key][1] += n
    names = [*dict.fromkeys(n for n, _ in counts if n != "all"), "all"]
    rows = [
        [n, kinds()[n].code if n in kinds() else "",
         *(share(*counts[n, s]) if n == "all" else f"{counts[n, s][0]}/{counts[n, s][1]}"
           for s in SEVERITIES)]
        for n in names
    ]  # fmt: skip
    parts = [
        "## Which planted defects are found",
        "Sets of an arm, two arms and a tool's pose, as made up as the defects; seeds that nobody "
        f"developed on (from {FIRST}). Found: a warning or error of the right code names the "
        "right episodes, 90 % of the union of both. Aim: 95 % at middle severity, at most 1 false "
        "finding in 10 healthy sets.",
        markdown(["defect", "code", *SEVERITIES], rows),
    ]
    healthy = [r for r in results if r.cell.parameters["what"] == "healthy"]
    if healthy:
        bad = [x for r in healthy for x in r.values["said"]]
        each = "; ".join(f"seed {seed}: {', '.join(codes)}" for seed, codes in bad)
        told = f" ({each})" if bad else ""
        total = sum(r.values["sets"] for r in healthy)
        parts.append(f"Healthy sets with a finding: {share(len(bad), total)}{told}.")
    return "\n\n".join(parts)
