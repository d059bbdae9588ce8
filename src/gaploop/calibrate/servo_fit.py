"""Which rung of the friction ladder, and what the logs say about its knobs.

Open-loop rollouts of a joint with stiction fork: it holds at one angle or slips on,
and a whole second of residual follows from that. So neighbouring frames count as one
(the residual's correlation time), the likelihood is that of absolute errors, and a
prediction is the mean of rollouts over the posterior rather than one rollout.
"""

from dataclasses import dataclass, replace

import numpy as np

from gaploop.calibrate.servo_logs import ServoLogs
from gaploop.calibrate.servo_model import LADDER, servo_space, simulate_servo
from gaploop.core import KnobSpace, generator
from gaploop.infer import Chain, Fit, chains, correlation_time, search


@dataclass(frozen=True, slots=True, kw_only=True)
class ServoConfig:
    """How much work a servo fit spends."""

    rungs: tuple[str, ...] = tuple(LADDER)
    """Friction models tried, simplest first."""
    folds: int = 4
    """Parts the training logs are split into to choose the rung."""
    fold_dt: float = 0.01
    """Period in s of the rollouts that choose the rung; the fit itself uses the logs' own."""
    fold_budget: int = 1500
    """Rollout evaluations a rung and fold."""
    budget: int = 4800
    """Rollout evaluations of the final search."""
    starts: int = 6
    """Independent starts of a search."""
    walkers: int = 48
    """Of the chains."""
    steps: int = 110
    """Kept steps a walker."""
    burn: int = 50
    """Steps before those."""
    tolerance: float = 0.03
    """A simpler rung wins if its inner error is within this share of the best."""
    draws: int = 48
    """Posterior draws whose rollouts are averaged into a prediction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsoluteError:
    """Log-likelihood -n log(sum |r|): Laplace residuals of unknown scale, scale integrated out.

    n counts independent frames, not frames.
    """

    logs: ServoLogs
    space: KnobSpace
    independent: float
    """Frames that count, over all logs."""

    def residual(self, values: np.ndarray) -> np.ndarray:
        """(T, M, L) rad; 0 in the padding."""
        wrong = simulate_servo(self.logs, self.space, values) - self.logs.position[:, None, :]
        return np.where(self.logs.valid[:, None, :], wrong, 0.0)

    def by_log(self, values: np.ndarray) -> np.ndarray:
        """(M, L) mean absolute error in rad."""
        total = np.abs(self.residual(values)).sum(axis=0)
        return total / self.logs.valid.sum(axis=0)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """(M, P) to (M,) nats."""
        return -self.independent * np.log(self.by_log(values).mean(axis=1) + 1e-9)

    def tempered(self, values: np.ndarray) -> "AbsoluteError":
        """The same with the independent frames that the residuals of `values` (P,) leave.

        Never more than now: a fit that happens to take every fork right leaves residuals
        that look independent.
        """
        wrong = self.residual(values[None])[:, 0].T
        frames = float(self.logs.valid.sum())
        count = min(frames / correlation_time(wrong), self.independent)
        return AbsoluteError(logs=self.logs, space=self.space, independent=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One friction model on the inner split."""

    name: str
    error: float
    """Mean absolute error in rad on the part that was not fitted, mean over folds."""
    by_fold: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RungFit:
    """The chosen rung, fitted to all training logs."""

    space: KnobSpace
    likelihood: AbsoluteError
    fit: Fit
    chain: Chain


def fold_of(logs: ServoLogs, folds: int) -> np.ndarray:
    """(L,) fold of each log, so that every gain and trajectory is in several folds.

    Logs in order of gain and trajectory are dealt round; each further gain starts one later.
    """
    gains = {g: i for i, g in enumerate(np.unique(logs.gain))}
    dealt: dict[float, int] = {}
    fold = np.zeros(len(logs), dtype=int)
    for i in sorted(range(len(logs)), key=lambda k: (logs.gain[k], logs.kinds[k], logs.names[k])):
        g = float(logs.gain[i])
        fold[i] = (dealt.get(g, 0) + gains[g]) % folds
        dealt[g] = dealt.get(g, 0) + 1
    return fold


def choose_rung(logs: ServoLogs, config: ServoConfig, seed: int) -> tuple[str, tuple[Rung, ...]]:
    """The simplest rung whose error on logs it was not fitted to is near the best one's.

    With a single log there is nothing to leave out; then the first rung is taken.
    """
    fold = fold_of(logs, config.folds)
    parts = [k for k in range(config.folds) if 0 < np.sum(fold == k) < len(logs)]
    if not parts:
        return config.rungs[0], ()
    rungs: list[Rung] = []
    for name in config.rungs:
        errors = [_left_out(name, logs, fold == k, config, seed=seed) for k in parts]
        rungs.append(Rung(name=name, error=float(np.mean(errors)), by_fold=tuple(errors)))
    limit = (1 + config.tolerance) * min(r.error for r in rungs)
    return next(r.name for r in rungs if r.error <= limit), tuple(rungs)


def _left_out(
    name: str, logs: ServoLogs, out: np.ndarray, config: ServoConfig, *, seed: int
) -> float:
    space = servo_space(name)
    likelihood = _first(logs.take(_rows(~out)), space)
    fit = search(
        likelihood, space, seed=seed, starts=max(2, config.starts // 2), budget=config.fold_budget,
        probes=1,
    )  # fmt: skip
    likelihood = likelihood.tempered(fit.best)
    # the search's own candidates, weighted, stand in for a chain: a rung costs seconds this way
    share = likelihood.independent / _first(likelihood.logs, space).independent
    level = share * fit.history_loglik
    rng = generator(seed, "fold", name)
    weight = np.exp(level - level.max())
    rows = rng.choice(len(level), size=config.draws, p=weight / weight.sum())
    values = space.from_unit(fit.history[rows])
    return float(predict(logs.take(_rows(out)), space, values)[1].mean())


def fit_rung(name: str, logs: ServoLogs, config: ServoConfig, seed: int) -> RungFit:
    """Global search, then the likelihood's temper from its residuals, then chains."""
    space = servo_space(name)
    pilot = _first(logs, space)
    found = search(pilot, space, seed=seed, starts=config.starts, budget=config.budget)
    likelihood = pilot.tempered(found.best)
    # the likelihood is n times a function of the knobs: the whole history tempers alike
    share = likelihood.independent / pilot.independent
    fit = replace(found, loglik=share * found.loglik, history_loglik=share * found.history_loglik)
    chain = chains(
        likelihood, space, fit=fit, seed=seed, walkers=config.walkers, steps=config.steps,
        burn=config.burn,
    )  # fmt: skip
    return RungFit(space=space, likelihood=likelihood, fit=fit, chain=chain)


def predict(logs: ServoLogs, space: KnobSpace, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean rollout over candidates, and its mean absolute error a log.

    Returns:
      (T, L) angles in rad, and (L,) errors in rad.
    """
    mean = simulate_servo(logs, space, values).mean(axis=1)
    wrong = np.where(logs.valid, np.abs(mean - logs.position), 0.0)
    return mean, wrong.sum(axis=0) / logs.valid.sum(axis=0)


def _rows(mask: np.ndarray) -> list[int]:
    return [int(i) for i in np.flatnonzero(mask)]


def _first(logs: ServoLogs, space: KnobSpace) -> AbsoluteError:
    # at most one independent frame a second: a fork lasts until the next reversal
    return AbsoluteError(logs=logs, space=space, independent=float(logs.valid.sum()) * logs.dt)
