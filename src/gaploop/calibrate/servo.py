"""From servo logs to a posterior over the servo's physics, judged on logs it never saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.calibrate.config import CalibrateConfig
from gaploop.calibrate.randomise import shipped
from gaploop.calibrate.servo_fit import (
    Rung,
    RungFit,
    ServoConfig,
    choose_rung,
    fit_rung,
    predict,
)
from gaploop.calibrate.servo_logs import ServoLogs, load_servo_logs
from gaploop.calibrate.verdict import Sampled, episode_scatter, verdicts
from gaploop.core import Check, InputError, Posterior, generator, spawn
from gaploop.infer import white_sd

__all__ = ["ServoConfig", "ServoResult", "calibrate_servo", "servo_json"]

_RHAT = 1.2
_HOLDS = 1.3
_MRAD = 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class ServoResult:
    """What servo logs say, and how far it carries."""

    model: str
    """Rung of the friction ladder."""
    posterior: Posterior
    best: np.ndarray
    """(P,) knobs of the single best rollout."""
    rungs: tuple[Rung, ...]
    """Inner errors the rung was chosen by; empty with a single log."""
    training: dict[str, float]
    """Log to mean absolute error in rad of the mean rollout, on the logs fitted."""
    held_out: dict[str, float]
    """The same on logs that had no part in the fit."""
    verdict: str
    """holds, does not hold, not examined."""
    sentence: str


def calibrate_servo(
    logs: Sequence[Path],
    held_out: Sequence[Path] = (),
    config: ServoConfig | None = None,
    seed: int = 0,
) -> ServoResult:
    """Fit a position-controlled servo to its logs.

    The friction model is chosen by an inner split of the training logs; held-out logs
    are read after the fit and only judged. Errors are mean absolute differences between
    the mean of posterior rollouts, each open-loop over the whole log from its first
    sample, and the measured angle.

    Args:
      logs: training logs in any form that the `servo` reader knows.
      held_out: logs to judge the fit on.
      config: budgets.
      seed: same seed, same result.

    Raises:
      InputError: a log that cannot be used, or one on both sides.
    """
    config = config or ServoConfig()
    both = {Path(p).resolve() for p in logs} & {Path(p).resolve() for p in held_out}
    if both:
        raise InputError(
            f"{sorted(both)[0]} is both fitted and held out.",
            hint="A log judges a fit only if the fit never saw it.",
        )
    train = load_servo_logs(logs)
    judged = load_servo_logs(held_out, train.dt) if len(held_out) else None
    coarse = load_servo_logs(logs, max(config.fold_dt, train.dt))
    name, rungs = choose_rung(coarse, config, spawn(seed, "servo", "rung"))
    found = fit_rung(name, train, config, spawn(seed, "servo", "fit"))
    particles = found.chain.flat
    rng = generator(seed, "servo", "predict")
    draws = particles[rng.choice(len(particles), config.draws, replace=False)]
    fitted = _errors(train, found, draws)
    unseen = _errors(judged, found, draws) if judged is not None else {}
    inner = next((r.error for r in rungs if r.name == name), None)
    verdict, sentence = _judge(fitted, unseen, inner)
    posterior = _posterior(train, judged, found, draws, fitted, unseen, inner, seed)
    return ServoResult(
        model=name,
        posterior=posterior,
        best=found.fit.best,
        rungs=rungs,
        training=fitted,
        held_out=unseen,
        verdict=verdict,
        sentence=sentence,
    )


def servo_json(result: ServoResult) -> dict[str, Any]:
    """The result as JSON data; angles in mrad, knobs in their own units."""
    p = result.posterior
    errors = {k: _MRAD * v for k, v in result.held_out.items()}
    return {
        "verdict": result.verdict,
        "sentence": result.sentence,
        "model": result.model,
        "knobs": [
            {
                "name": v.name, "unit": v.unit, "mean": v.mean, "sd": v.sd, "lo": v.lo,
                "hi": v.hi, "verdict": v.verdict, "redraw_acceptance": v.redraw_acceptance,
                "rhat": v.rhat, "ess": v.ess,
            }
            for v in p.verdicts
        ],
        "held_out": {
            "metric": "mean absolute error of the open-loop rollout",
            "unit": "mrad",
            "value": float(np.mean(list(errors.values()))) if errors else None,
            "per_log": errors,
        },
        "training": {
            "unit": "mrad",
            "value": _MRAD * float(np.mean(list(result.training.values()))),
            "per_log": {k: _MRAD * v for k, v in result.training.items()},
        },
        "ladder": [{"model": r.name, "inner_error_mrad": _MRAD * r.error} for r in result.rungs],
        "checks": [
            {"name": c.name, "value": c.value, "limit": c.limit, "ok": c.ok, "sentence": c.sentence}
            for c in p.checks
        ],
        "posterior": {
            "names": list(p.space.names),
            "units": [k.unit for k in p.space.knobs],
            "particles": p.particles.tolist(),
            "weights": p.weights.tolist(),
            "shipped": p.shipped.tolist(),
            "best": result.best.tolist(),
        },
    }  # fmt: skip


def _errors(logs: ServoLogs, found: RungFit, draws: np.ndarray) -> dict[str, float]:
    _, errors = predict(logs, found.space, draws)
    names = [Path(n).name for n in logs.names]
    if len(set(names)) < len(names):  # equal names in different folders
        names = list(logs.names)
    return dict(zip(names, errors.tolist(), strict=True))


def _judge(
    fitted: dict[str, float], unseen: dict[str, float], inner: float | None
) -> tuple[str, str]:
    known = inner if inner is not None else float(np.mean(list(fitted.values())))
    source = "on left-out training logs" if inner is not None else "on the logs fitted"
    if not unseen:
        return "not examined", f"No held-out log; {_MRAD * known:.1f} mrad {source}."
    value = float(np.mean(list(unseen.values())))
    holds = value <= _HOLDS * known
    return (
        "holds" if holds else "does not hold",
        f"{_MRAD * value:.1f} mrad on {len(unseen)} held-out logs, {_MRAD * known:.1f} mrad "
        f"{source}.",
    )


def _sampled(found: RungFit) -> Sampled:
    chain = found.chain
    # a knob that was never redrawn shows its probe at the search's end
    known = np.isfinite(chain.redraw_acceptance)
    redraw = np.where(known, chain.redraw_acceptance, found.fit.probe)
    return Sampled(flat=chain.flat, redraw=redraw, rhat=chain.rhat, ess=chain.ess)


def _posterior(
    train: ServoLogs,
    judged: ServoLogs | None,
    found: RungFit,
    draws: np.ndarray,
    fitted: dict[str, float],
    unseen: dict[str, float],
    inner: float | None,
    seed: int,
) -> Posterior:
    particles = found.chain.flat
    pick = generator(seed, "servo", "particles").choice(len(particles), 256, replace=False)
    kept = particles[pick]
    by_log = found.likelihood.by_log(kept)
    share = found.likelihood.independent / len(train)
    # the gradient of -n log(sum) by logs, at the fit's own scale
    level = -share * by_log / by_log.mean()
    spread = episode_scatter(found.space.to_unit(kept), level)
    settled = bool(np.all(found.chain.rhat < _RHAT))
    error = float(np.mean(list(fitted.values())))
    unseen_error = float(np.mean(list(unseen.values()))) if unseen else (inner or error)
    grow = np.full(len(found.space), max(1.0, unseen_error / max(error, 1e-9)))
    noise = white_sd(train.position.T[:, :, None])
    source = judged if judged is not None else train
    mean, _ = predict(source, found.space, draws)
    wrong = (mean - source.position)[source.valid]
    floor = float(max(noise[0], 1e-3))
    return Posterior(
        space=found.space,
        particles=kept,
        weights=np.full(len(kept), 1.0 / len(kept)),
        shipped=shipped(
            found.space, kept, factor=grow, least=0.02, n=256, seed=spawn(seed, "servo", "shipped")
        ),
        noise={"observation.state": noise},
        discrepancy={"observation.state": np.array([np.sqrt(np.mean(wrong**2))])},
        checks=(
            Check(
                name="mixing",
                value=float(found.chain.rhat.max()),
                limit=_RHAT,
                ok=settled,
                sentence="The chains agree."
                if settled
                else "The chains disagree: several basins explain the logs about equally well.",
            ),
            Check(
                name="misspecification",
                value=error / floor,
                limit=5.0,
                ok=error < 5.0 * floor,
                sentence=f"The model errs by {_MRAD * error:.1f} mrad where the encoder's noise is "
                f"{_MRAD * noise[0]:.2f} mrad; intervals rest on the residual, not on that noise.",
            ),
        ),
        verdicts=verdicts(found.space, _sampled(found), spread, CalibrateConfig()),
    )
