"""Inline SVG, drawn from numbers: axes, marks, a title and a text for those who cannot see it.

Colours are classes of the page's stylesheet, so that one picture serves the light
and the dark page; only the causes bring colours of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape


def attributes(**values: object) -> Markup:
    """`a="1" b="2"`, escaped; `cls` is class, an underscore is a hyphen, None is left out."""
    parts = []
    for name, value in values.items():
        if value is None:
            continue
        name = "class" if name == "cls" else name.replace("_", "-")
        text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
        parts.append(Markup('{}="{}"').format(name, text))
    return Markup(" ").join(parts)


def mark(tag: str, text: object = None, **values: object) -> Markup:
    """One element, with a hover title where `text` is given on anything but <text>."""
    inner = Markup("")
    if text is not None:
        inner = escape(text) if tag == "text" else Markup("<title>{}</title>").format(text)
    return Markup("<{} {}>{}</{}>").format(Markup(tag), attributes(**values), inner, Markup(tag))


def line(xs: np.ndarray, ys: np.ndarray, **values: object) -> Markup:
    """A polyline; breaks where a value is not finite."""
    parts, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if not (np.isfinite(x) and np.isfinite(y)):
            pen = "M"
            continue
        parts.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return mark("path", d="".join(parts), fill="none", **values)


def picture(
    width: float, height: float, title: str, marks: Iterable[Markup], cls: str = ""
) -> Markup:
    """The <svg> element; `title` is read out and shown on hover."""
    return Markup(
        '<svg {}><title>{}</title>{}</svg>'
    ).format(
        attributes(viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=title, cls=cls,
                   width=width, height=height),
        title, Markup("").join(marks),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float | np.ndarray) -> np.ndarray:
        span = self.high - self.low or 1.0
        return self.start + (np.asarray(value) - self.low) / span * (self.end - self.start)

    def ticks(self, count: int = 4) -> tuple[float, ...]:
        """Round values inside the range, about `count` of them."""
        span = self.high - self.low
        if not span > 0:
            return (self.low,)
        raw = span / max(count, 1)
        power = 10.0 ** np.floor(np.log10(raw))
        step = power * next(s for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
        first = np.ceil(self.low / step - 1e-9)
        last = np.floor(self.high / step + 1e-9)
        return tuple(float(i * step) for i in np.arange(first, last + 1))


def padded(values: Sequence[np.ndarray], share: float = 0.06) -> tuple[float, float]:
    """(low, high) around all finite values, with room to breathe."""
    flat = np.concatenate([np.ravel(v) for v in values]) if values else np.zeros(1)
    flat = flat[np.isfinite(flat)]
    if not len(flat):
        return -1.0, 1.0
    low, high = float(flat.min()), float(flat.max())
    room = (high - low) * share or max(abs(high) * 0.1, 1e-6)
    return low - room, high + room


def figure_text(value: float) -> str:
    """A tick label."""
    return f"{value + 0.0:.6g}"  # + 0.0 turns -0 into 0
