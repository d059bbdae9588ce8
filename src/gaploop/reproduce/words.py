"""A counterfactual in one sentence that a technician understands."""

import math

from gaploop.core import Counterfactual
from gaploop.core.units import shown
from gaploop.stats import wilson


def sentence(flip: Counterfactual, together: tuple[str, ...] = ()) -> str:
    """What would have saved the attempt, with k of n and an interval.

    together: further knobs of the same mechanism that moved in proportion.
    """
    name = " with ".join(n.replace("_", " ") for n in (flip.knob, *together))
    was = shown(flip.value, flip.unit)
    if not math.isfinite(flip.flip):
        end = shown(float(flip.scan[-1]), flip.unit)
        k = round(flip.response[-1] * flip.n)
        if flip.p_before >= 0.5:
            return (
                f"At {name} {was} it fails only now and then: it succeeds in "
                f"{_rate(round(flip.p_before * flip.n), flip.n)}."
            )
        return (
            f"Moving {name} from {was} to {end} alone does not save it: {_rate(k, flip.n)} succeed."
        )
    side = "under" if flip.flip < flip.value else "above"
    k = round(flip.p_after * flip.n)
    past = flip.flip_lo if side == "under" else flip.flip_hi
    said = (
        f"It would have succeeded in {_rate(k, flip.n)} had {name} been {side} "
        f"{shown(past, flip.unit)}; it was {was}"
    )
    return said + ("." if flip.monotone else ", and the way there is not monotone.")


def _rate(k: int, n: int) -> str:
    lo, hi = wilson(k, n)
    return f"{100 * k / n:.0f} % ({k} of {n}, {100 * lo:.0f} to {100 * hi:.0f} %)"
