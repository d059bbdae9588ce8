"""Do the checks find planted defects, and do they leave healthy sets alone?

    python -m benchmarks._logs_defects --first 100 --sets 3 --clean 12

Recall: a defect counts as found where a warning or error of its code names its episodes
(intersection over union at least 0.9). False findings: warnings and errors on sets that
have no defect. Sets are made from seeds; the checks were developed on seeds below 100.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from gaploop.ingest.checks import batches, examine
from gaploop.ingest.config import ScreenConfig
from gaploop.testing.clean_sets import CleanSet, clean_set
from gaploop.testing.defects import SEVERITIES, Defect, defective, kinds
from gaploop.testing.shapes import SHAPES

OVERLAP = 0.9


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


def recall(seeds: Sequence[int], only: str = "", verbose: bool = False):
    """(name, severity, shape) to (found, planted)."""
    score: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    beside: Counter[tuple[str, str]] = Counter()
    for shape in SHAPES:
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


def false_findings(seeds: Sequence[int]) -> dict[str, list[tuple[int, Counter[str]]]]:
    """Shape to (seed, code to episodes named) of each healthy set."""
    return {
        shape: [
            (seed, Counter({c: len(v) for c, v in said(clean_set(shape, seed)).items()}))
            for seed in seeds
        ]
        for shape in SHAPES
    }


def show(score, beside) -> str:
    """A Markdown table, and the share found a severity."""
    head = [f"{s} {shape}" for s in SEVERITIES for shape in SHAPES]
    lines = ["| defect | code | " + " | ".join(head) + " |", "|---|---|" + "---|" * len(head)]
    names = list(dict.fromkeys(n for n, _, _ in score))
    for name in names:
        cells = []
        for severity in SEVERITIES:
            for shape in SHAPES:
                got = score.get((name, severity, shape))
                cells.append(f"{got[0]}/{got[1]}" if got else "")
        lines.append(f"| {name} | {kinds()[name].code} | " + " | ".join(cells) + " |")
    for severity in SEVERITIES:
        rows = [v for (_, s, _), v in score.items() if s == severity]
        k, n = sum(r[0] for r in rows), sum(r[1] for r in rows)
        lines.append(f"\n{severity}: {k} of {n} found ({100 * k / max(n, 1):.1f} %)")
    noise = "; ".join(f"{n}: {c} x{k}" for (n, c), k in beside.most_common(25))
    return "\n".join([*lines, f"\nOther codes said beside the planted one: {noise or 'none'}"])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=100, help="first seed")
    parser.add_argument("--sets", type=int, default=3, help="defective sets a kind and shape")
    parser.add_argument("--clean", type=int, default=12, help="healthy sets a shape")
    parser.add_argument("--only", default="", help="kinds whose name holds this")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args(arguments)
    start = time.process_time()
    if args.sets:
        seeds = range(args.first, args.first + args.sets)
        print(show(*recall(seeds, args.only, args.verbose)))
    if args.clean:
        for shape, sets in false_findings(range(args.first, args.first + args.clean)).items():
            bad = [(seed, dict(codes)) for seed, codes in sets if codes]
            print(f"\nhealthy {shape}: {len(bad)} of {len(sets)} sets with a finding {bad}")
    print(f"\n{time.process_time() - start:.0f} CPU-seconds")


if __name__ == "__main__":
    main()
