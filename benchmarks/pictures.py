"""Pictures of results. No figure rests on this file, so it is no part of a cell's key."""

from collections.abc import Sequence
from html import escape
from typing import Any

from gaploop.stats import Interval

WIDE, HIGH, GAP = 150, 130, 26
LEFT, TOP = 62, 66
COLUMNS = 4
STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #333 }
  .small { font-size: 10px; fill: #666 } .title { font-size: 14px; font-weight: 600 }
  .ground { fill: #fff }
  .frame { fill: none; stroke: #bbb } .rival { stroke: #888; stroke-width: 2 }
  .band { fill: #888; opacity: .22 } .loop { stroke: #0b6e99; stroke-width: 2; fill: none }
  .bar { stroke: #0b6e99; stroke-width: 1.2 } .dot { fill: #0b6e99 }
  .target { stroke: #b5651d; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } .small { fill: #aaa } .ground { fill: #161b22 }
    .frame { stroke: #555 } .rival { stroke: #aaa }
    .band { fill: #aaa } .loop, .bar { stroke: #5cc3ee } .dot { fill: #5cc3ee }
    .target { stroke: #e0a060 }
  }"""


def rounds(worlds: Sequence[dict[str, Any]]) -> str:
    """One panel a world: the best rival as a band, the loop as a line over its rounds.

    worlds: as `benchmarks.loop.worlds` gives them, rates in [0, 1].
    """
    rows = -(-max(len(worlds), 1) // COLUMNS)
    width = LEFT + COLUMNS * (WIDE + GAP)
    height = TOP + rows * (HIGH + 2 * GAP) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'width="{width}" height="{height}">',
        "<title>Success in the field after each round of the loop, beside the best rival; "
        "sim-to-sim</title>",
        f"<style>{STYLE}</style>",
        # a page may stay light where the reader's device asks for dark, and the text turns then
        f'<rect class="ground" width="{width}" height="{height}"/>',
        _text(8, 20, "Success in the field, %, after each round of the loop", "title"),
        _text(8, 36, "blue: the loop; grey: the best other recipe, with as many field episodes "
              "and demonstrations; dashed: target", "small"),
        _text(8, 50, "bars and band: 95 % over worlds and training seeds; sim-to-sim", "small"),
    ]  # fmt: skip
    for i, world in enumerate(worlds):
        x = LEFT + (i % COLUMNS) * (WIDE + GAP) - 24
        y = TOP + (i // COLUMNS) * (HIGH + 2 * GAP) + 18
        parts += _panel(world, x, y, numbered=i % COLUMNS == 0)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(world: dict[str, Any], x: float, y: float, *, numbered: bool) -> list[str]:
    rival: Interval = world["rival"]
    loop: list[Interval] = world["loop"]
    step = WIDE / max(len(loop), 2)
    at = [x + step * (k + 0.5) for k in range(len(loop))]

    def up(rate: float) -> float:
        return y + HIGH * (1 - rate)

    parts = [
        _text(x, y - 6, f"{world['task']} {world['family']}, {world['seeds']} seeds"),
        f'<rect class="frame" x="{x}" y="{y}" width="{WIDE}" height="{HIGH}"/>',
        f'<rect class="band" x="{x}" y="{up(rival.hi):.1f}" width="{WIDE}" '
        f'height="{max(up(rival.lo) - up(rival.hi), 0.5):.1f}"/>',
        _line("rival", x, up(rival.mean), x + WIDE, up(rival.mean)),
        _text(x + WIDE, y + HIGH + 24, world["best"], "small", anchor="end"),
    ]
    if world["target"]:
        high = up(world["target"] / 100)
        parts.append(_line("target", x, high, x + WIDE, high))
    path = " ".join(f"{a:.1f},{up(r.mean):.1f}" for a, r in zip(at, loop, strict=True))
    parts.append(f'<polyline class="loop" points="{path}"/>')
    for k, (a, rate) in enumerate(zip(at, loop, strict=True)):
        parts += [
            _line("bar", a, up(rate.lo), a, up(rate.hi)),
            f'<circle class="dot" cx="{a:.1f}" cy="{up(rate.mean):.1f}" r="3">'
            f"<title>round {k}: {100 * rate.mean:.0f} [{100 * rate.lo:.0f}, {100 * rate.hi:.0f}] %"
            "</title></circle>",
            _text(a, y + HIGH + 12, str(k), "small", anchor="middle"),
        ]
    if numbered:
        parts += [
            _text(x - 5, up(share) + 4, f"{100 * share:.0f}", "small", anchor="end")
            for share in (0.0, 0.5, 1.0)
        ]
    return parts


def _text(x: float, y: float, words: str, cls: str = "", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{cls}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def _line(cls: str, x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line class="{cls}" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'
