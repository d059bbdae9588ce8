"""Drives a batch with action chunks."""

from collections.abc import Sequence

import numpy as np

from gaploop.core import ContractError, Mend, UsageError
from gaploop.core.protocols import Policy
from gaploop.policies.mend import Between


class ChunkRunner:
    """Executes the first `execute` actions of each chunk, then asks again.

    Implements `gaploop.core.protocols.Controller`. All attempts ask at the same
    steps: 0, execute, 2 * execute, ... Past the end of a chunk (execute > H) its
    last action is held. A mended policy sees each robot through its unit's mends.
    """

    def __init__(
        self,
        policy: Policy,
        execute: int | None = None,
        *,
        units: str | Sequence[str] = "",
        mends: Sequence[Mend] | None = None,
    ) -> None:
        """`execute` None is what the policy's contract says.

        Args:
          units: which specimen each attempt runs on, or one for all; its mends apply.
          mends: instead of those in the policy's folder.

        Raises:
          UsageError: for an `execute` below 1.
        """
        self.policy = policy
        self.execute = policy.contract.execute if execute is None else execute
        if self.execute < 1:
            raise UsageError(f"execute is {self.execute}; a policy executes at least 1 action.")
        given = getattr(policy, "mends", ()) if mends is None else mends
        self._between = Between(policy.contract, given, units) if given else None
        self._chunk = np.empty((0, 0, 0), np.float32)
        self._asked: int | None = None

    def reset(self, n: int) -> None:
        """Forget the current chunks; n attempts begin."""
        self._asked = None

    def act(self, step: int, observation: np.ndarray, truth: dict[str, np.ndarray]) -> np.ndarray:
        """(n, history * frame) to commands (n, a) in the robot's units; `truth` is not read.

        Raises:
          ContractError: when the policy answers a finite observation with NaN or infinity.
        """
        if self._asked is None or step - self._asked >= self.execute:
            self._chunk = self._ask(step, observation)
            self._asked = step
        age = min(step - self._asked, self._chunk.shape[1] - 1)
        return self._chunk[:, age]

    def _ask(self, step: int, observation: np.ndarray) -> np.ndarray:
        between = self._between
        seen = observation if between is None else between.read(step, observation)
        chunk = self.policy.chunk(seen)
        expected = (len(observation), self.policy.contract.chunk)
        if chunk.ndim != 3 or chunk.shape[:2] != expected:
            raise ContractError(
                f"The policy answers with shape {chunk.shape}; its contract says "
                f"({expected[0]}, {expected[1]}, a)."
            )
        if not np.isfinite(chunk).all():
            # a diverged simulation may show NaN; a healthy one must not get it back
            bad = ~np.isfinite(chunk).all((1, 2)) & np.isfinite(observation).all(1)
            if bad.any():
                raise ContractError(
                    f"The policy answers attempt {int(bad.argmax())} at step {step} with a "
                    "command that is not finite.",
                    hint="Compare the live observations with the policy's training statistics.",
                )
        return chunk if between is None else between.send(chunk)
