"""The command: verbs only. A verb is a frozen dataclass in a module of this folder.

Only the module of the verb that was asked for is imported, so that help answers
at once.
"""

import errno
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
    if not args or args[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if args else 2
    if args[0] == "--version":
        print(f"gaploop {__version__}")
        return 0
    # help and version above answer without NumPy
    from gaploop.core import GaploopError

    as_json = "--json" in args
    # a task of one's own lies where the command runs; last, so that it shadows nothing
    sys.path.append(os.getcwd())
    try:
        return _run(args[0], args[1:])
    except GaploopError as error:
        return _fail(str(error), error.exit_code, as_json)
    except KeyboardInterrupt:
        return _fail("Stopped. What was finished is kept; run it again to go on.", 130, as_json)
    except BrokenPipeError:
        # the reader (head, less) left; nothing to say and nowhere to say it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            raise
        what = f"{error.strerror} ({error.filename})" if error.filename else str(error.strerror)
        return _fail(f"Could not write: {what}. What was finished is kept.", 1, as_json)


def _run(verb: str, args: list[str]) -> int:
    import tyro

    from gaploop.core import UnknownNameError

    if verb not in VERBS:
        raise UnknownNameError("verb", verb, VERBS)

    module, name, _ = VERBS[verb]
    command = getattr(import_module(f"gaploop.cli.{module}"), name)
    return tyro.cli(command, args=args, prog=f"gaploop {verb}").run()


def _fail(sentence: str, code: int, as_json: bool) -> int:
    print(f"gaploop: {sentence}", file=sys.stderr)
    if as_json:
        print(json.dumps({"error": sentence, "exit": code}))
    return code


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb.ljust(width)}  {text}" for verb, (_, _, text) in VERBS.items()]
    return "\n".join(
        [
            "gaploop turns a robot's failures into its next capability.",
            "",
            "usage: gaploop VERB [REF ...] [--group.field VALUE] [--json]",
            "",
            *lines,
            "",
            "gaploop VERB --help says more. Start with: gaploop demo",
        ]
    )
