"""White sensor noise from differences of neighbouring samples, in closed form."""

import numpy as np

_ENOUGH = 12  # differences at rest: with fewer, all frames say more


def at_rest(commands: np.ndarray, settle: int = 5, tolerance: float = 0.0) -> np.ndarray:
    """Frames where the command has stood still for `settle` steps.

    Args:
      commands: (T, a) or (T,) commands.
      settle: frames to wait after the last change, for the joint to arrive.
      tolerance: largest change that still counts as none, in the command's unit.

    Returns:
      (T,) bool.
    """
    values = np.asarray(commands, dtype=float).reshape(len(commands), -1)
    moved = np.zeros(len(values), dtype=bool)
    moved[1:] = (np.abs(np.diff(values, axis=0)) > tolerance).any(axis=1)
    recent = np.convolve(moved, np.ones(settle + 1), mode="full")[: len(values)] > 0
    return ~recent


def white_sd(values: np.ndarray, rest: np.ndarray | None = None) -> np.ndarray:
    """White-noise sd of each column.

    With enough frames at rest, first differences there: sd = sqrt(mean(diff^2) / 2)
    (von Neumann et al. 1941, eq. 1), or third differences where those are smaller,
    because a slow joint still creeps after its command has stopped. Otherwise the median
    absolute third difference over all frames, which cancels motion that is smooth over
    four samples.

    Args:
      values: (T,) or (T, d), or a stack (E, T, d) of equal episodes.
      rest: bool of the shape of `values` less the last axis; None for no rest known.

    Returns:
      (d,) sd in the unit of `values`; 0 for fewer than four frames.
    """
    x = np.asarray(values, dtype=float)
    x = x[None, :, None] if x.ndim == 1 else x[None] if x.ndim == 2 else x
    still = np.zeros(x.shape[:2], dtype=bool)
    if rest is not None:
        still = np.asarray(rest, dtype=bool).reshape(x.shape[:2])
    if x.shape[1] < 4:
        return np.zeros(x.shape[2])
    third = np.diff(x, n=3, axis=1) / np.sqrt(20.0)  # 1 + 9 + 9 + 1
    pairs = still[:, 1:] & still[:, :-1]
    fours = pairs[:, 2:] & pairs[:, 1:-1] & pairs[:, :-2]
    if fours.sum() >= _ENOUGH:
        first = np.diff(x, axis=1)[pairs] / np.sqrt(2.0)
        both = np.stack([(first**2).mean(axis=0), (third[fours] ** 2).mean(axis=0)])
        return np.sqrt(both.min(axis=0))
    return 1.4826 * np.median(np.abs(third), axis=(0, 1))


def noise_loglik(sd: np.ndarray, measured: float, n: int) -> np.ndarray:
    """Log-likelihood of a noise sd, given the sd measured from n first differences.

    The mean of squared first differences of white noise has two thirds of the
    information of as many independent samples (von Neumann et al. 1941, eq. 22), so it
    counts as 2n/3 of them: -m log(sd) - m measured^2 / (2 sd^2).

    Args:
      sd: (M,) candidates, > 0.
      measured: sd from `white_sd`.
      n: differences it rests on.
    """
    m = 2.0 * n / 3.0
    with np.errstate(divide="ignore"):
        s = np.maximum(np.asarray(sd, dtype=float), 1e-300)
        return -m * np.log(s) - 0.5 * m * (measured / s) ** 2
