"""Whether chains agree: split R-hat and effective sample size."""

import numpy as np


def split_rhat(draws: np.ndarray) -> np.ndarray:
    """Split R-hat (Gelman et al. 2013, sec. 11.4).

    Args:
      draws: (S, C, P) S steps of C chains.

    Returns:
      (P,) about 1 when the halves of all chains agree; 1 for a constant.
    """
    half = len(draws) // 2
    if half < 2:
        return np.full(draws.shape[-1], np.inf)
    parts = np.concatenate([draws[:half], draws[-half:]], axis=1)
    return _rhat(parts)


def ensemble_rhat(draws: np.ndarray, ensembles: int) -> np.ndarray:
    """Split R-hat of ensembles of interacting walkers.

    The walkers of one ensemble are one chain (Margossian et al. 2024, nested R-hat):
    many short walks agree long before each of them has crossed the posterior alone.

    Args:
      draws: (S, W, P), walkers ordered by ensemble.
      ensembles: how many independent ensembles the W walkers form.
    """
    half = len(draws) // 2
    if half < 1:
        return np.full(draws.shape[-1], np.inf)
    steps, walkers, knobs = draws.shape
    each = walkers // ensembles
    parts = [
        draws[rows, e * each : (e + 1) * each].reshape(-1, knobs)
        for rows in (slice(0, half), slice(steps - half, steps))
        for e in range(ensembles)
    ]
    return _rhat(np.stack(parts, axis=1))


def ess(draws: np.ndarray) -> np.ndarray:
    """Effective sample size over all chains (Vehtari et al. 2021, eq. 10-13).

    Args:
      draws: (S, C, P).

    Returns:
      (P,) at most S * C; S * C for a constant.
    """
    steps, count, knobs = draws.shape
    if steps < 4:
        return np.full(knobs, float(count))
    within, total = _variances(draws)
    result = np.full(knobs, float(steps * count))
    for p in np.flatnonzero(total > 0):
        covariance = _autocovariance(draws[:, :, p])
        rho = 1.0 - (within[p] - covariance * steps / (steps - 1)) / total[p]
        tau, last = -1.0, np.inf
        for lag in range(0, steps - 1, 2):
            pair = float(rho[lag] + rho[lag + 1]) if lag else 1.0 + float(rho[1])
            if pair <= 0:
                break
            last = min(last, pair)  # Geyer's monotone sequence
            tau += 2.0 * last
        result[p] = steps * count / max(tau, 1.0 / np.log10(steps * count + 10))
    return np.minimum(result, float(steps * count))


def _variances(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    steps = len(draws)
    within = draws.var(axis=0, ddof=1).mean(axis=0)
    count = draws.shape[1]
    between = draws.mean(axis=0).var(axis=0, ddof=1) if count > 1 else np.zeros_like(within)
    return within, (steps - 1) / steps * within + between


def _rhat(parts: np.ndarray) -> np.ndarray:
    within, total = _variances(parts)
    safe = np.where(within > 0, within, 1.0)
    stuck = np.where(total > 0, np.inf, 1.0)
    return np.where(within > 0, np.sqrt(total / safe), stuck)


def _autocovariance(x: np.ndarray) -> np.ndarray:
    """(S,) biased autocovariance of (S, C) chains, averaged over chains."""
    steps = len(x)
    centred = x - x.mean(axis=0)
    power = np.abs(np.fft.rfft(centred, n=2 * steps, axis=0)) ** 2
    return np.fft.irfft(power, n=2 * steps, axis=0)[:steps].mean(axis=1) / steps
