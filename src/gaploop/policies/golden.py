"""Golden pairs: the run-time path must answer what training saw."""

import numpy as np

from gaploop.core import ContractError
from gaploop.core.protocols import Policy


def check_golden(policy: Policy) -> float:
    """Largest absolute difference over the golden pairs, in the robot's units.

    Each pair is run alone and all are run as one batch: a policy whose answer
    depends on its neighbours in the batch fails too.

    Raises:
      ContractError: without golden pairs, for another shape, or beyond the tolerance.
    """
    golden = policy.contract.golden
    if golden is None or not len(golden.observations):
        raise ContractError(
            "The policy has no golden pairs, so nothing shows that it runs as it was trained.",
            hint="Export it with the pairs its training framework computed.",
        )
    batch = policy.chunk(golden.observations)
    if batch.shape != golden.actions.shape:
        raise ContractError(
            f"The policy answers the golden observations with shape {batch.shape}; "
            f"training saw {golden.actions.shape}."
        )
    alone = np.concatenate([policy.chunk(x[None]) for x in golden.observations])
    error = np.maximum(np.abs(batch - golden.actions), np.abs(alone - golden.actions))
    worst = float(error.max())
    if not worst <= golden.tolerance:  # NaN fails too
        pair, step, column = (int(i) for i in np.unravel_index(error.argmax(), error.shape))
        raise ContractError(
            f"The policy does not run as it was trained: on golden pair {pair}, step {step}, "
            f"action {column} it answers {batch[pair, step, column]:.6g} and training saw "
            f"{golden.actions[pair, step, column]:.6g}; the tolerance is {golden.tolerance:.3g}.",
            hint="Export the policy again, or compare the normalisation on both sides.",
        )
    return worst
