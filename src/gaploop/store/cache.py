"""What makes two stage calls the same call, and therefore one."""

import importlib.util
import json
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from gaploop.core.digest import canonical, digest
from gaploop.core.errors import UsageError
from gaploop.core.runs import Run

VERSIONED = ("mujoco", "numpy", "torch")
"""Packages whose version changes results bit by bit."""


@cache
def environment() -> dict[str, str]:
    """Versions of what computes, read from package metadata: nothing is imported."""
    from importlib import metadata  # slow to load, and only a stage call needs it

    found: dict[str, str] = {}
    for name in VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


@cache
def source_digest(stage: str) -> str:
    """Digest of the files of `gaploop.STAGE`; what follows a colon is only a name.

    `train:round-2` is stage `train`. A dotted or unknown name is taken as a module path.

    Raises:
      UsageError: when there is no such module.
    """
    name = stage.partition(":")[0]
    for module in (f"gaploop.{name}", name):
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        if spec is not None and spec.origin is not None:
            return _files_digest(Path(spec.origin), bool(spec.submodule_search_locations))
    raise UsageError(
        f"Stage {stage!r} has no source to take a version from.",
        hint="Expected the name of a package under gaploop, or a module path.",
    )


def canonical_config(config: Any) -> str:
    """A configuration (dataclass, mapping, None) as canonical JSON text."""
    return json.dumps(canonical(config), sort_keys=True, separators=(",", ":"))


def run_key(run: Run) -> str:
    """What the ledger knows a call by: all that goes in, nothing of when or how long."""
    return digest(run.stage, run.version, run.config, run.seed, run.inputs, run.environment)


def make_run(
    stage: str, *, config: Any, seed: int, inputs: Mapping[str, str], extra: Mapping[str, str]
) -> Run:
    """The call that is about to happen, outputs still empty."""
    return Run(
        stage=stage,
        version=source_digest(stage),
        config=canonical_config(config),
        seed=int(seed),
        inputs=dict(inputs),
        outputs={},
        environment={**environment(), **extra},
    )


def _files_digest(origin: Path, package: bool) -> str:
    # tables and templates beside the code decide results as much as the code does
    files = [p for p in sorted(origin.parent.rglob("*")) if p.is_file()] if package else [origin]
    files = [p for p in files if "__pycache__" not in p.parts]
    h = sha256()
    for path in files:
        content = path.read_bytes()
        h.update(f"{path.relative_to(origin.parent).as_posix()} {len(content)}\n".encode())
        h.update(content)
    return h.hexdigest()
