"""The pictures of the report: rates, knob strips, causes, response curves."""

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from gaploop.core import CAUSES, COLOURS, Counterfactual, Knob, KnobVerdict
from gaploop.core.units import rescaled
from gaploop.stats import wilson
from gaploop.view.rounds import Rate
from gaploop.view.svg import Scale, figure_text, line, mark, padded, picture


def percent(rate: Rate) -> str:
    """`13/20 · 65 % [43, 82]`: the only way a rate gets onto a page."""
    return (
        f"{rate.k}/{rate.n} · {100 * rate.value:.0f} % [{100 * rate.lo:.0f}, {100 * rate.hi:.0f}]"
    )


def whisker(x: Scale, y: float, rate: Rate, label: str, cls: str) -> Markup:
    """A dot with its interval."""
    title = f"{label}: {percent(rate)}"
    bar = mark("line", title, x1=x(rate.lo), x2=x(rate.hi), y1=y, y2=y, cls=f"bar {cls}")
    dot = mark("circle", title, cx=x(rate.value), cy=y, r=4, cls=f"dot {cls}")
    return bar + dot


def rate_axis(x: Scale, top: float, bottom: float) -> list[Markup]:
    """0, 25, ... 100 % as hairlines with their figures below."""
    marks = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        marks.append(mark("line", x1=x(tick), x2=x(tick), y1=top, y2=bottom, cls="grid"))
        text = f"{100 * tick:.0f}" + (" %" if tick == 1 else "")
        marks.append(mark("text", text, x=x(tick), y=bottom + 14, cls="tick mid"))
    return marks


def exam_figure(rows: Sequence[tuple[str, Rate | None, Rate | None]]) -> Markup:
    """A row a bucket: (name, before, after), both with intervals, on one axis."""
    x = Scale(0.0, 1.0, 150.0, 420.0)
    height = 26.0 * len(rows) + 8
    marks = rate_axis(x, 4.0, height)
    said = []
    for i, (name, before, after) in enumerate(rows):
        y = 17.0 + 26.0 * i
        marks.append(mark("text", name, x=0, y=y + 4, cls="label"))
        if before is not None:
            marks.append(whisker(x, y - 4, before, f"{name}, before", "before"))
        if after is not None:
            marks.append(whisker(x, y + 4, after, f"{name}, after", "after"))
            said.append(f"{name} {percent(after)}")
    return picture(450, height + 20, "Exam: " + "; ".join(said), marks, "exam")


def trend_figure(points: Sequence[tuple[str, Rate | None]], title: str) -> Markup:
    """A rate over rounds with its intervals."""
    width = 64.0 + 56.0 * max(len(points), 2)
    y = Scale(0.0, 1.0, 112.0, 10.0)
    marks = []
    for tick in (0.0, 0.5, 1.0):
        marks.append(mark("line", x1=38, x2=width - 6, y1=y(tick), y2=y(tick), cls="grid"))
        text = f"{100 * tick:.0f}" + (" %" if tick == 1 else "")
        marks.append(mark("text", text, x=32, y=y(tick) + 4, cls="tick end"))
    xs = 66.0 + 56.0 * np.arange(len(points))
    values = np.array([r.value if r else np.nan for _, r in points])
    marks.append(line(xs, y(values), cls="trend"))
    for at, (name, rate) in zip(xs, points, strict=True):
        marks.append(mark("text", name, x=at, y=132, cls="tick mid"))
        if rate is None:
            continue
        said = f"{name}: {percent(rate)}"
        marks.append(
            mark("line", said, x1=at, x2=at, y1=y(rate.lo), y2=y(rate.hi), cls="bar after")
        )
        marks.append(mark("circle", said, cx=at, cy=y(rate.value), r=4, cls="dot after"))
    return picture(width, 140, title, marks, "trend")


def knob_figure(knob: Knob, verdict: KnobVerdict | None) -> Markup:
    """Prior as a pale band, posterior 90 % interval and mean on it, nominal as a notch."""
    x = Scale(knob.prior.low, knob.prior.high, 4.0, 236.0)
    factor, unit = rescaled(knob.unit, max(abs(knob.prior.low), abs(knob.prior.high)))

    def said(value: float) -> str:
        return f"{value * factor:.3g}"

    title = f"{knob.name}: prior {said(knob.prior.low)} to {said(knob.prior.high)} {unit}"
    marks = [
        mark("rect", x=4, y=7, width=232, height=8, rx=2, cls="prior"),
        mark("line", f"nominal {said(knob.nominal)} {unit}", x1=x(knob.nominal),
             x2=x(knob.nominal), y1=3, y2=19, cls="nominal"),
    ]  # fmt: skip
    if verdict is not None:
        known = "known" if verdict.verdict == "identified" else "silent"
        lo, hi = x(np.clip([verdict.lo, verdict.hi], knob.prior.low, knob.prior.high))
        title += f", posterior {said(verdict.lo)} to {said(verdict.hi)}, {verdict.verdict}"
        marks.append(mark("rect", title, x=float(lo), y=7, width=max(float(hi - lo), 2.0),
                          height=8, rx=2, cls=f"post {known}"))  # fmt: skip
        marks.append(mark("circle", title, cx=x(verdict.mean), cy=11, r=3.5, cls=f"mean {known}"))
    return picture(240, 22, title, marks, "strip")


def cause_figure(probabilities: Mapping[str, float], width: float = 640.0) -> Markup:
    """One stacked bar over the causes, in their fixed colours, each named where it fits."""
    marks, at = [], 0.0
    for cause in CAUSES:
        p = probabilities.get(cause, 0.0)
        wide = p * width
        said = f"{cause} {100 * p:.0f} % (probability)"
        marks.append(mark("rect", said, x=at, y=0, width=max(wide - 1, 0.0), height=22,
                          fill=COLOURS[cause]))  # fmt: skip
        if wide > 7.0 * (len(cause) + 4):
            marks.append(mark("text", f"{cause} {p:.2f}", x=at + 7, y=15, cls="on-colour"))
        at += wide
    order = sorted(probabilities.items(), key=lambda item: -item[1])
    title = "Probability of each cause: " + ", ".join(f"{c} {p:.2f}" for c, p in order if p > 0.005)
    return picture(width, 22, title, marks, "causes")


def response_figure(shown: Counterfactual) -> Markup:
    """Success over the diagnosed knob, from where it stands toward training, with the flip."""
    factor, unit = rescaled(shown.unit, float(np.max(np.abs(shown.scan))))
    values = shown.scan * factor
    order = np.argsort(values)
    x = Scale(*padded([values], 0.04), 44.0, 440.0)
    y = Scale(0.0, 1.0, 170.0, 12.0)
    marks = []
    for tick in (0.0, 0.5, 1.0):
        marks.append(mark("line", x1=44, x2=440, y1=y(tick), y2=y(tick), cls="grid"))
        text = f"{100 * tick:.0f}" + (" %" if tick == 1 else "")
        marks.append(mark("text", text, x=38, y=y(tick) + 4, cls="tick end"))
    for tick in x.ticks(5):
        marks.append(mark("text", figure_text(tick), x=x(tick), y=188, cls="tick mid"))
    name = shown.knob.replace("_", " ")
    marks.append(mark("text", f"{name} ({unit})" if unit != "1" else name,
                      x=242, y=206, cls="tick mid"))  # fmt: skip
    if np.isfinite(shown.flip):
        lo, hi = sorted((float(x(shown.flip_lo * factor)), float(x(shown.flip_hi * factor))))
        marks.append(mark("rect", x=lo, y=12, width=max(hi - lo, 2.0), height=158, cls="flip"))
        marks.append(mark("line", x1=x(shown.flip * factor), x2=x(shown.flip * factor), y1=12,
                          y2=170, cls="flipline"))  # fmt: skip
    successes = [round(float(p) * shown.n) for p in shown.response]
    rates = [Rate(k=k, n=shown.n, lo=lo, hi=hi)
             for k in successes for lo, hi in [wilson(k, shown.n)]]  # fmt: skip
    marks.append(line(x(values[order]), y(shown.response[order]), cls="trend"))
    for value, rate in zip(values, rates, strict=True):
        at, said = x(value), f"{name} {value:.3g} {unit}: success {percent(rate)}"
        marks.append(mark("line", said, x1=at, x2=at, y1=y(rate.lo), y2=y(rate.hi),
                          cls="bar after"))  # fmt: skip
        marks.append(mark("circle", said, cx=at, cy=y(rate.value), r=4, cls="dot after"))
    at = x(shown.value * factor)
    marks.append(mark("path", f"as diagnosed: {shown.value * factor:.3g} {unit}",
                      d=f"M{at:.1f} 170l-5 9h10z", cls="here"))  # fmt: skip
    return picture(
        450, 212, f"Success against {name}, {shown.n} attempts a point", marks, "response"
    )
