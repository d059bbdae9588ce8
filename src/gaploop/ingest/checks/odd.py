"""Which episodes differ from their fellows in one figure."""

import warnings
from collections.abc import Callable, Sequence

import numpy as np

_SIGMAS = 6.0
_EVEN = 0.8
"""Share of the larger group from which the smaller one may as well be the right one."""


def odd_ones(
    values: np.ndarray,
    floor: float,
    *,
    worse: Callable[[float], float] | None = None,
) -> tuple[np.ndarray, float]:
    """Mask (E,) of the values apart from the largest group, and that group's middle.

    The largest group is the window of width 2 `floor` with most values in it; its own
    spread (median absolute deviation) then says how far off still belongs to it. Values
    that are not finite belong nowhere and are not odd.

    floor: difference that is never odd, in the unit of `values`.
    worse: how implausible a group round a value is; decides where two groups are about
      as large. Without it the larger one is right.
    """
    fine = np.isfinite(values)
    odd = np.zeros(len(values), dtype=bool)
    if fine.sum() < 3:
        return odd, float(np.median(values[fine])) if fine.any() else float("nan")
    main = _group(values, fine, floor)
    other = _group(values, fine & ~main, floor)
    if worse is not None and other.sum() >= _EVEN * main.sum() > 1:
        apart = worse(float(np.median(values[main]))) > worse(float(np.median(values[other])))
        main = other if apart else main
    centre = float(np.median(values[main]))
    spread = 1.4826 * float(np.median(np.abs(values[main] - centre)))
    odd[fine] = np.abs(values[fine] - centre) > max(floor, _SIGMAS * spread)
    return odd, centre


def middle(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Median of the ones that are numbers; NaN, without a warning, where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy has no switch for an empty slice
        return np.nanmedian(values, axis=axis)


def of_a_task(odd: np.ndarray, texts: Sequence[str]) -> np.ndarray:
    """(E,) the odd ones whose whole task is odd: then the task is another, not the writer."""
    named = np.array(texts)
    own = np.zeros(len(odd), dtype=bool)
    for text in dict.fromkeys(texts):
        here = named == text
        if here.sum() >= 3 and odd[here].all() and not odd[~here].all():
            own |= here
    return own


def _group(values: np.ndarray, among: np.ndarray, floor: float) -> np.ndarray:
    """Mask of the densest window among some values."""
    inside = np.zeros(len(values), dtype=bool)
    known = np.sort(values[among])
    if not len(known):
        return inside
    ends = np.searchsorted(known, known + 2 * floor, side="right")
    first = int(np.argmax(ends - np.arange(len(known))))
    low, high = known[first], known[ends[first] - 1]
    return among & (values >= low) & (values <= high)
