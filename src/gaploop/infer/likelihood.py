"""How well a replay explains a log: robust, and never sharper than the residual allows.

Three things make a plain Gaussian likelihood of 500 residuals far too sure of itself.
Outliers: Student-t instead. Correlated residuals (a wrong model errs the same way frame
after frame): the log-likelihood is divided by the residual's correlation time, so that
n correlated frames count as n / tau independent ones. Contact that goes another way in
one episode: a block of frames can be given up at a fixed price instead of ruling a
candidate out.
"""

from dataclasses import dataclass

import numpy as np


def score(z: np.ndarray, nu: float) -> np.ndarray:
    """Derivative of the Student-t loss (nu + 1)/2 log(1 + z^2/nu)."""
    return (nu + 1.0) * z / (nu + z**2)


def correlation_time(z: np.ndarray) -> float:
    """Integrated correlation time in frames, about zero rather than about the mean.

    A constant offset is an error that every frame shares, so it counts as correlation.
    Summed until two neighbouring lags sum to less than chance would give
    (Geyer 1992 stops at zero, which is biased upwards for short logs).

    Args:
      z: (E, T) residual scores of E episodes; non-finite entries count as 0.

    Returns:
      tau in [1, T].
    """
    x = np.where(np.isfinite(z), z, 0.0)
    frames = x.shape[1]
    size = 2 * frames
    power = np.abs(np.fft.rfft(x, n=size, axis=1)) ** 2
    covariance = np.fft.irfft(power, n=size, axis=1)[:, :frames].sum(axis=0)
    if covariance[0] <= 0:
        return 1.0
    rho = covariance / covariance[0]  # the factor (1 - k/T) is in the biased sum
    tau, chance = 1.0, 1.0 / np.sqrt(x.size)
    for lag in range(1, frames - 1, 2):
        pair = float(rho[lag] + rho[lag + 1])
        if pair <= chance:
            break
        tau += 2.0 * pair
    return float(np.clip(tau, 1.0, frames))


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustLikelihood:
    """Student-t likelihood of replay residuals with one scale and one temper a column."""

    scale: np.ndarray
    """(d,) or (E, d): residual scale in the channel's unit, > 0."""
    temper: np.ndarray
    """(d,) or (E, d) in (0, 1]: independent frames a frame counts as."""
    nu: float = 4.0
    """Degrees of freedom; small is more robust."""
    blocks: int = 1
    """Time blocks of an episode that can be given up separately."""
    price: float = np.inf
    """Nats a block costs at most, relative to `reference`."""
    reference: np.ndarray | None = None
    """(E, blocks) what each block is held against: its log-likelihood at a good fit; None for 0."""

    @classmethod
    def at(
        cls,
        residual: np.ndarray,
        floor: np.ndarray,
        *,
        parameters: int = 0,
        per_episode: bool = False,
        nu: float = 4.0,
        blocks: int = 1,
        price: float = np.inf,
        count: float = np.inf,
    ) -> "RobustLikelihood":
        """The likelihood calibrated at the best fit's residuals.

        The scale is their robust spread, at least `floor`. The temper is
        min(1, E[psi'] / E[psi^2]) / tau, with psi the score: it equates curvature and
        variance of the score (Ribatet, Cooley & Davison 2012, eq. 8), as a composite
        likelihood needs, and is never above 1.

        Args:
          residual: (E, T, d) residuals of the best fit.
          floor: (d,) or (E, d) smallest scale, such as the white noise.
          parameters: knobs the fit had free, for the degrees of freedom.
          count: independent frames that a column of one episode is worth at most; a model
            error lasts, whether this fit's residuals show it or not.
          per_episode: one scale and temper an episode (logs of different robots).
        """
        columns = residual.shape[-1]
        groups = residual if per_episode else residual.reshape(1, -1, columns)
        n = max(groups.shape[1] - parameters, 1)
        spread = 1.4826 * np.nanmedian(np.abs(groups), axis=1)
        scale = np.maximum(spread * np.sqrt(groups.shape[1] / n), floor)
        if not per_episode:
            scale = scale.reshape(-1, columns)[:1]
        z = residual / scale[:, None, :]
        psi = score(z, nu)
        slope = (nu + 1.0) * (nu - z**2) / (nu + z**2) ** 2
        temper = np.ones((len(scale), columns))
        for g in range(len(scale)):
            rows = slice(g, g + 1) if per_episode else slice(None)
            for d in range(columns):
                match = np.nanmean(slope[rows, :, d]) / max(
                    float(np.nanmean(psi[rows, :, d] ** 2)), 1e-12
                )
                tau = correlation_time(psi[rows, :, d])
                temper[g, d] = float(np.clip(match, 0.05, 1.0)) / tau
        temper = np.minimum(temper, count / residual.shape[1])
        plain = cls(scale=scale, temper=temper, nu=nu, blocks=blocks)
        reference = plain.by_block(residual[None])[0] if np.isfinite(price) else None
        return cls(
            scale=scale, temper=temper, nu=nu, blocks=blocks, price=price, reference=reference
        )

    def by_block(self, residual: np.ndarray) -> np.ndarray:
        """(M, E, T, d) residuals to (M, E, blocks) nats; a non-finite frame costs dearly."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a constant column
            z2 = (residual / self.scale[..., None, :]) ** 2
        # a diverged replay has no reading: as far off as a thousand scales
        z2 = np.where(np.isfinite(z2), z2, 1e6)
        loss = 0.5 * (self.nu + 1.0) * np.log1p(z2 / self.nu) * self.temper[..., None, :]
        frames = loss.sum(axis=-1)
        edges = np.linspace(0, frames.shape[-1], self.blocks + 1).astype(int)[:-1]
        return -np.add.reduceat(frames, edges, axis=-1)

    def by_episode(self, residual: np.ndarray) -> np.ndarray:
        """(M, E, T, d) residuals to (M, E) nats, blocks given up where that is cheaper.

        A block's density is a mixture: the model with weight 1, and with weight
        exp(-price) something the model does not explain.
        """
        return self.weighed(self.by_block(residual))

    def weighed(self, block: np.ndarray) -> np.ndarray:
        """(M, E, blocks) to (M, E) nats, as `by_episode`."""
        if np.isfinite(self.price):
            start = 0.0 if self.reference is None else self.reference
            block = np.logaddexp(block - start, -self.price)
        return block.sum(axis=-1)

    def __call__(self, residual: np.ndarray) -> np.ndarray:
        """(M, E, T, d) residuals to (M,) nats."""
        return self.by_episode(residual).sum(axis=-1)
