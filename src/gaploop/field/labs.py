"""Stand-in fields: simulated worlds whose truth the loop cannot see.

A stand-in runs in a process of its own,

    python -m gaploop.field.labs --family lab-mix --seed 7 --task peg \\
        --policy DIR --trials 20 --run-seed 1 --out DIR

and leaves a LeRobot v3 folder: readings, commands, and the verdict of its own
detector. No true state, no knob, no start: what a log of a robot has, and no more.
Sim-to-sim, and called so: the episodes' world is `stand-in`.

A name may carry who watches: `lab-e:3+supervisor`, `+lazy`, `+eager` (see `supervisor`).
Such a log has a column `intervention`, and a fact of that name a takeover. Or it names a
fault of the run-time path: `lab-a:3+mm` (see `miswired`).

`--round` is the robot's age in rounds, for families that wear. The loop knows it and
passes it on; it is not guessed from folders, which may be moved or collected twice.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gaploop.core import (
    ConfigError,
    Episode,
    FieldError,
    GaploopError,
    Label,
    Signal,
    UnknownNameError,
    registry,
    spawn,
)
from gaploop.field.base import checked, collected, staged
from gaploop.field.families import FAMILIES
from gaploop.field.miswired import FAULTS, miswired
from gaploop.field.supervisor import SUPERVISORS, Span, supervise
from gaploop.field.truth import stand_in

DETECTOR = "stand-in detector@1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """One stand-in of a seeded family."""

    family: str
    seed: int
    task: str
    supervisor: str = ""
    """Who watches and takes over; empty for nobody."""
    fault: str = ""
    """What the run-time path gets wrong; empty for nothing."""
    timeout_s: float = 600.0

    def collect(self, policy: Path, trials: int, seed: int, out: Path, *, round: int = 1) -> None:
        """Run the policy in the stand-in's own process; `round` is the robot's age, from 1.

        Raises FieldError with that process's last words; then nothing is left.
        """
        if collected(out):
            return
        with staged(out.absolute()) as part:
            given = {
                "family": self.family, "seed": self.seed, "task": self.task,
                "policy": policy.absolute(), "trials": trials, "run-seed": seed, "round": round,
                "out": part,
            }  # fmt: skip
            given |= {
                key: value
                for key, value in (("supervisor", self.supervisor), ("fault", self.fault))
                if value
            }
            words = [f"--{key}={value}" for key, value in given.items()]
            words.append("--end-with-parent")
            who = f"The stand-in {self.family}:{self.seed}"
            _run([sys.executable, "-m", "gaploop.field.labs", *words], who, self.timeout_s)
            checked(part, who, self.task)


def _run(call: list[str], who: str, timeout_s: float) -> None:
    """Run the stand-in's process. It ends with us: it watches the pipe we hold."""
    with tempfile.TemporaryFile("w+") as words:
        process = subprocess.Popen(
            call, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=words
        )
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise FieldError(f"{who} ran past {timeout_s:g} s.") from None
        finally:
            process.kill()
            process.communicate()
        words.seek(0)
        if code:
            last = words.read().strip().splitlines()[-1:] or ["no message"]
            raise FieldError(f"{who} failed: {last[0]}")


def _end_with_parent() -> None:
    """Leave at once when the process that started us is gone, however it went."""

    def watch() -> None:
        os.read(0, 1)  # not through sys.stdin: its lock would break the interpreter's exit
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _factory(family: str) -> Callable[..., Lab]:
    def make(argument: str | int = 0, *, task: str = "peg") -> Lab:
        number, *extras = str(argument or 0).split("+")
        if not number.isdecimal():
            raise ConfigError(
                f"The stand-in is {family}:SEED, and {number!r} is no number.",
                hint="It may be followed by who watches, as in 7+supervisor.",
            )
        lab = Lab(family=family, seed=int(number), task=task)
        for extra in extras:
            if extra not in (*SUPERVISORS, *FAULTS):
                raise UnknownNameError(
                    "supervisor or fault of the run-time path", extra, (*SUPERVISORS, *FAULTS)
                )
            what = "supervisor" if extra in SUPERVISORS else "fault"
            lab = replace(lab, **{what: extra})
        return lab

    make.__doc__ = f"The family `{family}`: see `gaploop.field.families`."
    return make


lab_a = _factory("lab-a")
lab_b = _factory("lab-b")
lab_c = _factory("lab-c")
lab_d = _factory("lab-d")
lab_e = _factory("lab-e")
lab_mix = _factory("lab-mix")
lab_out = _factory("lab-out")
lab_plain = _factory("lab-plain")


def attempt(
    family: str, seed: int, task: str, policy: Path, trials: int, run_seed: int,
    round: int = 1, supervisor: str = "", fault: str = "",
) -> list[Episode]:  # fmt: skip
    """Episodes of a policy in a stand-in, as a robot would log them. Diverged ones are left out.

    Raises ContractError for a policy that does not fit the robot.
    """
    from gaploop.policies import ChunkRunner, load_policy, require_fit
    from gaploop.policies.mend import as_new, compose, told
    from gaploop.sim.episodes import to_episodes
    from gaploop.store import seal

    truth = stand_in(family, seed, registry.load("tasks", task)())
    world, loaded = truth.world, load_policy(policy)
    require_fit(loaded.contract, world.spec)
    attempts = truth.attempts(trials, spawn(run_seed, "stand-in", family, seed), round=round)
    units = truth.units(trials)
    path = (miswired(world.spec, fault),) if fault else ()
    mends = compose(path, getattr(loaded, "mends", ()))
    runner = ChunkRunner(loaded, units=units, mends=mends)
    spans: list[list[Span]] | None = None
    if supervisor:
        who = SUPERVISORS[supervisor]
        recording, verdict, spans = supervise(world, attempts, runner, who, run_seed)
    else:
        recording = world.rollout(attempts, runner)
        verdict = world.task.judge(recording)
    episodes = to_episodes(
        world, attempts, recording, verdict, origin="rollout", policy=seal(policy),
        world_kind="stand-in",
    )  # fmt: skip
    return [
        _as_logged(
            as_new(told(episodes[i], path)),
            units[i],
            None if spans is None else (supervisor, spans[i]),
        )
        for i in range(trials)
        if not recording.void[i]
    ]


_SEEN = ("success", "second", "stage", "tag", "margin", "onset")
"""What a person watching, or a switch in the hole, can tell."""


def _as_logged(episode: Episode, unit: str, helped: tuple[str, list[Span]] | None) -> Episode:
    """Without what only a simulator knows: its start, frame weights, forces.

    helped: who watched, and the takeovers; None where nobody did.
    """
    signals = {
        k: s for k, s in episode.signals.items() if k == "action" or k.startswith("observation.")
    }
    times = signals["action"].times
    who, spans = helped or ("", [])
    if helped is not None:
        held = np.zeros(len(times), dtype=bool)
        for first, end in spans:
            held[first:end] = True
        signals["intervention"] = Signal(name="intervention", times=times, values=held)
    said = episode.fact("outcome") or {}
    outcome = {k: said[k] for k in _SEEN if k in said} | {"judge": DETECTOR}
    logged = replace(episode, signals=signals, unit=unit, parents=(), facts=())
    facts = [Label(subject=logged.id, key="outcome", value=outcome, author=DETECTOR)]
    for first, end in spans:
        span = (float(times[first]), float(times[end - 1]))
        facts.append(
            Label(subject=logged.id, key="intervention", value={"by": who}, author=who, span=span)
        )
    return replace(logged, facts=tuple(facts))


def main(words: Sequence[str] | None = None) -> int:
    """The stand-in's own process. 0 when `--out` holds the log, 1 with a sentence otherwise."""
    parser = argparse.ArgumentParser(prog="python -m gaploop.field.labs", description=__doc__)
    parser.add_argument("--family", required=True, choices=sorted(FAMILIES))
    parser.add_argument("--seed", type=int, required=True, help="of the stand-in's truth")
    parser.add_argument("--task", default="peg")
    parser.add_argument("--policy", type=Path, required=True)
    parser.add_argument("--trials", type=int, required=True)
    parser.add_argument("--run-seed", type=int, required=True, help="of starts and noise")
    parser.add_argument("--round", type=int, default=1, help="age of the robot, in rounds")
    parser.add_argument("--supervisor", default="", choices=["", *SUPERVISORS], help="who watches")
    parser.add_argument("--fault", default="", choices=["", *FAULTS], help="of the run-time path")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--end-with-parent", action="store_true", help="stop when standard input closes"
    )
    given = parser.parse_args(words)
    if given.end_with_parent:
        _end_with_parent()
    from gaploop.store.datasets import write_dataset

    try:
        spec = registry.load("tasks", given.task)().spec
        episodes = attempt(
            given.family,
            given.seed,
            given.task,
            given.policy,
            given.trials,
            given.run_seed,
            given.round,
            given.supervisor,
            given.fault,
        )
        if not episodes:
            raise FieldError(f"All {given.trials} attempts diverged.")
        write_dataset(given.out, episodes, fps=round(1 / spec.control_dt), robot=spec.robot)
    except GaploopError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
