"""Command, measurement and replay of one failure, a panel a column, on one time axis."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from gaploop.core import COLOURS, Episode, Evidence, Reproduction, Signal
from gaploop.core.units import rescaled
from gaploop.view.svg import Scale, figure_text, line, mark, padded, picture

LEFT, RIGHT, PANEL, GAP = 44.0, 1060.0, 104.0, 30.0


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a panel."""

    name: str
    cls: str
    times: np.ndarray
    values: np.ndarray


def trace_figure(
    episode: Episode, reproduction: Reproduction | None, evidence: Sequence[Evidence]
) -> Markup | None:
    """A panel a column of the measured joints, then the errors' spans; None without signals."""
    measured = episode.signals.get("observation.state")
    if measured is None or measured.values.ndim != 2:
        return None
    panels = [_panel(episode, reproduction, measured, c) for c in range(measured.values.shape[1])]
    end = float(measured.times[-1]) if len(measured.times) else 1.0
    x = Scale(0.0, end, LEFT, RIGHT)
    top = 26.0 + 18.0 * len(_spans(evidence, end))
    bottom = top + len(panels) * (PANEL + GAP) - GAP
    marks = _span_marks(_spans(evidence, end), x, bottom)
    for i, (name, unit, curves) in enumerate(panels):
        marks += _panel_marks(name, unit, curves, x, top + i * (PANEL + GAP))
    for tick in x.ticks(8):
        marks.append(mark("text", figure_text(tick), x=x(tick), y=bottom + 16, cls="tick mid"))
    marks.append(mark("text", "s", x=RIGHT + 8, y=bottom + 16, cls="tick"))
    title = "Commanded, measured and replayed joint positions over time"
    return picture(1080, bottom + 22, title, marks, "traces")


def curve_names(reproduction: Reproduction | None) -> tuple[tuple[str, str], ...]:
    """(class, name) of the curves a figure shows, for its legend."""
    names = [("command", "commanded"), ("measured", "measured")]
    if reproduction is not None and reproduction.replay:
        names.append(("replay", "replayed in the diagnosed world"))
    if reproduction is not None and reproduction.replay_trained:
        names.append(("trained", "replayed as trained"))
    return tuple(names)


def _panel(
    episode: Episode, reproduction: Reproduction | None, measured: Signal, column: int
) -> tuple[str, str, list[Curve]]:
    name = measured.columns[column] if column < len(measured.columns) else f"#{column}"
    command = episode.signals.get("action")
    curves = [Curve("measured", "measured", measured.times, measured.values[:, column])]
    if command is not None and command.values.ndim == 2 and column < command.values.shape[1]:
        curves.append(Curve("commanded", "command", command.times, command.values[:, column]))
    if reproduction is not None:
        for label, cls, source in (
            ("replayed as trained", "trained", reproduction.replay_trained),
            ("replayed in the diagnosed world", "replay", reproduction.replay),
        ):
            values = source.get(measured.name)
            if values is not None and len(values) == len(measured.times):
                curves.append(Curve(label, cls, measured.times, values[:, column]))
    factor, unit = rescaled(measured.unit, max(float(np.nanmax(np.abs(c.values))) for c in curves))
    scaled = [Curve(c.name, c.cls, c.times, c.values * factor) for c in curves]
    return name, unit, scaled


def _panel_marks(name: str, unit: str, curves: list[Curve], x: Scale, top: float) -> list[Markup]:
    y = Scale(*padded([c.values for c in curves]), top + PANEL, top)
    marks = [mark("rect", x=LEFT, y=top, width=RIGHT - LEFT, height=PANEL, cls="frame")]
    for tick in y.ticks(3):
        marks.append(mark("line", x1=LEFT, x2=RIGHT, y1=y(tick), y2=y(tick), cls="grid"))
        marks.append(mark("text", figure_text(tick), x=LEFT - 6, y=y(tick) + 4, cls="tick end"))
    marks.append(mark("text", f"{name} ({unit})", x=LEFT, y=top - 7, cls="label"))
    for curve in curves:
        marks.append(line(x(curve.times), y(curve.values), cls=f"curve {curve.cls}"))
    return marks


def _spans(evidence: Sequence[Evidence], end: float) -> list[Evidence]:
    """Evidence that speaks of a part of the episode, strongest first, at most four."""
    part = [e for e in evidence if e.t1 > e.t0 and (e.t1 - e.t0) < 0.98 * end]
    return sorted(part, key=lambda e: -e.bayes_factor)[:4]


def _span_marks(spans: Sequence[Evidence], x: Scale, bottom: float) -> list[Markup]:
    marks: list[Markup] = []
    tinted: set[tuple[float, float, str]] = set()
    for i, item in enumerate(spans):
        y, start, width = 4.0 + 18.0 * i, float(x(item.t0)), float(x(item.t1) - x(item.t0))
        colour = COLOURS.get(item.cause, COLOURS["unknown"])
        if (item.t0, item.t1, item.cause) not in tinted:  # equal spans are tinted once
            marks.append(mark("rect", item.sentence, x=start, y=y, width=width, height=bottom - y,
                              fill=colour, cls="span"))  # fmt: skip
        tinted.add((item.t0, item.t1, item.cause))
        marks.append(mark("rect", item.sentence, x=start, y=y, width=width, height=3, fill=colour))
        marks.append(mark("text", item.test, x=start + 4, y=y + 14, cls="tick"))
    return marks
