"""PolicyContract to and from plain data. Strict: an unknown key is an error, not a shrug."""

import dataclasses
import difflib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gaploop.core import Contract, Feature, GoldenPairs, InputError, PolicyContract, Stated

# where a dataclass sits inside another, by field name
_NESTED: dict[type, dict[str, type]] = {
    PolicyContract: {"contract": Contract, "golden": GoldenPairs},
    Contract: {
        f.name: Feature if f.name == "features" else Stated for f in dataclasses.fields(Contract)
    },
    Feature: {f.name: Stated for f in dataclasses.fields(Feature) if f.type is Stated},
    Stated: {},
    GoldenPairs: {},
}


def contract_to(contract: PolicyContract) -> dict[str, Any]:
    """The contract as JSON data; a statement nobody made is left out."""
    data = msgspec.to_builtins(contract, enc_hook=_encode)
    for part in (data["contract"], *data["contract"]["features"]):
        for key in [k for k, v in part.items() if isinstance(v, dict) and v["source"] == "unknown"]:
            del part[key]
    return data


def contract_from(data: Any, where: Path | str) -> PolicyContract:
    """The contract in JSON data.

    Raises:
      InputError: naming the key that is unknown, missing or of the wrong type.
    """
    _known(PolicyContract, data, f"{where}, contract")
    try:
        contract = msgspec.convert(data, PolicyContract, dec_hook=_decode)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{where} holds no policy contract: {error}.", hint="See the policy reference."
        ) from error
    return _check(_frozen(contract), where)


def _known(kind: type, data: Any, where: str) -> None:
    """Refuse keys that `kind` does not have; msgspec would drop them silently."""
    if not isinstance(data, dict):
        return
    names = [f.name for f in dataclasses.fields(kind)]
    for key, value in data.items():
        if key not in names:
            close = difflib.get_close_matches(key, names, n=1)
            guess = f"Did you mean {close[0]!r}? " if close else ""
            raise InputError(
                f"{where} has an unknown key {key!r}.", hint=f"{guess}Known: {', '.join(names)}."
            )
        if key in _NESTED[kind]:
            for i, item in enumerate(value if isinstance(value, list) else [value]):
                at = f"{where}.{key}[{i}]" if isinstance(value, list) else f"{where}.{key}"
                _known(_NESTED[kind][key], item, at)


def _frozen(value: Any) -> Any:
    """JSON knows no tuples: lists inside statements become tuples again."""
    if isinstance(value, list):
        return tuple(_frozen(v) for v in value)
    if isinstance(value, tuple):
        return tuple(_frozen(v) for v in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, GoldenPairs)):
        return dataclasses.replace(
            value, **{f.name: _frozen(getattr(value, f.name)) for f in dataclasses.fields(value)}
        )
    return value


def _check(contract: PolicyContract, where: Path | str) -> PolicyContract:
    """Figures that no policy can have."""
    d = len(contract.columns)
    wrong = ""
    if contract.history < 1 or contract.chunk < 1 or contract.execute < 1 or not d:
        wrong = "history, chunk and execute must be at least 1, and columns not empty"
    elif any(len(v) not in (0, d) for v in (contract.input_mean, contract.input_std)):
        wrong = f"input_mean and input_std must have one number for each of the {d} columns"
    elif len(contract.action_low) != len(contract.action_high):
        wrong = "action_low and action_high differ in length"
    if wrong:
        raise InputError(f"{where} holds no policy contract: {wrong}.")
    return contract


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(type(value).__name__)


def _decode(kind: type, value: Any) -> Any:
    if kind is np.ndarray:
        try:
            return np.array(value, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"expected nested lists of numbers: {error}") from error
    raise NotImplementedError(kind.__name__)
