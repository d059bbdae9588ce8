"""Which logs the fit sees, and which ones it is tested on."""

from collections.abc import Sequence

from gaploop.core import Episode


def select(
    episodes: Sequence[Episode], logs: int, held_out: int
) -> tuple[tuple[Episode, ...], tuple[Episode, ...]]:
    """(fitted, held out) episodes, deterministic, disjoint, without repeats.

    Mixed outcomes show contact, so successes and failures alternate, the newest of
    each first; every third of them is held out until there are enough.
    """
    known: dict[str, Episode] = {e.id: e for e in episodes}
    newest = list(reversed(known.values()))
    good = [e for e in newest if e.success]
    other = [e for e in newest if not e.success]
    order: list[Episode] = []
    for i in range(max(len(good), len(other))):
        order += other[i : i + 1] + good[i : i + 1]
    spare = min(held_out, len(order) // 3, max(len(order) - 3, 0))
    order = order[: logs + spare]
    held = tuple(order[2::3][:spare])
    ids = {id(e) for e in held}
    fitted = tuple(e for e in order if id(e) not in ids)
    return fitted[:logs], held
