"""Seeds spawned from names, so that no stage shares a stream with another."""

import hashlib

import numpy as np


def spawn(seed: int, *names: str | int) -> int:
    """A 64-bit seed from a run seed and the names of who uses it."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A NumPy generator of its own for (seed, names)."""
    return np.random.default_rng(spawn(seed, *names))


def spawn_many(seed: int, n: int, *names: str | int) -> np.ndarray:
    """(n,) uint64 seeds; the first k are the same for any n >= k."""
    return np.array([spawn(seed, *names, i) for i in range(n)], dtype=np.uint64)
