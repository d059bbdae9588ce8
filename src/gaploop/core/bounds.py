"""Limits of settings, checked where a settings class is made."""

from typing import Any

from gaploop.core.errors import ConfigError


def at_least(settings: Any, section: str, least: int, *names: str) -> None:
    """Raises ConfigError naming the first of the settings that is below `least`."""
    for name in names:
        if not getattr(settings, name) >= least:
            raise ConfigError(
                f"{section}.{name} is {getattr(settings, name)}; it must be {least} or more."
            )


def share(settings: Any, section: str, *names: str) -> None:
    """Raises ConfigError naming the first of the settings outside 0 to 1."""
    for name in names:
        if not 0 <= getattr(settings, name) <= 1:
            raise ConfigError(f"{section}.{name} is {getattr(settings, name)}; expected 0 to 1.")


def inside(settings: Any, section: str, *names: str) -> None:
    """Raises ConfigError naming the first of the settings that does not lie between 0 and 1."""
    for name in names:
        if not 0 < getattr(settings, name) < 1:
            raise ConfigError(
                f"{section}.{name} is {getattr(settings, name)}; expected more than 0, less than 1."
            )
