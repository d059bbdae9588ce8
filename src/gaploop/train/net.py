"""The network and its gradient steps. Nothing here touches torch's global state for long."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gaploop.core import MissingExtraError, generator, spawn
from gaploop.train.config import TrainConfig
from gaploop.train.normalise import Normaliser
from gaploop.train.pairs import Windows
from gaploop.train.report import Epoch

if TYPE_CHECKING:
    import torch

MOMENTS = 6
"""Points on the reported loss curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """Weights as NumPy arrays, the curve, and the network's own answers."""

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    """(in, out) weight and (out,) bias of each layer, float32."""
    parameters: int
    curve: tuple[Epoch, ...]
    train_loss: float
    held_out_loss: float
    held_out_rms: tuple[float, ...]
    golden: np.ndarray
    """(G, H, a) float32 answers of torch to the golden observations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Data:
    """Normalised tensors of a set of windows."""

    z: "torch.Tensor"
    target: "torch.Tensor"
    weight: "torch.Tensor"


def train_network(
    fit: Windows,
    share: np.ndarray,
    held_out: Windows,
    normaliser: Normaliser,
    bounds: tuple[np.ndarray, np.ndarray],
    golden: np.ndarray,
    config: TrainConfig,
    seed: int,
) -> Trained:
    """Behaviour cloning of the chunks of `fit`, windows drawn with probability `share` (K,).

    The loss is Huber on normalised commands, weighted by each command's own weight.
    Deterministic: one thread, generators of its own.

    Raises:
      MissingExtraError: without torch.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("torch", "train") from error
    with _one_thread():
        layers = _layers(fit.obs.shape[1], fit.chunks.shape[1] * fit.chunks.shape[2], config, seed)
        data, kept = _tensors(fit, normaliser, config), _tensors(held_out, normaliser, config)
        curve = _descend(layers, data, kept, share, config, seed)
        with torch.no_grad():
            return Trained(
                layers=tuple((w.t().contiguous().numpy(), b.numpy()) for w, b in layers),
                parameters=sum(w.numel() + b.numel() for w, b in layers),
                curve=curve,
                train_loss=_loss_over(layers, data, config),
                held_out_loss=_loss_over(layers, kept, config),
                held_out_rms=_rms(layers, kept, normaliser, config),
                golden=_answer(layers, golden, normaliser, bounds, config),
            )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums in one order, and the other core left to others; restored afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


Layers = list[tuple["torch.Tensor", "torch.Tensor"]]


def _layers(inputs: int, outputs: int, config: TrainConfig, seed: int) -> Layers:
    """Uniform weights scaled by fan-in (LeCun et al., Efficient BackProp, 1998, eq. 16)."""
    import torch

    source = torch.Generator().manual_seed(spawn(seed, "train", "weights") >> 1)
    sizes = [inputs, *[config.width] * config.layers, outputs]
    layers: Layers = []
    for fan_in, fan_out in pairwise(sizes):
        reach = (3 / fan_in) ** 0.5
        weight = (2 * torch.rand(fan_out, fan_in, generator=source) - 1) * reach
        layers.append((weight.requires_grad_(), torch.zeros(fan_out, requires_grad=True)))
    with torch.no_grad():
        layers[-1][0].mul_(0.1)  # begin near the mean command
    return layers


def _forward(layers: Layers, z: "torch.Tensor") -> "torch.Tensor":
    from torch.nn.functional import linear, silu

    x = silu(linear(z, *layers[0]))
    for weight, bias in layers[1:-1]:
        x = x + silu(linear(x, weight, bias))
    return linear(x, *layers[-1])


def _descend(
    layers: Layers, data: _Data, kept: _Data, share: np.ndarray, config: TrainConfig, seed: int
) -> tuple[Epoch, ...]:
    import torch

    flat = [tensor for layer in layers for tensor in layer]
    optimiser = torch.optim.AdamW(
        flat, lr=config.lr, weight_decay=config.weight_decay, betas=(0.9, 0.99), fused=True
    )
    draw = generator(seed, "train", "batches")
    edges = np.cumsum(share)
    every = -(-config.steps // MOMENTS)
    curve: list[Epoch] = []
    seen = 0.0
    for step in range(config.steps):
        for group in optimiser.param_groups:
            group["lr"] = config.lr * _schedule(step, config)
        rows = torch.from_numpy(np.searchsorted(edges, draw.random(config.batch) * edges[-1]))
        loss = _loss(_forward(layers, data.z[rows]), data.target[rows], data.weight[rows], config)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        seen += float(loss.detach())
        if (step + 1) % every == 0 or step + 1 == config.steps:
            since = step + 1 - (curve[-1].step if curve else 0)
            with torch.no_grad():
                held_out = _loss_over(layers, kept, config)
            curve.append(Epoch(step=step + 1, train=seen / since, held_out=held_out))
            seen = 0.0
    return tuple(curve)


def _schedule(step: int, config: TrainConfig) -> float:
    rise = config.warmup * config.steps
    if step < rise:
        return (step + 1) / (rise + 1)
    return 0.5 * (1 + np.cos(np.pi * (step - rise) / (config.steps - rise)))


def _loss(
    y: "torch.Tensor", target: "torch.Tensor", weight: "torch.Tensor", config: TrainConfig
) -> "torch.Tensor":
    """Twice the Huber loss, so that small residuals count as variances."""
    from torch.nn.functional import huber_loss

    return 2 * (huber_loss(y, target, reduction="none", delta=config.huber) * weight).mean()


def _loss_over(layers: Layers, data: _Data, config: TrainConfig) -> float:
    if not len(data.z):
        return float("nan")
    return float(_loss(_forward(layers, data.z), data.target, data.weight, config))


def _tensors(windows: Windows, normaliser: Normaliser, config: TrainConfig) -> _Data:
    import torch

    z = _features(torch.from_numpy(windows.obs), normaliser, config.clip)
    target = (windows.chunks - normaliser.out_shift) / normaliser.out_scale
    weight = np.repeat(windows.weights, windows.chunks.shape[2], axis=1)
    return _Data(
        z=z,
        target=torch.from_numpy(target.reshape(weight.shape)),
        weight=torch.from_numpy(weight),
    )


def _features(obs: "torch.Tensor", normaliser: Normaliser, clip: float) -> "torch.Tensor":
    import torch

    mixed = (obs - torch.from_numpy(normaliser.shift)) @ torch.from_numpy(normaliser.mix)
    return mixed.clamp(-clip, clip)


def _answer(
    layers: Layers,
    obs: np.ndarray,
    normaliser: Normaliser,
    bounds: tuple[np.ndarray, np.ndarray],
    config: TrainConfig,
) -> np.ndarray:
    """(n, H, a) float32 in the robot's units: the whole path, as the graph must compute it."""
    import torch

    y = _forward(layers, _features(torch.from_numpy(obs), normaliser, config.clip))
    y = y.reshape(len(obs), config.chunk, -1).numpy()
    y = y * normaliser.out_scale + normaliser.out_shift
    return np.clip(y, *bounds)


def _rms(
    layers: Layers, kept: _Data, normaliser: Normaliser, config: TrainConfig
) -> tuple[float, ...]:
    if not len(kept.z):
        return ()
    off = (_forward(layers, kept.z) - kept.target).numpy()
    off = off.reshape(len(off), config.chunk, -1)[:, : config.execute]
    return tuple(map(float, np.sqrt((off**2).mean((0, 1))) * normaliser.out_scale))
