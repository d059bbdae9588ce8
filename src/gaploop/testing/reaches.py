"""Motions of a hand or an arm: reaches between places, and a loop that follows them."""

import itertools

import numpy as np


def reach(
    stops: np.ndarray, fps: float, rng: np.random.Generator, pace: float
) -> tuple[np.ndarray, list[int]]:
    """Minimum-jerk moves between stops with holds, tremor and a rest at both ends.

    Position along a move is 10 s^3 - 15 s^4 + 6 s^5 (Flash and Hogan 1985, J. Neurosci. 5).
    Joints do not start and stop together: each lags or leads by some frames.

    stops: (k, p). Returns (T, p), and the frame in which each stop but the first is reached.
    """
    parts = [np.repeat(stops[:1], int(fps * rng.uniform(0.2, 0.8)), axis=0)]
    arrived: list[int] = []
    for a, b in itertools.pairwise(stops):
        n = max(4, int(fps * rng.uniform(0.6, 1.5) / pace))
        early = rng.uniform(0.0, 0.2, len(a))
        s = np.clip((np.linspace(0, 1, n)[:, None] - early) / (1 - early), 0, 1)
        parts.append(a + (b - a) * (10 * s**3 - 15 * s**4 + 6 * s**5))
        arrived.append(sum(map(len, parts)) - 1)
        if rng.random() < 0.5:
            parts.append(np.repeat(b[None], int(fps * rng.uniform(0.1, 0.5)), axis=0))
    parts.append(np.repeat(stops[-1:], int(fps * rng.uniform(0.3, 0.9)), axis=0))
    path = np.vstack(parts)
    return path + 0.004 * np.ptp(stops, axis=0) * _tremor(path.shape, fps, rng), arrived


def follow(sent: np.ndarray, delay: float, lag: np.ndarray, damping: float) -> np.ndarray:
    """What a second-order loop does with commands (T, p) after a whole delay in frames.

    lag: (p,) frames by which the loop trails a ramp, 2 damping / natural frequency.
    """
    from scipy.signal import lfilter

    whole = int(delay)
    start = sent[:1].astype(float)
    late = np.vstack([np.repeat(start, whole, axis=0), sent[: len(sent) - whole]]) - start
    out = np.empty(late.shape)
    for d, frames in enumerate(np.maximum(lag, 0.3)):
        # poles of the loop over one frame; the gain at rest is 1
        pull = 2 * damping / frames
        root = np.sqrt(complex(damping**2 - 1)) or 1e-6
        poles = np.exp(pull * np.array([-damping + root, -damping - root]))
        back = np.real(np.poly(poles))
        out[:, d] = lfilter([0.0, back.sum()], back, late[:, d])
    return start + out


def rotations(turns: np.ndarray, base: np.ndarray) -> np.ndarray:
    """(T, 4) quaternions x, y, z, w of `base` turned by rotation vectors (T, 3) in rad."""
    angle = np.linalg.norm(turns, axis=1, keepdims=True)
    axis = turns / np.maximum(angle, 1e-12)
    x, y, z = (axis * np.sin(angle / 2)).T
    w = np.cos(angle / 2)[:, 0]
    a, b, c, d = base
    return np.stack(
        [
            w * a + x * d + y * c - z * b,
            w * b - x * c + y * d + z * a,
            w * c + x * b - y * a + z * d,
            w * d - x * a - y * b - z * c,
        ],
        axis=1,
    )


def _tremor(shape: tuple[int, ...], fps: float, rng: np.random.Generator) -> np.ndarray:
    """Smoothed noise of unit size: an unsteady hand."""
    width = max(2, int(fps / 6))
    noise = rng.standard_normal((shape[0] + width, shape[1]))
    kernel = np.hanning(width + 2)[1:-1]
    kernel /= np.sqrt(np.sum(kernel**2))
    return np.stack([np.convolve(c, kernel, "same")[: shape[0]] for c in noise.T], axis=1)
