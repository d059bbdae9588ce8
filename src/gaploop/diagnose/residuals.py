"""What the joints did in free space, against this robot's healthy worlds and against training's.

Before the first contact only command path, servo and joint zero can differ, so a
residual there separates execution and mechanical from everything else, cheaply.
"""

import numpy as np

from gaploop.core import Evidence, TaskSpec
from gaploop.core.units import shown
from gaploop.infer.episode import Log, Replays, contact_step, weigh
from gaploop.signals import lag

MOST = 1e6


def free_space(
    spec: TaskSpec, healthy: Replays, trained: Replays, floor: np.ndarray
) -> tuple[Evidence, ...]:
    """One statement on the joints before contact; none where nothing moved freely."""
    end = contact_step(spec, healthy.recording)
    if end < 6:
        return ()
    both = _joined(healthy, trained)
    weighed = weigh(both, floor, slice(0, end))
    n = len(healthy.knobs)
    here = _logmean(weighed.loglik[:n])
    there = _logmean(weighed.loglik[n:])
    joint = spec.observed[0]
    columns = slice(0, len(joint.columns))
    rms_here = _best_rms(healthy.residual[:, :end, columns])
    rms_there = _best_rms(trained.residual[:, :end, columns])
    t1 = end * spec.control_dt
    factor = float(np.exp(np.clip(here - there, -14.0, 14.0)))
    words = "differ" if factor > 3 else "agree"
    return (
        Evidence(
            test="free space",
            cause="execution",
            bayes_factor=min(factor, MOST),
            statistic=rms_there,
            t0=0.0,
            t1=t1,
            sentence=(
                f"Before contact the joints {words} with a world as trained: off by "
                f"{shown(rms_there, joint.unit)} rms there, {shown(rms_here, joint.unit)} in "
                "this robot's own calibrated world."
            ),
        ),
    )


def lags(spec: TaskSpec, log: Log, healthy: Replays, trained: Replays) -> tuple[Evidence, ...]:
    """How late the joints answer, against what training's world would have done with the same
    commands. Delay is never named without this figure."""
    joint = spec.observed[0]
    end = max(contact_step(spec, healthy.recording), 0)
    width = min(len(joint.columns), log.command.shape[1])
    if end < 14:
        return ()
    best = None
    for c in range(width):
        live = lag(log.command[:end, c], log.readings[joint.name][:end, c], spec.control_dt)
        middle = np.median(trained.recording.signals[joint.name][:end, :, c], axis=1)
        then = lag(log.command[:end, c], middle, spec.control_dt)
        wide = 2.0 * spec.control_dt
        if not (live.ok and then.ok and live.hi - live.lo < wide and then.hi - then.lo < wide):
            continue  # a lag known to no better than this tells nothing
        sd = max(np.hypot(live.hi - live.lo, then.hi - then.lo) / 4.0, 0.1 * spec.control_dt)
        if best is None or sd < best[0]:
            best = (sd, c, live, then)
    if best is None:
        return ()
    sd, c, live, then = best
    late = live.seconds - then.seconds
    # over a broad alternative: a difference of up to two control steps either way
    width_sd = 2.0 * spec.control_dt
    log_factor = 0.5 * (late / sd) ** 2 * width_sd**2 / (width_sd**2 + sd**2) - 0.5 * np.log1p(
        (width_sd / sd) ** 2
    )
    return (
        Evidence(
            test="command to joint",
            cause="execution",
            bayes_factor=float(np.exp(np.clip(log_factor, -14.0, 14.0))),
            statistic=late,
            t0=0.0,
            t1=end * spec.control_dt,
            sentence=(
                f"Joint {joint.columns[c]} trails its command by {shown(live.seconds, 's')} "
                f"({shown(live.lo, 's')} to {shown(live.hi, 's')}); in a world as trained it "
                f"would by {shown(then.seconds, 's')}."
            ),
        ),
    )


def _joined(one: Replays, two: Replays) -> Replays:
    return Replays(
        knobs=np.concatenate([one.knobs, two.knobs]),
        layout=np.concatenate([one.layout, two.layout]),
        residual=np.concatenate([one.residual, two.residual]),
        recording=one.recording,
    )


def _logmean(values: np.ndarray) -> float:
    top = values.max()
    return float(top + np.log(np.mean(np.exp(values - top))))


def _best_rms(residual: np.ndarray) -> float:
    """Smallest rms over worlds, worst column."""
    return float(np.min(np.sqrt(np.nanmean(residual**2, axis=1)).max(axis=1)))
