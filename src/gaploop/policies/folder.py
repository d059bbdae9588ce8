"""A policy on disk: `policy.onnx`, `policy.json`, and `golden.npz` where there are golden pairs.

A mended policy has `mends.json` beside them: see `gaploop.policies.mend`.

policy.json holds the PolicyContract, the SHA-256 of the graph and of the golden
pairs, and nothing that changes from run to run: the same training leaves the
same bytes.
"""

import hashlib
import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gaploop.core import ContractError, GoldenPairs, InputError, PolicyContract, digest
from gaploop.policies.decode import contract_from, contract_to
from gaploop.policies.mend import read_mends

FORMAT = "gaploop.policy/1"
GRAPH = "policy.onnx"
CARD = "policy.json"
GOLDEN = "golden.npz"


class _Golden(msgspec.Struct, forbid_unknown_fields=True):
    """Where the golden pairs lie."""

    file: str
    sha256: str
    tolerance: float


class _Card(msgspec.Struct, forbid_unknown_fields=True):
    """policy.json."""

    format: str
    sha256: str
    contract: dict[str, Any]
    golden: _Golden | None = None


def locate(path: Path) -> tuple[Path, Path]:
    """(graph, card) of a policy folder or of a bare ONNX file.

    Raises:
      InputError: when one of the two is not there.
    """
    if path.is_dir():
        graph, card = path / GRAPH, path / CARD
    else:
        graph, card = path, path.parent / CARD
    if not path.exists():
        raise InputError(
            f"There is no policy at {path}.",
            hint=f"Expected a folder with {GRAPH} and {CARD}, an ONNX file, or module:Attr.",
        )
    if not graph.is_file():
        raise InputError(f"The policy folder {path} holds no {GRAPH}.", hint="Export it as ONNX.")
    if not card.is_file():
        raise InputError(
            f"Beside {graph} there is no {CARD}, so what its numbers mean is not known.",
            hint="Write one with gaploop.policies.write_policy.",
        )
    return graph, card


def write_policy(folder: Path, graph: bytes, contract: PolicyContract) -> Path:
    """Write a policy folder; `folder` appears only when it is complete.

    Args:
      folder: must not exist yet.
      graph: the ONNX model, normalisation inside.
      contract: its golden pairs go to `golden.npz`.

    Raises:
      InputError: when `folder` exists already.
    """
    if folder.exists():
        raise InputError(
            f"{folder} exists already.", hint="Choose another folder for the new policy."
        )
    files = {GRAPH: graph}
    golden = None
    if contract.golden is not None:
        files[GOLDEN] = _pack(contract.golden)
        golden = _Golden(GOLDEN, _sha(files[GOLDEN]), contract.golden.tolerance)
    card = _Card(FORMAT, _sha(graph), contract_to(replace(contract, golden=None)), golden)
    files[CARD] = msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n"
    hidden = folder.parent / f".{folder.name}.{os.getpid()}"
    hidden.mkdir(parents=True)
    for name, data in files.items():
        with open(hidden / name, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    os.rename(hidden, folder)
    return folder


def read_contract(path: Path) -> PolicyContract:
    """The contract of a policy folder or ONNX file; digests are checked.

    Raises:
      InputError: for a file that is missing, damaged or not of this form.
      ContractError: when the graph or the golden pairs are not those the card names.
    """
    graph, where = locate(path)
    card = _decode(where)
    if _sha(graph.read_bytes()) != card.sha256:
        raise ContractError(
            f"{graph} is not the graph that {where} describes: its SHA-256 differs.",
            hint="Export the policy again, graph and card together.",
        )
    contract = contract_from(card.contract, where)
    if card.golden is None:
        return contract
    return replace(contract, golden=_unpack(where.parent / card.golden.file, card.golden))


def policy_digest(path: Path) -> str:
    """Digest of a policy: its graph, its contract, its golden pairs, and its mends where it
    has any (64 hex digits).

    Raises:
      InputError, ContractError: as `read_contract`.
    """
    contract = read_contract(path)
    mends = read_mends(path)
    return digest(_sha(locate(path)[0].read_bytes()), contract, *mends)


def _decode(where: Path) -> _Card:
    try:
        card = msgspec.json.decode(where.read_bytes(), type=_Card)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{where} is no policy card: {error}.", hint="See the policy reference."
        ) from error
    if card.format != FORMAT:
        raise InputError(
            f"{where} has format {card.format!r}; this version reads {FORMAT!r}.",
            hint="Train or export the policy again.",
        )
    return card


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _pack(golden: GoldenPairs) -> bytes:
    """The pairs as npz with fixed time stamps, so that equal pairs are equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("observations", "actions"):
            array = io.BytesIO()
            np.lib.format.write_array(
                array, np.ascontiguousarray(getattr(golden, name), "<f4"), allow_pickle=False
            )
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), array.getvalue())
    return out.getvalue()


def _unpack(file: Path, golden: _Golden) -> GoldenPairs:
    if file.name != golden.file or not file.is_file():
        raise InputError(
            f"The golden pairs {golden.file!r} are not beside {file.parent / CARD}.",
            hint="Copy the whole policy folder.",
        )
    data = file.read_bytes()
    if _sha(data) != golden.sha256:
        raise ContractError(
            f"{file} does not hold the golden pairs that {CARD} describes: its SHA-256 differs.",
            hint="Export the policy again.",
        )
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            pairs = {name: arrays[name] for name in ("observations", "actions")}
            for name, array in pairs.items():
                if array.dtype.kind != "f":
                    raise ValueError(f"{name} are {array.dtype}, and floats were expected")
            return GoldenPairs(**pairs, tolerance=golden.tolerance)
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} cannot be read as golden pairs: {error}.") from error
