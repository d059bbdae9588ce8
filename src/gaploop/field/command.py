"""A command line that drives any robot or simulator and leaves a LeRobot v3 folder."""

import contextlib
import os
import shlex
import signal
import string
import subprocess
import tempfile
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import IO

from gaploop.core import ConfigError, FieldError
from gaploop.field.base import checked, collected, staged

PLACES = ("policy", "trials", "seed", "out")


@dataclass(frozen=True, slots=True)
class Command:
    """Runs `line` with {policy}, {trials}, {seed} and {out} filled in.

    Without a shell each word of the line is one argument, whatever is in the
    path that fills it. With `shell` the filled-in values are quoted.
    """

    line: str
    """Such as `python robot.py --policy {policy} --trials {trials} --seed {seed} --out {out}`."""
    _: KW_ONLY
    task: str = ""
    """The folder must hold the features this task observes; empty: not checked."""
    timeout_s: float = 3600.0
    """The command and its children are stopped after this long."""
    shell: bool = False
    """Run through /bin/sh, for pipes and variables."""

    def __post_init__(self) -> None:
        try:
            parsed = list(string.Formatter().parse(self.line))
            named = {f for _, f, _, _ in parsed if f is not None}
            words = shlex.split(self.line)
            if "\0" in self.line:
                raise ValueError("it holds a zero byte")
        except ValueError as error:
            raise ConfigError(f"The field command {self.line!r} is off: {error}.") from error
        dressed = [f for _, f, how, conversion in parsed if how or conversion]
        if dressed:
            raise ConfigError(
                f"The field command formats {{{dressed[0]}}}.",
                hint=f"Write {{{dressed[0]}}} as it is; write a brace as {{{{.",
            )
        foreign = sorted(named - set(PLACES))
        if foreign:
            raise ConfigError(
                f"The field command names {{{foreign[0]}}}.",
                hint=f"Known: {', '.join('{' + p + '}' for p in PLACES)}; write a brace as {{{{.",
            )
        if not words or "out" not in named:
            raise ConfigError(
                f"The field command {self.line!r} has no {{out}}.",
                hint="It must leave a LeRobot v3 folder there.",
            )

    def collect(self, policy: Path, trials: int, seed: int, out: Path) -> None:
        """Run the command; its folder becomes `out` in one rename.

        Raises FieldError with the end of its standard error when it fails, runs
        past the timeout, or leaves no readable folder; then nothing is left.
        """
        if collected(out):
            return
        with staged(out.absolute()) as part:
            values = {"policy": policy.absolute(), "trials": trials, "seed": seed, "out": part}
            self._run({k: str(v) for k, v in values.items()})
            checked(part, f"The field command {self._name!r}", self.task)

    @property
    def _name(self) -> str:
        return shlex.split(self.line)[0]

    def _run(self, values: dict[str, str]) -> None:
        if self.shell:
            call = self.line.format(**{k: shlex.quote(v) for k, v in values.items()})
        else:
            call = [word.format(**values) for word in shlex.split(self.line)]
        with tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    call,
                    shell=self.shell,
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise FieldError(
                    f"The field command {self._name!r} does not start: {error.strerror}."
                ) from error
            try:
                code = process.wait(self.timeout_s)
            except subprocess.TimeoutExpired:
                raise FieldError(
                    f"The field command {self._name!r} ran past {self.timeout_s:g} s "
                    f"and was stopped.{_tail(errors)}"
                ) from None
            finally:
                # its children too, and also when the loop itself is interrupted
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if code:
                raise FieldError(
                    f"The field command {self._name!r} ended with exit code {code}.{_tail(errors)}"
                )


def _tail(stream: IO[bytes], lines: int = 3) -> str:
    """The last words of a process, on one line."""
    end = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, end - 4096))
    text = stream.read().decode("utf-8", "replace").strip().splitlines()[-lines:]
    return f" Its last words: {' | '.join(t.strip() for t in text)}" if text else ""
