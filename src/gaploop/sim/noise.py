"""Random numbers of attempts: attempt i's depend on seeds[i] alone.

Each attempt has counter-based streams of its own (Philox), drawn before the run
in a fixed layout, whatever the batch around it and whichever effects are on.
"""

import numpy as np


class Draws:
    """Standard normals and uniforms of N attempts, time first; drawn when first asked for.

    A longer horizon continues the same streams.
    """

    def __init__(self, seeds: np.ndarray, steps: int, width: int) -> None:
        """`width` columns a step: fixed by the task, never by what is switched on."""
        self._seeds, self._steps, self._width = seeds, steps, width
        self._normal: np.ndarray | None = None
        self._uniform: np.ndarray | None = None

    @property
    def normal(self) -> np.ndarray:
        """(steps, N, width) standard normals."""
        if self._normal is None:
            self._normal = self._draw(0)
        return self._normal

    @property
    def uniform(self) -> np.ndarray:
        """(steps, N, width) uniforms in [0, 1)."""
        if self._uniform is None:
            self._uniform = self._draw(1)
        return self._uniform

    def _draw(self, stream: int) -> np.ndarray:
        out = np.empty((len(self._seeds), self._steps, self._width))
        bits = np.random.Philox(key=0)
        rng = np.random.Generator(bits)
        # setting the key of one generator is ten times cheaper than making N of them
        state = bits.state
        fill = rng.standard_normal if stream == 0 else rng.random
        for i, seed in enumerate(self._seeds):
            state["state"]["key"][:] = (seed, stream)
            bits.state = state
            fill(out=out[i])
        return np.ascontiguousarray(out.swapaxes(0, 1))
