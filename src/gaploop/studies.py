"""Compositions beyond the loop: the recipes people use today, and what a policy is worth.

Every recipe has the loop's observation history, network and number of gradient
steps, and as many demonstrations as the loop has after its rounds. A recipe that
learns from the field gets the loop's field episodes: as many rounds, the same starts
and noise.
"""

import inspect
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from gaploop.config import LoopConfig
from gaploop.core import (
    GAPS,
    Admission,
    Curation,
    Diagnosis,
    Episode,
    HardSet,
    KnobEstimate,
    Posterior,
    UsageError,
    generator,
    registry,
    spawn,
)
from gaploop.core.protocols import Task

if TYPE_CHECKING:
    from gaploop.turn import Turn

Recipe = Callable[[LoopConfig, int, int, Path], None]
"""(config, demonstrations, seed, out): writes a policy folder at `out`."""

SEARCHING: Final = {"peg": "gaploop.tasks.experts.spiral:SearchedPeg"}
"""Tasks that an expert can do without knowing the truth, and the task shown by it."""
FIELD_SHARE: Final = 0.5
"""Share of the training batches that field successes get in fine-tuning."""


def nominal(config: LoopConfig, demos: int, seed: int, out: Path) -> None:
    """Behaviour cloning in the plain simulator: nobody knows of any gap."""
    _clone(config, [_shown(config, None, demos, seed)], [1.0], seed, out)


def uniform(config: LoopConfig, demos: int, seed: int, out: Path, *, width: float = 1.0) -> None:
    """Domain randomisation, uniform over every knob's prior (Tobin 2017), or a part of it.

    width: the box reaches that share of the way from nominal to either end of the prior,
      in quantiles of the prior; 1 is all of it.
    """
    _clone(
        config, [_shown(config, prior_box(config.task, width, seed), demos, seed)], [1.0], seed, out
    )


def searching(config: LoopConfig, demos: int, seed: int, out: Path) -> None:
    """Full randomisation, shown by an expert that searches where the reading is wrong."""
    if config.task not in SEARCHING:
        raise UsageError(
            f"No searching expert is known for the task {config.task!r}.",
            hint=f"There is one for: {', '.join(SEARCHING)}.",
        )
    shown = replace(config, task=SEARCHING[config.task])
    _clone(
        config, [_shown(shown, prior_box(config.task, 1.0, seed), demos, seed)], [1.0], seed, out
    )


def fine_tuned(
    config: LoopConfig, demos: int, seed: int, out: Path, *,
    begun: Callable[[Path], None] = lambda policy: None,
) -> None:  # fmt: skip
    """Full randomisation, then rounds of field trials whose successes are imitated.

    Each round trains from scratch on the demonstrations and all successes so far, which
    get `FIELD_SHARE` of the batches: the loop's schedule, and nothing is forgotten. The
    field shows every round what it shows the loop: `config.trials` attempts with that
    round's starts and noise. A round without a success leaves the policy as it is.

    begun: called with the policy before the field; it is what `uniform` makes.
    """
    demonstrations = _shown(config, prior_box(config.task, 1.0, seed), demos, seed)
    won: list[Episode] = []
    with tempfile.TemporaryDirectory() as scratch:
        policy = Path(scratch) / "policy-0"
        _clone(config, [demonstrations], [1.0], seed, policy)
        begun(policy)
        for number in range(1, config.rounds + 1):
            logs = field_round(config, policy, number, Path(scratch) / f"field-{number}")
            new = successes(logs)
            won += new
            if new:
                policy = policy.with_name(f"policy-{number}")
                weights = [1 - FIELD_SHARE, FIELD_SHARE]
                _clone(config, [demonstrations, won], weights, seed, policy)
        policy.rename(out)


RECIPES: Final[dict[str, Recipe]] = {
    "nominal": nominal,
    "uniform": uniform,
    "half": partial(uniform, width=0.5),
    "quarter": partial(uniform, width=0.25),
    "fine-tuned": fine_tuned,
    "searching": searching,
}
"""Name to recipe: what people do instead of the loop; each writes a policy folder."""


def recipes(task: str) -> tuple[str, ...]:
    """Names of the recipes that a task allows."""
    return tuple(r for r in RECIPES if r != "searching" or task in SEARCHING)


def loop(config: LoopConfig, cell: Path, threads: int = 1, *, told: str = "") -> list[Path]:
    """Runs the loop in a new or unfinished workcell; the released policy after each round.

    told: what stands in for the answers of its diagnosis, a name of `TOLD`; empty for nothing.
    """
    from gaploop.loop import ROUND, advance
    from gaploop.store import Workcell

    rows = [
        replace(row, run=TOLD[told], variant=told) if told and row.name == "diagnose" else row
        for row in ROUND
    ]
    opened = Workcell.open(cell) if (cell / "gaploop.toml").exists() else Workcell.create(cell, "")
    with opened, opened.lock():
        for number in range(config.rounds + 1):
            advance(opened, config, number, threads=threads, rows=rows)
        refs = opened.ledger.refs()
        return [opened.objects.tree(refs[f"policy@r{k}"]) for k in range(config.rounds + 1)]


def shuffled_diagnoses(turn: "Turn") -> dict[str, str]:
    """The stage `diagnose` with each answer replaced by a wrong one, for a study of its worth.

    Exchanging the answers of one round would hardly change anything: its failures come
    from one world and mostly share their cause, and what follows takes them together.
    """
    posterior = turn.need("posterior", Posterior)
    units = {e.id: e.unit for e in turn.logs()}
    return _retold(turn, lambda d: misled(d, posterior.of(units[d.episode]), turn.seed))


def no_diagnoses(turn: "Turn") -> dict[str, str]:
    """The stage `diagnose` with one answer for every failure, for a study of its worth."""
    return _retold(turn, undiagnosed)


TOLD: Final[dict[str, Callable[["Turn"], dict[str, str]]]] = {
    "shuffled": shuffled_diagnoses, "alike": no_diagnoses,
}  # fmt: skip
"""Name to what stands in for the stage `diagnose`."""


def _retold(turn: "Turn", say: Callable[[Diagnosis], Diagnosis]) -> dict[str, str]:
    """The round's diagnoses as `say` tells them.

    The work is done all the same, so the loops that are compared cost the same there.
    """
    from gaploop import wiring

    stored = turn.cell.objects
    answers = stored.get(wiring.diagnose(turn)["diagnoses"], tuple[Diagnosis, ...])
    return {"diagnoses": stored.put(tuple(say(d) for d in answers))}


def undiagnosed(diagnosis: Diagnosis) -> Diagnosis:
    """The same failure as one of the policy's own, like all others: its remedy is to train."""
    return Diagnosis(
        episode=diagnosis.episode, verdict="policy", kind="", probabilities={"policy": 1.0},
        stage=diagnosis.stage,
    )  # fmt: skip


def misled(diagnosis: Diagnosis, posterior: Posterior, seed: int) -> Diagnosis:
    """The same failure with a cause drawn from all those its diagnosis did not name.

    The causes are what a diagnosis can answer here: the gaps that have knobs, the run-time
    path, the policy, unknown. The mechanism is left open, the knobs are that gap's as the
    posterior has them, and what the tests said goes with the answer it spoke for.
    """
    space = posterior.space
    own = {knob.gap for knob in space.knobs}
    causes = (*(g for g in GAPS if g in own), "contract", "policy", "unknown")
    others = [c for c in causes if c != diagnosis.verdict]
    cause = str(generator(seed, "shuffled", diagnosis.episode).choice(others))
    mass = dict(diagnosis.probabilities)
    mass[cause], mass[diagnosis.verdict] = mass.get(diagnosis.verdict, 0.0), mass.get(cause, 0.0)
    knobs = tuple(_as_believed(posterior, i) for i in space.of_gap(cause)) if cause in own else ()
    return Diagnosis(
        episode=diagnosis.episode, verdict=cause, kind="", probabilities=mass, knobs=knobs,
        stage=diagnosis.stage,
    )  # fmt: skip


def _as_believed(posterior: Posterior, column: int) -> KnobEstimate:
    """A knob with the mean and the 90 % interval of the posterior."""
    values = posterior.particles[:, column]
    order = np.argsort(values)
    below = np.cumsum(posterior.weights[order])
    lo, hi = np.interp([0.05, 0.95], below / below[-1], values[order])
    knob = posterior.space.knobs[column]
    return KnobEstimate(
        name=knob.name, unit=knob.unit, estimate=float(posterior.mean[column]), lo=float(lo),
        hi=float(hi),
    )  # fmt: skip


def loop_fine_tuned(config: LoopConfig, cell: Path, out: Path) -> bool:
    """The finished loop's last policy, fine-tuned on what succeeded in its field.

    From scratch on the data the loop made, chosen and weighted as the loop does, and every
    field success of its rounds with `FIELD_SHARE` of the batches; the same mends. False
    where no field attempt succeeded: there is nothing to tune on, and `out` stays unwritten.
    """
    from gaploop.mixture import demonstrations
    from gaploop.policies.mend import as_new, mended, read_mends, told
    from gaploop.store import Workcell
    from gaploop.store.datasets import read_dataset
    from gaploop.turn import Turn

    with Workcell.open(cell) as opened:
        refs = opened.ledger.refs()
        last = opened.objects.tree(refs[f"policy@r{config.rounds}"])
        mends = read_mends(last)
        fields = [opened.dataset(refs[f"field@r{k}"]) for k in range(1, config.rounds + 1)]
        logs = [e for folder in fields for e in read_dataset(folder, finite=False)]
        won = [as_new(told(e, mends)) for e in successes(logs)]
        if not won:
            return False
        turn = Turn(cell=opened, config=config, number=config.rounds, refs=refs, seed=config.seed)
        sources, made = demonstrations(turn)
    share = (1 - FIELD_SHARE) / sum(made)
    weights = [*(share * weight for weight in made), FIELD_SHARE]
    with tempfile.TemporaryDirectory() as scratch:
        policy = Path(scratch) / "policy"
        _clone(config, [*sources, won], weights, spawn(config.seed, "tune"), policy)
        mended(policy, mends, out)
    return True


def field_round(config: LoopConfig, policy: Path, number: int, out: Path) -> list[Episode]:
    """What the field of a configuration shows a policy in a round: the loop's starts and noise."""
    from gaploop.store.datasets import read_dataset
    from gaploop.wiring import field_of

    found = field_of(config)
    ages = "round" in inspect.signature(found.collect).parameters
    told = {"round": number} if ages else {}
    found.collect(policy, config.trials, spawn(config.seed, "field", number), out, **told)
    return list(read_dataset(out, finite=False))


def successes(logs: Sequence[Episode]) -> list[Episode]:
    """The episodes that succeeded, as the loop would imitate them.

    Of an episode in which a person stepped in, what the person did.
    """
    from gaploop.curate import imitable

    sound = [e for e in logs if all(np.isfinite(s.values).all() for s in e.signals.values())]
    chosen = tuple(
        Admission(episode=e.id, destination="train", reason="It succeeded.")
        for e in sound
        if e.success
    )
    nothing = HardSet(version=0, buckets=())
    curation = Curation(prescriptions=(), admissions=chosen, hard_set=nothing, around=())
    return list(imitable(curation, sound))


def field_success(
    family: str, world: int, task: str, policy: Path, n: int, seed: int, threads: int = 1,
    round: int = 1, fault: str = "",
) -> tuple[int, int]:  # fmt: skip
    """(k, n) of a policy in a stand-in, for a final measurement; no recipe may call it.

    round: the robot's age, for families that wear. fault: what its run-time path gets
    wrong, as `gaploop.field.miswired` has it; the policy's mends stand behind it. The starts
    and noise of attempt i depend on `seed` alone, so recipes are paired.
    """
    from gaploop.field.miswired import miswired
    from gaploop.field.truth import stand_in
    from gaploop.policies import ChunkRunner, load_policy
    from gaploop.policies.mend import compose

    truth = stand_in(family, world, registry.load("tasks", task)())
    lab = truth.world
    attempts = truth.attempts(n, spawn(seed, "measure", family, world), round=round)
    loaded = load_policy(policy)
    path = (miswired(lab.spec, fault),) if fault else ()
    mends = compose(path, getattr(loaded, "mends", ()))
    runner = ChunkRunner(loaded, units=truth.units(n), mends=mends)
    recording = lab.rollout(attempts, runner)
    success = lab.task.judge(recording).success[~recording.void]
    return int(success.sum()), len(success)


def prior_box(task: str, width: float, seed: int) -> Posterior:
    """Uniform randomisation as a posterior nobody updated; see `uniform` for `width`.

    Raises UsageError for a width outside (0, 1].
    """
    if not 0 < width <= 1:
        raise UsageError(f"A width of {width:g} is no part of the prior; expected 0 < width <= 1.")
    space = registry.load("tasks", task)().spec.knobs
    middle = space.to_unit(space.nominal[None])
    u = generator(seed, "uniform").random((2000, len(space)))
    draws = space.from_unit(middle + width * (u - middle))
    return Posterior(
        space=space, particles=draws, weights=np.full(len(draws), 1 / len(draws)), shipped=draws
    )


def _shown(config: LoopConfig, where: Posterior | None, demos: int, seed: int) -> list[Episode]:
    """Gated demonstrations of the task's expert."""
    from gaploop.generate import generate
    from gaploop.sim import World

    task: Task = registry.load("tasks", config.task)()
    made = generate(World(task), where, (), replace(config.generate, demos=demos), seed)
    return list(made.episodes)


def _clone(
    config: LoopConfig, sources: Sequence[Sequence[Episode]], weights: Sequence[float],
    seed: int, out: Path,
) -> None:  # fmt: skip
    from gaploop.train import fit_policy

    task: Task = registry.load("tasks", config.task)()
    fit_policy(sources, weights, task.spec, config.train, seed, out)
