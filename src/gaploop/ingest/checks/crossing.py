"""Readings that follow each other's command and not their own."""

from collections.abc import Iterator

import numpy as np

_LOOSE = 0.5
"""Distance from its command, as a share of its spread, at which a reading is looked at."""
_CLOSER = 0.3
"""How much nearer both readings must lie to each other's command than to their own."""


def crossings(
    sent: np.ndarray,
    seen: np.ndarray,
    inner: np.ndarray,
    own: np.ndarray,
    apart: np.ndarray,
    places: np.ndarray,
) -> Iterator[tuple[int, int, int]]:
    """(episode, i, j), i < j, of readings that follow each other's command and not their own.

    apart, places: (p, E) mean of the reading less that of the command, and of the command.
    """
    with np.errstate(invalid="ignore"):
        loose = (np.nan_to_num(own, nan=1.0) < 0.8) | (_miss(sent, seen, inner, apart) > _LOOSE)
    for e in np.flatnonzero(loose.sum(axis=0) >= 2):
        rows = inner[e] > 0
        x, y = sent[:, e, rows].astype(float), seen[:, e, rows].astype(float)
        live = np.flatnonzero((x.std(axis=1) > 1e-6) & (y.std(axis=1) > 1e-6))
        if len(live) < 2:
            continue
        c = np.corrcoef(x[live], y[live])[: len(live), len(live) :]
        x, y = x + places[:, e, None], y + (places + apart)[:, e, None]
        off = np.sqrt(np.mean((y[live][None, :] - x[live][:, None]) ** 2, axis=2))
        for a in range(len(live)):
            for b in range(a + 1, len(live)):
                mutual = min(c[a, b], c[b, a])
                alike = mutual > 0.8 and mutual > max(c[a, a], c[b, b]) + 0.1
                # joints that move alike are told apart by where they are
                there = max(off[a, b], off[b, a]) < _CLOSER * min(off[a, a], off[b, b])
                if alike or (there and mutual > 0.8):
                    yield int(e), int(live[a]), int(live[b])


def _miss(sent: np.ndarray, seen: np.ndarray, inner: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """(p, E) distance from reading to command over the travel of the command."""
    off = np.sqrt(masked_mean((seen - sent) ** 2, inner) + apart**2)
    spread = np.sqrt(masked_mean(sent**2, inner))
    return np.divide(off, spread, out=np.zeros_like(off), where=spread > 1e-9)


def masked_mean(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(p, E) over the masked frames."""
    return np.einsum("pet,et->pe", x, mask) / np.maximum(mask.sum(axis=1), 1)
