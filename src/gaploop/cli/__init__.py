"""The command: verbs only. A verb is a frozen dataclass in a module of this folder.

Only the module of the verb that was asked for is imported, so that help answers
at once.
"""

import contextlib
import errno
import io
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from gaploop import __version__

VERBS: Final = {
    "init": ("start", "Init", "make a workcell here, or a template of your own task"),
    "doctor": ("start", "Doctor", "look whether this machine and workcell have what they need"),
    "demo": ("start", "Demo", "watch three rounds of the loop on peg against a stand-in robot"),
    "loop": ("rounds", "Loop", "run rounds: field to release; resumes where it was"),
    "check": ("logs", "Check", "what is wrong with a log or dataset (no workcell needed)"),
    "convert": ("convert", "Convert", "any log as a LeRobot dataset, v2.1 and v3.0 both ways"),
    "ingest": ("logs", "Ingest", "read and screen logs; into the round, inside a workcell"),
    "calibrate": ("logs", "Calibrate", "from logs to a posterior over simulator knobs"),
    "diagnose": ("logs", "Diagnose", "why it failed: cause, knob, stage (no workcell needed)"),
    "reproduce": ("rounds", "Reproduce", "meet the failures again in simulation, scan to the flip"),
    "curate": ("rounds", "Curate", "prescribe a remedy a cause; train, hard set or neither"),
    "generate": ("rounds", "Generate", "make the data that is missing"),
    "train": ("rounds", "Train", "train a policy on what was admitted"),
    "evaluate": ("rounds", "Evaluate", "the exam: what rose, what fell, did this failure heal"),
    "release": ("rounds", "Release", "the decision by the fixed rule; exit 3 when it says no"),
    "show": ("look", "Show", "one stored thing: ep:3f2a, posterior@r2, last"),
    "log": ("look", "Log", "what ran, when, from what to what"),
    "replay": ("look", "Replay", "run a stored attempt again: bit-equal, within tolerance, or not"),
}
"""Verb to (module, class, one line)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the command. Returns the exit code: 0 done, 1 error, 2 usage."""
    args = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in args
    _open_output()
    try:
        return _answer(args)
    except BrokenPipeError:
        # the reader (head, less) left; nothing to say and nowhere to say it
        _leave_output()
        return 0
    except OSError as error:
        return _fail(_refused(error), 1, as_json)
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        return _fail(f"The memory does not suffice{reason}. Give it less at once.", 1, as_json)
    except KeyboardInterrupt:
        return _fail("Stopped. What was finished is kept; run it again to go on.", 130, as_json)


def _open_output() -> None:
    """Standard output that exists and takes any text, whatever the shell did to it."""
    if sys.stdout is None:  # closed by the shell
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper):
        # a file name that the terminal's encoding cannot spell is no reason to stop
        sys.stdout.reconfigure(errors="backslashreplace")


def _leave_output() -> None:
    """What is still buffered goes nowhere, so that leaving does not fail once more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _answer(args: list[str]) -> int:
    if not args or args[0] in ("-h", "--help", "help"):
        print(_overview(), flush=True)
        return 0 if args else 2
    if args[0] == "--version":
        print(f"gaploop {__version__}", flush=True)
        return 0
    # help and version above answer without NumPy
    from gaploop.core import GaploopError

    with contextlib.suppress(OSError):  # a folder that was removed under our feet
        # a task of one's own lies where the command runs; last, so that it shadows nothing
        sys.path.append(os.getcwd())
    try:
        code = _run(args[0], args[1:])
    except GaploopError as error:
        return _fail(str(error), error.exit_code, "--json" in args)
    sys.stdout.flush()  # a full disk behind it is ours to tell
    return code


def _run(verb: str, args: list[str]) -> int:
    import tyro

    from gaploop.core import UnknownNameError, UsageError

    if verb not in VERBS:
        raise UnknownNameError("verb", verb, VERBS)

    module, name, _ = VERBS[verb]
    command = getattr(import_module(f"gaploop.cli.{module}"), name)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            asked = tyro.cli(command, args=args, prog=f"gaploop {verb}")
    except SystemExit as error:
        if not error.code:  # --help
            sys.stdout.flush()
            raise
        raise UsageError(_sentence(said.getvalue()), hint=f"See: gaploop {verb} --help") from None
    return asked.run()


def _sentence(box: str) -> str:
    """What is off, out of the framed text that the parser prints; its help is left out."""
    # words of the frame's first line are a title, its other lines tell
    lines = [line.strip("\u2500\u2502\u256d\u256e\u256f\u2570-|+ ") for line in box.splitlines()]
    told: list[str] = []
    for line in lines[1:]:
        if line.startswith(("Got errors", "Argument helptext", "For full helptext", "Perhaps you")):
            break
        told.append(line)
    text = " ".join(" ".join(told).split()) or "The command line cannot be read"
    return f"{text.rstrip('.:')}."


def _refused(error: OSError) -> str:
    """One sentence on what the system refused, with the path where it names one."""
    reason = (error.strerror or str(error)).rstrip(".")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" ({error.filename})" if error.filename else ""
        return f"The disk is full{where}. Free some space; what was finished is kept."
    named = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else ""
    if len(named) > 200:
        named = f"{named[:200]}..."
    return f"{named or 'A file'} cannot be used: {reason}. What was finished is kept."


def _fail(sentence: str, code: int, as_json: bool) -> int:
    if sys.stderr is not None:
        print(f"gaploop: {sentence}", file=sys.stderr)
    try:
        if as_json:
            print(json.dumps({"error": sentence, "exit": code}))
        sys.stdout.flush()
    except OSError:  # the disk behind standard output is what is full
        _leave_output()
    return code


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb.ljust(width)}  {text}" for verb, (_, _, text) in VERBS.items()]
    return "\n".join(
        [
            "gaploop turns a robot's failures into its next capability.",
            "",
            "usage: gaploop VERB [PATH or REF ...] [--flag VALUE] [--json]",
            "",
            *lines,
            "",
            "gaploop VERB --help says more. Start with: gaploop demo",
        ]
    )
