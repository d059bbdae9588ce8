"""Every error gaploop raises on purpose.

GaploopError                 exit 1; the message is one sentence for the user
├── InputError               a file, folder, log or dataset that cannot be used
├── ContractError            a policy, log or robot whose numbers mean different things
├── UsageError               exit 2; the command or configuration is off
│   ├── ConfigError          a key or value in gaploop.toml or --json input
│   └── UnknownNameError     a name nobody registered; lists the closest and all
├── MissingExtraError        an optional dependency; says the exact install line
├── KnobError                a knob value or target that a world cannot carry
├── WorkcellError            the workcell on disk: locked, damaged, not there
└── FieldError               a field (robot, command, stand-in) that did not deliver

A message names the thing, where it stands (file, row), what was expected and
what to do. `hint` holds the last part apart, so that a caller may format it.
"""

import difflib
from collections.abc import Iterable
from typing import Any


class GaploopError(Exception):
    """Base of all errors meant for the user. `exit_code` is the command's."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.hint = hint
        super().__init__(f"{message} {hint}".strip())

    def __reduce__(self) -> tuple[Any, ...]:
        # subclasses take other arguments than the finished message, and an error
        # has to survive the way back from a worker process
        return _restore, (type(self), str(self), self.hint)


def _restore(kind: type["GaploopError"], message: str, hint: str) -> "GaploopError":
    error = kind.__new__(kind)
    GaploopError.__init__(error, message)
    error.hint = hint
    return error


class InputError(GaploopError):
    """A file, folder, log or dataset that cannot be used."""


class ContractError(GaploopError):
    """Two sides whose numbers mean different things."""


class UsageError(GaploopError):
    """The command or its configuration is off."""

    exit_code = 2


class ConfigError(UsageError):
    """A key or value in a configuration."""


class UnknownNameError(UsageError):
    """A name nobody registered."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=1)
        guess = f"Did you mean {close[0]!r}? " if close else ""
        listing = ", ".join(names) if names else "none"
        name = name if len(name) <= 80 else f"{name[:80]}..."
        super().__init__(f"There is no {kind} named {name!r}.", hint=f"{guess}Known: {listing}.")


class MissingExtraError(GaploopError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"This needs {package}, which is not installed.",
            hint=f"Install it with: pip install 'gaploop[{extra}]'",
        )


class KnobError(GaploopError):
    """A knob value or target that a world cannot carry."""


class WorkcellError(GaploopError):
    """The workcell on disk: locked by another loop, damaged, not there."""


class FieldError(GaploopError):
    """A field that did not deliver what it was asked for."""
