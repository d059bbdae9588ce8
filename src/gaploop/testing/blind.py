"""A scripted policy for `peg` that believes its own commands, as a clone of one world does.

It steers by the pose it is shown and the command it sent last, and looks at its
joints only a little: a gain, a bias or a joint zero that training lacked makes it
miss, while delay and friction do not. `aim` makes it its own fault.
"""

import numpy as np

from gaploop.core import PolicyContract, TaskSpec


class Blind:
    """Implements `core.protocols.Policy`."""

    def __init__(self, spec: TaskSpec, *, aim: float = 0.0) -> None:
        """aim: where it steers past the hole it sees, m in x and y."""
        self.spec, self.aim = spec, aim
        self._most = np.array([0.1, 0.1, 0.06]) * spec.control_dt
        self.contract = PolicyContract(
            contract=spec.contract, inputs=spec.inputs, columns=spec.frame_columns,
            history=spec.history, chunk=8, execute=4, normaliser="",
            action_low=spec.command_low, action_high=spec.command_high,
        )  # fmt: skip

    def chunk(self, observation: np.ndarray) -> np.ndarray:
        """(n, history * 8) frames of q, hole, last command to (n, 8, 3) commands in m."""
        n, spec = len(observation), self.spec
        frames = observation.reshape(n, spec.history, -1).astype(float)
        q, hole, command = frames[:, -1, :3], frames[:, -1, 3:5] + self.aim, frames[:, -1, 5:8]
        at = 0.9 * command + 0.1 * (q + command - frames[:, -2, 5:8])
        chunk = []
        for _ in range(self.contract.chunk):
            error, height = hole - at[:, :2], 0.03 + at[:, 2]
            aligned = np.clip((0.0012 - np.abs(error).max(axis=1)) / 0.0008, 0.0, 1.0)
            aligned = np.where(height < 0.002, 1.0, aligned)
            drop = 0.005 - 0.0184 * aligned - height
            wanted = 0.8 * np.concatenate([error, drop[:, None]], axis=1)
            change = np.clip(wanted, -self._most, self._most)
            command = np.clip(command + change, spec.command_low, spec.command_high)
            at = at + change
            chunk.append(command)
        return np.stack(chunk, axis=1).astype(np.float32)
