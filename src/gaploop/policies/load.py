"""A reference to a policy: a folder, an ONNX file, a registered name or `module:Attr`."""

from pathlib import Path

from gaploop.core import ContractError, UsageError, registry
from gaploop.core.contract import PolicyContract
from gaploop.core.protocols import Policy
from gaploop.policies.onnx import OnnxPolicy


def load_policy(ref: str | Path, *, mends: bool = True) -> Policy:
    """The policy behind `ref`, ready to be called.

    Args:
      ref: a folder with policy.onnx and policy.json, an ONNX file with policy.json
        beside it, a registered name, or `module:Attr` (a class or factory without
        arguments, or an object, with `.contract` and `.chunk`).
      mends: False leaves out those of the folder, for logs and worlds that are told as
        the policy behind them meets them.

    Raises:
      InputError: for a missing or damaged file.
      ContractError: for a graph that is not the one its card describes.
      UsageError, UnknownNameError: for a name that leads nowhere.
    """
    path = Path(ref)
    if path.exists() or path.suffix == ".onnx" or len(path.parts) > 1 or isinstance(ref, Path):
        return OnnxPolicy.open(path, mends=mends)
    thing = registry.load("policies", ref)
    if isinstance(thing, type) or not hasattr(thing, "chunk"):
        try:
            thing = thing()
        except TypeError as error:
            raise UsageError(
                f"The policy {ref!r} cannot be made: {error}.",
                hint="Expected a class or factory without arguments.",
            ) from error
    if not callable(getattr(thing, "chunk", None)) or not hasattr(thing, "contract"):
        raise UsageError(
            f"{ref!r} is no policy: it needs a `contract` and a method `chunk(observation)`."
        )
    if not isinstance(thing.contract, PolicyContract):
        raise ContractError(f"The `contract` of {ref!r} is no gaploop.core.PolicyContract.")
    return thing
