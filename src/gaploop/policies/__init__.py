"""Run a policy: load it, check that it fits the robot, drive a batch with its chunks."""

from gaploop.policies.fit import check_fit, require_fit
from gaploop.policies.folder import policy_digest, read_contract, write_policy
from gaploop.policies.golden import check_golden
from gaploop.policies.load import load_policy
from gaploop.policies.runner import ChunkRunner

__all__ = [
    "ChunkRunner",
    "check_fit",
    "check_golden",
    "load_policy",
    "policy_digest",
    "read_contract",
    "require_fit",
    "write_policy",
]
