"""From clean logs to a posterior over a world's knobs.

Open-loop replay of the logged commands; a global search; an emulator of the replays, which
guesses the posterior; chains that real replays accept; a verdict a knob; the replay error on
episodes that were not fitted; and from that the alarm and the width that training
randomises with.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaploop.calibrate.config import CalibrateConfig
from gaploop.calibrate.noise import NoiseKnob, channel_noise, noise_knobs
from gaploop.calibrate.randomise import shipped
from gaploop.calibrate.replay import Replay
from gaploop.calibrate.select import select
from gaploop.calibrate.verdict import Sampled, episode_scatter, prior_verdicts, verdicts
from gaploop.core import Check, Episode, KnobSpace, KnobVerdict, Posterior, generator, spawn
from gaploop.infer import RobustLikelihood, Seen, chains, emulated, refine, replay_rms, search
from gaploop.infer.discrepancy import excess
from gaploop.sim import World

_DRAWS = 64
"""Posterior draws that the scatter between episodes is taken from."""


def calibrate(
    world: World,
    episodes: Sequence[Episode],
    config: CalibrateConfig,
    seed: int,
    *,
    previous: Posterior | None = None,
) -> Posterior:
    """The posterior of a world's knobs given clean episodes.

    Args:
      world: its `space` is what is calibrated.
      episodes: clean ones only, oldest first; a screen comes before this stage.
      config: sizes and limits, fixed beforehand.
      seed: same seed, same posterior.
      previous: an earlier posterior of the same knobs; the search looks there first.

    Raises:
      InputError: an episode that lacks the task's signals.
    """
    fitted, held = select(episodes, config.logs, config.held_out)
    if not fitted:
        return _prior(world.space, config, seed)
    replay = Replay(world, fitted)
    noise = channel_noise(replay)
    aside = noise_knobs(replay, noise)
    sampled, likelihood = _sample(replay, noise, aside, config, seed, _warm(world, previous))

    rng = generator(seed, "calibrate", "particles")
    particles = sampled.flat[rng.permutation(len(sampled.flat))[: config.particles]]
    draws = sampled.flat[rng.permutation(len(sampled.flat))[:_DRAWS]]
    scatter = episode_scatter(draws, likelihood.by_episode(replay.residuals(draws)))
    found = verdicts(world.space, sampled, scatter, config)
    # the error on other episodes, at a few draws, so that the doubt left counts as error too
    errors = (Replay(world, held) if held else replay).residuals(draws[:4])
    left = _left(errors, likelihood)
    return Posterior(
        space=world.space,
        particles=particles,
        weights=np.full(len(particles), 1.0 / len(particles)),
        shipped=shipped(
            world.space, particles, factor=_factor(found, left, scatter, sampled.rhat, config),
            least=config.least, n=config.particles, seed=spawn(seed, "calibrate"),
        ),
        noise=noise,
        discrepancy=_by_channel(replay, replay_rms(errors)),
        checks=_checks(sampled, left, errors, likelihood, len(held) or len(fitted), config),
        verdicts=found,
        episodes=tuple(e.id for e in fitted),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Part:
    """The knobs that replays depend on, as a space of their own."""

    whole: KnobSpace
    columns: np.ndarray

    @property
    def space(self) -> KnobSpace:
        return self.whole.subset([self.whole.names[i] for i in self.columns])

    def fill(self, values: np.ndarray) -> np.ndarray:
        """(M, K) to (M, P), the other knobs at nominal."""
        out = np.tile(self.whole.nominal, (len(values), 1))
        out[:, self.columns] = values
        return out


def _sample(
    replay: Replay,
    noise: dict[str, np.ndarray],
    aside: tuple[NoiseKnob, ...],
    config: CalibrateConfig,
    seed: int,
    warm: np.ndarray | None,
) -> tuple[Sampled, RobustLikelihood]:
    """Search, refine, guess, walk; knobs of white noise are drawn from their closed form."""
    taken = {knob.column for knob in aside}
    part = _Part(replay.space, np.array([i for i in range(len(replay.space)) if i not in taken]))
    warm = None if warm is None else warm[:, part.columns]
    white = np.concatenate([noise[c.name] for c in replay.channels])
    floor = np.maximum(config.floor * replay.range, white)

    residuals = Seen(residuals=lambda values: replay.residuals(part.fill(values)), space=part.space)

    def at(best: np.ndarray) -> RobustLikelihood:
        return RobustLikelihood.at(
            best, floor, parameters=int(fit.moved.sum()), nu=config.nu,
            blocks=config.blocks, price=config.price, count=config.count,
        )  # fmt: skip

    rough = RobustLikelihood(scale=3.0 * floor, temper=np.ones(len(floor)), nu=config.nu)
    fit = search(
        lambda v: rough(residuals(v)), part.space, seed=spawn(seed, "calibrate"),
        starts=config.starts, budget=config.budget, probes=config.probes,
        initial=None if warm is None else warm.mean(axis=0)[None],
    )  # fmt: skip
    fit, _ = refine(residuals, part.space, fit, at, iterations=config.refine)
    fit, likelihood, proposed = emulated(
        residuals, fit, at, floor=floor, seed=spawn(seed, "calibrate"),
        batches=config.batches, size=config.batch, warm=warm,
    )  # fmt: skip
    chain = chains(
        lambda v: likelihood(residuals.residuals(v)), part.space, fit=fit,
        seed=spawn(seed, "calibrate"), walkers=config.walkers, steps=config.steps,
        burn=config.burn, ensembles=config.ensembles, redraw=config.redraw, guess=proposed,
    )  # fmt: skip

    rng = generator(seed, "calibrate", "noise")
    count, knobs = len(chain.flat), len(replay.space)
    unit = rng.random((count, knobs))
    unit[:, part.columns] = part.space.to_unit(chain.flat)
    redraw, rhat, ess = np.ones(knobs), np.ones(knobs), np.full(knobs, float(count))
    # a knob that was never redrawn shows its probe at the search's end
    known = np.isfinite(chain.redraw_acceptance)
    redraw[part.columns] = np.where(known, chain.redraw_acceptance, fit.probe)
    rhat[part.columns], ess[part.columns] = chain.rhat, chain.ess
    for knob in aside:
        unit[:, knob.column] = knob.draw(rng, count)
        redraw[knob.column] = knob.redraw
    flat = replay.space.from_unit(unit)
    return Sampled(flat=flat, redraw=redraw, rhat=rhat, ess=ess), likelihood


def _left(errors: np.ndarray, likelihood: RobustLikelihood) -> np.ndarray:
    """(D,) robust size of held-out errors, in units of what the fit leaves."""
    size = 1.4826 * np.nanmedian(np.abs(errors), axis=(0, 1, 2))
    return size / likelihood.scale.reshape(-1)


def _factor(
    found: tuple[KnobVerdict, ...],
    left: np.ndarray,
    scatter: np.ndarray,
    rhat: np.ndarray,
    config: CalibrateConfig,
) -> np.ndarray:
    """(P,) how much wider each knob is shipped than its posterior.

    The largest of three: held-out error over what the fit leaves, the episodes'
    disagreement, and R-hat, which is by how much chains that have not met may still grow.
    """
    wide = max(1.0, float(np.nanmax(left)))
    moved = np.array([v.verdict not in ("no effect", "not identifiable") for v in found])
    grow = np.maximum(np.maximum(wide, scatter), rhat)
    return np.where(moved, np.clip(grow, 1.0, config.most), 1.0)


def _checks(
    sampled: Sampled,
    left: np.ndarray,
    errors: np.ndarray,
    likelihood: RobustLikelihood,
    held: int,
    config: CalibrateConfig,
) -> tuple[Check, ...]:
    worst, rhat = float(np.nanmax(left)), float(np.max(sampled.rhat))
    tail = float(np.nanmax(excess(replay_rms(errors), likelihood.scale.reshape(-1))))
    return (
        Check(
            name="misspecification", value=worst, limit=config.alarm, ok=worst <= config.alarm,
            sentence=f"Replay of {held} held-out episodes errs {worst:.2f} times what the fit"
            " leaves.",
        ),
        Check(
            name="rhat", value=rhat, limit=config.rhat, ok=rhat <= config.rhat,
            sentence=f"Largest R-hat over the knobs is {rhat:.2f}.",
        ),
        Check(
            name="unexplained", value=tail, limit=np.inf, ok=True,
            sentence=f"The rms of that error is {tail:.1f} times its typical size; it is large"
            " where attempts go another way than their replay.",
        ),
    )  # fmt: skip


def _by_channel(replay: Replay, rms: np.ndarray) -> dict[str, np.ndarray]:
    out: dict[str, np.ndarray] = {}
    at = 0
    for c in replay.channels:
        out[c.name] = rms[at : at + len(c.columns)]
        at += len(c.columns)
    return out


def _warm(world: World, previous: Posterior | None) -> np.ndarray | None:
    if previous is None or previous.space.names != world.space.names:
        return None
    return previous.particles if previous.episodes else None


def _prior(space: KnobSpace, config: CalibrateConfig, seed: int) -> Posterior:
    """No clean log at all: the prior, and a check that says so."""
    draws = space.sample(generator(seed, "calibrate", "prior"), config.particles)
    return Posterior(
        space=space,
        particles=draws,
        weights=np.full(len(draws), 1.0 / len(draws)),
        shipped=draws,
        checks=(
            Check(name="logs", value=0.0, limit=1.0, ok=False, sentence="There is no clean log."),
        ),
        verdicts=prior_verdicts(space, draws),
    )
