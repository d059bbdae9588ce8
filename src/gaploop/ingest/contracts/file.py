"""The contract file: what training writes and a robot's runner checks before anything moves.

A policy folder of ours has one already: `policy.json`, a PolicyContract with digests. The same
contract stands alone as `contract.json`, golden pairs included, for a robot that describes
itself or a policy that runs elsewhere:

    {"format": "gaploop.contract/1", "kind": "policy" or "robot", "contract": {...}}

`load` takes either, LeRobot's processor configuration, or the log of a robot.
"""

import os
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from gaploop.core import Contract, ContractError, InputError, PolicyContract
from gaploop.core.protocols import Policy
from gaploop.ingest.contracts import processors
from gaploop.ingest.contracts.infer import infer
from gaploop.policies import require_fit
from gaploop.policies.decode import contract_from, contract_to
from gaploop.policies.folder import CARD, read_contract
from gaploop.policies.golden import check_golden

FORMAT: Final = "gaploop.contract/1"
NAME: Final = "contract.json"
_LARGEST: Final = 64 * 2**20
"""Bytes of a contract file; golden pairs are the bulk of it."""
_EPISODES: Final = 12
"""Episodes of a log that are read for its contract."""
Either = Contract | PolicyContract


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """contract.json."""

    format: str
    kind: str
    contract: dict[str, Any]


def write_contract(path: Path, contract: Either) -> Path:
    """Write `contract.json` (or any name); it appears only when it is complete.

    Raises:
      InputError: when the folder of `path` does not exist.
    """
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {path.parent} to write {path.name} into.")
    whole = contract if isinstance(contract, PolicyContract) else _robot(contract)
    kind = "policy" if whole is contract else "robot"
    data = _File(format=FORMAT, kind=kind, contract=contract_to(whole))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(draft, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    return path


def read_contract_file(path: Path) -> Either:
    """The contract in a file that `write_contract` wrote.

    Raises:
      InputError: for a file that is missing, damaged, too large or of another form.
    """
    data = _bytes(path)
    try:
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(
            f"{path} is no contract file: {error}.",
            hint='Expected {"format": "gaploop.contract/1", "kind": ..., "contract": ...}.',
        ) from None
    if file.format != FORMAT:
        raise InputError(
            f"{path} has format {file.format!r}; this version reads {FORMAT!r}.",
            hint="Write it again with this version.",
        )
    if file.kind not in ("policy", "robot"):
        raise InputError(f"{path} is of kind {file.kind!r}; expected policy or robot.")
    try:
        whole = contract_from(file.contract, path)
    except RecursionError:
        raise InputError(f"{path} is nested too deeply for a contract.") from None
    return whole.contract if file.kind == "robot" else whole


def load(path: Path) -> Either:
    """The contract of whatever lies at `path`.

    A contract file; a policy folder of ours or its card; LeRobot's processor configuration (the
    folder or its policy_preprocessor.json); else a log in any format that is read, declared
    where its source says so and inferred where not.

    Raises:
      InputError, ContractError: for a path that is missing, damaged, or nothing of these.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"There is no file or folder {str(path)[:300]}.", hint="Check the path.")
    if path.is_dir() and (path / NAME).is_file():
        return read_contract_file(path / NAME)
    if path.name == CARD or (path.is_dir() and (path / CARD).is_file()) or path.suffix == ".onnx":
        return read_contract(path.parent if path.name == CARD else path)
    if processors.sniff(path):
        return processors.read_processors(path)
    if path.is_file() and path.suffix == ".json" and b'"gaploop.contract/' in _head(path):
        return read_contract_file(path)
    return of_log(path)


def of_log(path: Path) -> Contract:
    """The contract of a log or dataset: declared where it is, inferred from its first episodes.

    Raises:
      InputError: for a path nobody reads, or that holds no whole episode.
    """
    from itertools import islice

    from gaploop.ingest.source import open_source

    episodes = list(islice(open_source(path).episodes(), _EPISODES))
    return infer(episodes, episodes[0].contract)


def check_runner(
    policy: PolicyContract, robot: Contract, running: Policy | None = None, *, sure: float = 0.5
) -> float:
    """What a runner does once, before it moves: contracts agree, and golden pairs come out right.

    Args:
      policy: read from the policy's contract file.
      robot: of the robot it will run on.
      running: the policy as it runs here; None where only contracts can be compared.
      sure: differences less sure than this are let pass.

    Returns:
      The largest difference over the golden pairs, in the robot's units; 0 without `running`.

    Raises:
      ContractError: naming every field that differs, or the golden pair that does.
    """
    from gaploop.ingest.contracts.compare import require_agreement

    require_agreement(policy, robot, sure=sure)
    require_fit(policy, robot)
    if running is None:
        return 0.0
    if running.contract.normaliser != policy.normaliser:
        raise ContractError(
            f"The policy that runs here was normalised by {running.contract.normaliser[:8]!r}, the "
            f"contract says {policy.normaliser[:8]!r}.",
            hint="Statistics of another training: deploy policy and contract together.",
        )
    return check_golden(running)


def _robot(contract: Contract) -> PolicyContract:
    """A robot's contract in the form a policy's is kept in; what only policies have is empty."""
    columns = tuple(c for f in contract.features for c in f.columns) or ("",)
    return PolicyContract(
        contract=contract, inputs=tuple(f.key for f in contract.features), columns=columns,
        history=1, chunk=1, execute=1, normaliser="",
    )  # fmt: skip


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > _LARGEST:
            raise InputError(f"{path} has {size} bytes; a contract file has at most {_LARGEST}.")
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no contract file {path}.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)


def plain(value: Any) -> Any:
    """JSON data of a field's value, for a page or a command."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    return value
