"""How long a measured signal trails its command."""

from dataclasses import dataclass

import numpy as np

from gaploop.core.errors import InputError
from gaploop.signals.spans import effective

_STEP = 0.05
"""Grid of trial lags, in frames."""
_PERSISTENCE = (0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
"""Trial lag-1 autocorrelations of what the fit leaves over."""
_CONVINCING = 3.0
"""Log Bayes factor (20 to 1) below which a reading does not follow its command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """Command to answer, in seconds. NaN with a `reason` where the log cannot say."""

    seconds: float
    lo: float
    hi: float
    """95 % interval; where several lags fit, it spans them all."""
    correlation: float
    """Of the shifted command with the answer, at the best lag."""
    gain: float
    """Answer per command, at the best lag."""
    log_bayes_factor: float
    """Natural log, a lagged answer against no relation at all."""
    samples: float
    """Independent samples it rests on."""
    reason: str = ""
    """Why there is no answer; empty where there is one."""

    @property
    def ok(self) -> bool:
        return not self.reason


def lag(
    command: np.ndarray,
    measured: np.ndarray,
    dt: float,
    *,
    longest: float = 14.0,
    lead: float = 2.0,
    motion: float = 0.0,
) -> Lag:
    """The delay tau that makes measured(t) = a + b command(t - tau) fit best.

    A grid of 0.05 frames with linear interpolation and a parabola at the minimum.
    What the fit leaves over is mostly smooth (the servo's own habits, gravity), so both
    sides are whitened by a first-order autoregression of the residual (Cochrane and Orcutt
    1949, J. Am. Stat. Assoc. 44:32-61). The interval holds all lags that the profile
    likelihood does not reject (Seber and Wild, Nonlinear Regression, chapter 5). A servo's
    own response counts: a first-order answer of time constant T adds up to T, less the
    faster the command moves.

    Args:
      command: (T,) as sent.
      measured: (T,) what should follow it, on the same stamps.
      dt: seconds between frames.
      longest: largest lag looked for, in frames; shortened where T is small.
      lead: how far ahead of its command an answer may be stamped, in frames.
      motion: smallest peak-to-peak travel of the command that counts as motion.

    Raises:
      InputError: when the lengths differ or dt is not positive.
    """
    sent, seen = np.asarray(command, float).ravel(), np.asarray(measured, float).ravel()
    if len(sent) != len(seen):
        raise InputError(f"Lag test: {len(sent)} commands for {len(seen)} readings.")
    if not dt > 0:
        raise InputError(f"Lag test: a frame period of {dt} s is impossible.")
    reason = _refusal(sent, seen, motion)
    if reason:
        return _none(reason)
    longest = min(longest, (len(sent) - 1) / 2)
    lags = np.arange(-lead, longest + _STEP / 2, _STEP)
    rows = np.arange(int(np.ceil(longest)), len(sent) - int(np.ceil(lead)))
    shifted = np.interp(rows[None, :] - lags[:, None], np.arange(len(sent)), sent)
    return _fit(lags, shifted, seen[rows], dt, motion)


def _refusal(sent: np.ndarray, seen: np.ndarray, motion: float) -> str:
    if len(sent) < 12:
        return f"too short: {len(sent)} frames of at least 12"
    if not (np.isfinite(sent).all() and np.isfinite(seen).all()):
        return "not finite"
    if np.ptp(sent) <= max(motion, 1e-12 * float(np.abs(sent).max())):
        return "no motion: the command does not move"
    if np.ptp(seen) == 0:
        return "no motion: the reading does not move"
    return ""


def _fit(lags: np.ndarray, shifted: np.ndarray, seen: np.ndarray, dt: float, motion: float) -> Lag:
    """Profile over lags; shifted is (L, n), seen is (n,)."""
    x = shifted - shifted.mean(axis=1, keepdims=True)
    y = seen - seen.mean()
    if np.ptp(shifted, axis=1).max() <= motion or not np.any(x) or not np.any(y):
        return _none("no motion: nothing moves in the frames that all lags share")
    # by likelihood over a grid: an iteration from 0 gets caught where drift outweighs motion
    best, gain, rss, innovation = min(
        (_profile(x, y, phi) for phi in _PERSISTENCE), key=lambda fit: fit[2].min()
    )
    n = effective(innovation)
    correlation = float(x[best] @ y / np.sqrt((x[best] @ x[best]) * (y @ y) + 1e-300))
    alone = min(float(np.var(_whiten(y, phi))) for phi in _PERSISTENCE) * len(innovation)
    # gain and lag are the two parameters more than the reading alone needs
    evidence = 0.5 * n * float(np.log(max(alone / rss[best], 1.0)))
    evidence -= float(np.log(max(n, 2.0)))
    if evidence >= _CONVINCING and gain[best] < 0:
        return _none("inverted: the reading moves against the command", correlation, n)
    if evidence < _CONVINCING:
        return _none("no relation: the reading does not follow the command", correlation, n)
    if best in (0, len(lags) - 1):
        return _none("the best fit is at the edge of the lags looked for", correlation, n)
    centre = lags[best] + _STEP * _vertex(rss, best)
    lo, hi = _interval(lags, rss, n)
    return Lag(
        seconds=float(centre * dt),
        lo=float(min(lo, centre) * dt),
        hi=float(max(hi, centre) * dt),
        correlation=correlation,
        gain=float(gain[best]),
        log_bayes_factor=evidence,
        samples=n,
    )


def _profile(
    x: np.ndarray, y: np.ndarray, phi: float
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Best row, gains (L,), residual sums (L,) and the best row's innovations."""
    wx, wy = _whiten(x, phi), _whiten(y, phi)
    wx, wy = wx - wx.mean(axis=-1, keepdims=True), wy - wy.mean()
    xx, xy, yy = (wx * wx).sum(axis=1), wx @ wy, float(wy @ wy)
    gain = np.where(xx > 1e-9 * xx.max(), xy / np.maximum(xx, 1e-300), 0.0)
    # exact fits would make a logarithm infinite: floor at rounding
    rss = np.maximum(yy - gain * xy, 1e-12 * yy + 1e-300)
    best = int(np.argmin(rss))
    return best, gain, rss, wy - gain[best] * wx[best]


def _whiten(z: np.ndarray, phi: float) -> np.ndarray:
    return z[..., 1:] - phi * z[..., :-1]


def _interval(lags: np.ndarray, rss: np.ndarray, n: float) -> tuple[float, float]:
    """All lags whose residual sum is within the 95 % limit, ends interpolated."""
    from scipy.special import stdtrit

    free = max(n - 3.0, 1.0)
    excess = np.log(rss / rss.min()) - np.log1p(stdtrit(free, 0.975) ** 2 / free)
    inside = np.flatnonzero(excess <= 0)
    first, last = int(inside[0]), int(inside[-1])
    lo, hi = float(lags[first]), float(lags[last])
    if first > 0:
        lo -= _STEP * float(excess[first] / (excess[first] - excess[first - 1]))
    if last < len(lags) - 1:
        hi += _STEP * float(excess[last] / (excess[last] - excess[last + 1]))
    return lo, hi


def _vertex(rss: np.ndarray, best: int) -> float:
    """Where the parabola through three neighbours is lowest, in steps from the middle one."""
    left, middle, right = rss[best - 1 : best + 2]
    bend = left - 2 * middle + right
    return float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5)) if bend > 0 else 0.0


def _none(reason: str, correlation: float = 0.0, samples: float = 0.0) -> Lag:
    nan = float("nan")
    return Lag(
        seconds=nan, lo=nan, hi=nan, correlation=correlation, gain=nan, log_bayes_factor=0.0,
        samples=samples, reason=reason,
    )  # fmt: skip
