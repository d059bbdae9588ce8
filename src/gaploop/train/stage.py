"""Datasets in, a policy folder out."""

import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from gaploop.core import (
    Episode,
    GoldenPairs,
    InputError,
    PolicyContract,
    TaskSpec,
    UsageError,
    declared,
    digest,
    generator,
)
from gaploop.policies import check_golden, load_policy, policy_digest, write_policy
from gaploop.train.config import TrainConfig
from gaploop.train.export import mlp_graph
from gaploop.train.net import Trained, train_network
from gaploop.train.normalise import Normaliser, fit_normaliser
from gaploop.train.pairs import Windows, join, windows
from gaploop.train.report import Source, TrainReport


def train(
    datasets: Sequence[Path],
    weights: Sequence[float],
    spec: TaskSpec,
    config: TrainConfig,
    seed: int,
    out: Path,
) -> TrainReport:
    """Train on LeRobot folders and write the policy folder `out`.

    Args:
      weights: share of the batches drawn from each dataset, up to a factor.

    Raises:
      InputError, ContractError: for data that cannot be trained on; `out` is not written.
      UsageError: for weights that fit no dataset.
      MissingExtraError: without the `train` extra.
    """
    from gaploop.store.datasets import read_dataset  # pyarrow, only where data are read

    return fit_policy([list(read_dataset(d)) for d in datasets], weights, spec, config, seed, out)


def fit_policy(
    sources: Sequence[Sequence[Episode]],
    weights: Sequence[float],
    spec: TaskSpec,
    config: TrainConfig,
    seed: int,
    out: Path,
) -> TrainReport:
    """As `train`, on episodes in memory: one sequence a dataset."""
    started, started_cpu = time.perf_counter(), time.process_time()
    _check(sources, weights, out)
    weights = [w / sum(weights) for w in weights]
    parts = [windows(s, spec, config.chunk, after=config.after) for s in sources]
    every = join(parts, renumber=True)
    kept = _held_out(parts, config, seed)
    share = _share(parts, weights, kept)
    fit, held_out = every.take(np.flatnonzero(~kept)), every.take(np.flatnonzero(kept))
    share = share[~kept]
    normaliser = fit_normaliser(fit, share, spec.history)
    golden = _golden(fit, config, seed)
    bounds = np.array(spec.command_low, "f4"), np.array(spec.command_high, "f4")
    trained = train_network(fit, share, held_out, normaliser, bounds, golden, config, seed)
    mixture = _mixture(sources, parts, weights, config)
    contract = _contract(spec, config, normaliser, trained, golden, mixture, seed)
    write_policy(out, _graph(trained, normaliser, bounds, config), contract)
    return TrainReport(
        policy=policy_digest(out),
        folder=out,
        sources=mixture,
        steps=config.steps,
        seed=seed,
        parameters=trained.parameters,
        train_loss=trained.train_loss,
        held_out_loss=trained.held_out_loss,
        held_out_rms=trained.held_out_rms,
        curve=trained.curve,
        golden_error=check_golden(load_policy(out)),
        wall=time.perf_counter() - started,
        cpu=time.process_time() - started_cpu,
    )


def _check(sources: Sequence[Sequence[Episode]], weights: Sequence[float], out: Path) -> None:
    if not sources or any(not s for s in sources):
        raise InputError("A dataset without episodes cannot be trained on.")
    if len(weights) != len(sources) or any(not 0 < w < float("inf") for w in weights):
        raise UsageError(
            f"{len(sources)} datasets and weights {list(weights)}; expected a positive one each."
        )
    if out.exists():
        raise InputError(f"{out} exists already.", hint="Choose another folder for the new policy.")


def _held_out(parts: Sequence[Windows], config: TrainConfig, seed: int) -> np.ndarray:
    """(K,) bool: windows of whole episodes that training never sees, some of each dataset."""
    kept = []
    for i, part in enumerate(parts):
        episodes = np.unique(part.episode)
        draw = generator(seed, "train", "held out", i)
        chosen = draw.choice(episodes, int(config.held_out * len(episodes)), replace=False)
        kept.append(np.isin(part.episode, chosen))
    return np.concatenate(kept)


def _share(parts: Sequence[Windows], weights: Sequence[float], kept: np.ndarray) -> np.ndarray:
    """(K,) probability of each window; zero for held-out ones, each dataset its weight."""
    starts = np.cumsum([0, *[len(p) for p in parts]])
    share = np.where(kept, 0.0, 1.0)
    for weight, begin, end in zip(weights, starts[:-1], starts[1:], strict=True):
        share[begin:end] *= weight / share[begin:end].sum()
    return share / share.sum()


def _golden(fit: Windows, config: TrainConfig, seed: int) -> np.ndarray:
    """(G, history * frame) training observations, in order of their place."""
    count = min(config.golden, len(fit))
    rows = generator(seed, "train", "golden").choice(len(fit), count, replace=False)
    return fit.obs[np.sort(rows)]


def _mixture(
    sources: Sequence[Sequence[Episode]],
    parts: Sequence[Windows],
    weights: Sequence[float],
    config: TrainConfig,
) -> tuple[Source, ...]:
    return tuple(
        Source(
            dataset=digest([e.id for e in episodes]),
            episodes=len(episodes),
            real=sum(e.world == "real" for e in episodes),
            frames=len(part),
            share=weight,
            epochs=weight * config.steps * config.batch / len(part),
        )
        for episodes, part, weight in zip(sources, parts, weights, strict=True)
    )


def _contract(
    spec: TaskSpec,
    config: TrainConfig,
    normaliser: Normaliser,
    trained: Trained,
    golden: np.ndarray,
    mixture: Sequence[Source],
    seed: int,
) -> PolicyContract:
    """What a runner needs to know. Nothing that differs between two equal trainings."""
    rate = declared(1 / spec.control_dt)
    return PolicyContract(
        contract=replace(spec.contract, control_rate=rate),
        inputs=spec.inputs,
        columns=spec.frame_columns,
        history=spec.history,
        chunk=config.chunk,
        execute=config.execute,
        normaliser=normaliser.digest,
        input_mean=normaliser.mean,
        input_std=normaliser.std,
        action_low=spec.command_low,
        action_high=spec.command_high,
        provenance={
            "base model": "none",
            "task": spec.name,
            "seed": str(seed),
            "training": digest(config),
            "datasets": " ".join(s.dataset for s in mixture),
            "shares": " ".join(f"{s.share:.4f}" for s in mixture),
            "episodes": str(sum(s.episodes for s in mixture)),
            "real episodes": str(sum(s.real for s in mixture)),
        },
        versions={name: version(name) for name in ("gaploop", "numpy", "onnx", "torch")},
        golden=GoldenPairs(
            observations=golden,
            actions=trained.golden,
            tolerance=config.tolerance * float(normaliser.out_scale.min()),
        ),
    )


def _graph(
    trained: Trained,
    normaliser: Normaliser,
    bounds: tuple[np.ndarray, np.ndarray],
    config: TrainConfig,
) -> bytes:
    return mlp_graph(
        shift=normaliser.shift,
        mix=normaliser.mix,
        clip=config.clip,
        layers=trained.layers,
        out_scale=normaliser.out_scale,
        out_shift=normaliser.out_shift,
        low=bounds[0],
        high=bounds[1],
        chunk=config.chunk,
    )
