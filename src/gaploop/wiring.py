"""Each stage between the store and its verb: digests in, one call, digests out.

No stage knows the store's names and no stage knows another; this is the only
place that does. A function here reads what its row in `loop.py` declares and
returns a digest for each name the row writes.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from gaploop.config import LoopConfig
from gaploop.core import (
    Curation,
    Diagnosis,
    Episode,
    Exam,
    Posterior,
    Reproduction,
    digest,
    registry,
)
from gaploop.core.protocols import Field, Policy, Task
from gaploop.store import Workcell, seal

T = TypeVar("T")


@dataclass(kw_only=True)
class Turn:
    """What a stage of one round may read."""

    cell: Workcell
    config: LoopConfig
    number: int
    refs: dict[str, str]
    """Name@rK to digest: exactly what the stage's row declares, as far as it exists."""
    seed: int
    threads: int = 1

    def ref(self, name: str, back: int = 0) -> str:
        """Digest of a name of this round, or of `back` rounds ago; empty where it was not made."""
        return self.refs.get(f"{name}@r{self.number - back}", "")

    def value(self, name: str, cls: type[T], back: int = 0) -> T | None:
        """The stored value of a name, None where there is none."""
        found = self.ref(name, back)
        return self.cell.objects.get(found, cls) if found else None

    def need(self, name: str, cls: type[T]) -> T:
        """The stored value of a name of this round, which an earlier stage always writes."""
        return self.cell.objects.get(self.refs[f"{name}@r{self.number}"], cls)

    def policy_folder(self, name: str, back: int = 0) -> Path:
        return self.cell.objects.tree(self.ref(name, back))

    def policy(self, name: str, back: int = 0) -> Policy:
        """A stored policy, checked against the task and its own golden pairs."""
        from gaploop.policies import check_golden, load_policy, require_fit

        policy = load_policy(self.policy_folder(name, back))
        require_fit(policy.contract, self.task.spec)
        check_golden(policy)
        return policy

    def episodes(self, name: str, back: int = 0) -> list[Episode]:
        from gaploop.store.datasets import read_dataset

        # what a robot logged as NaN is for the screen to find
        return list(read_dataset(self.cell.dataset(self.ref(name, back)), finite=False))

    @cached_property
    def task(self) -> Task:
        return registry.load("tasks", self.config.task)()

    @cached_property
    def world(self):
        from gaploop.sim import World

        return World(self.task, threads=self.threads)


# -- the field ----------------------------------------------------------------


def field(turn: Turn) -> dict[str, str]:
    """Field episodes of the released policy. Collected once, whatever happens to us after.

    The incoming folder appears at once when the field is done, and its digest is
    noted before it moves; a kill finds the folder, the note, both, or neither yet.
    """
    cell = turn.cell
    key = digest(turn.config.field, turn.ref("policy", 1), turn.config.trials, turn.seed)[:16]
    note, incoming = f"field:{key}", cell.path / "incoming" / key
    known = cell.ledger.refs().get(note)
    if known is None:
        if not incoming.exists():
            incoming.parent.mkdir(exist_ok=True)
            folder = turn.policy_folder("policy", 1)
            _collect(turn, folder, incoming)
        known = seal(incoming)
        cell.ledger.set_ref(note, known)
    if incoming.exists():
        cell.add_dataset(incoming)
    return {"field": known}


def _collect(turn: Turn, policy: Path, out: Path) -> None:
    """A field that wears is told its age; others know nothing of rounds."""
    found = field_of(turn.config)
    ages = "round" in inspect.signature(found.collect).parameters
    told = {"round": turn.number} if ages else {}
    found.collect(policy, turn.config.trials, turn.seed, out, **told)


def field_of(config: LoopConfig) -> Field:
    """The field a configuration names: `lab-mix:7`, `inbox:logs/`, `command:...`, module:Attr."""
    name, _, argument = config.field.partition(":")
    if name in registry.names("fields"):
        return registry.load("fields", name)(argument, task=config.task)
    return registry.load("fields", config.field)()


# -- the stages ---------------------------------------------------------------


def ingest(turn: Turn) -> dict[str, str]:
    from gaploop.ingest import screen

    found = screen(turn.episodes("field"), turn.config.screen)
    return {"screened": turn.cell.objects.put(found)}


def calibrate(turn: Turn) -> dict[str, str]:
    from gaploop.calibrate import calibrate as run

    posterior = run(
        turn.world, _clean(turn), turn.config.calibrate, turn.seed,
        previous=turn.value("posterior", Posterior, back=1),
    )  # fmt: skip
    return {"posterior": turn.cell.objects.put(posterior)}


def diagnose(turn: Turn) -> dict[str, str]:
    from gaploop.diagnose import diagnose as run

    policy, posterior = turn.policy("policy", 1), turn.need("posterior", Posterior)
    trained = _trained_on(turn)
    failures = [e for e in turn.episodes("field") if e.success is False]
    answers = tuple(
        run(turn.world, policy, posterior, e, turn.config.diagnose, turn.seed, trained=trained)
        for e in failures[: turn.config.diagnose.failures]
    )
    return {"diagnoses": turn.cell.objects.put(answers)}


def reproduce(turn: Turn) -> dict[str, str]:
    from gaploop.reproduce import reproduce as run

    policy, posterior = turn.policy("policy", 1), turn.need("posterior", Posterior)
    trained = _trained_on(turn)
    logs = {e.id: e for e in turn.episodes("field")}
    met = tuple(
        run(
            turn.world,
            policy,
            posterior,
            logs[d.episode],
            d,
            turn.config.reproduce,
            turn.seed,
            trained=trained,
        )
        for d in turn.need("diagnoses", tuple[Diagnosis, ...])
    )
    return {"reproductions": turn.cell.objects.put(met)}


def curate(turn: Turn) -> dict[str, str]:
    from gaploop.curate import curate as run
    from gaploop.curate import imitable

    last = turn.value("curation", Curation, back=1)
    curation = run(
        turn.episodes("field"),
        turn.need("diagnoses", tuple[Diagnosis, ...]),
        turn.need("reproductions", tuple[Reproduction, ...]),
        last.hard_set if last else None,
        turn.config.curate,
        turn.seed,
        spec=turn.task.spec,
        posterior=turn.need("posterior", Posterior),
    )
    out = {"curation": turn.cell.objects.put(curation)}
    admitted = imitable(curation, turn.episodes("field"))
    return out | ({"admitted": _dataset(turn, admitted)} if admitted else {})


def generate(turn: Turn) -> dict[str, str]:
    """Data where the remedy asks for it; none where nothing is healed by training."""
    curation = turn.need("curation", Curation)
    if not any(p.trains for p in curation.prescriptions):
        return {}
    return _generated(turn, turn.need("posterior", Posterior), curation)


def demonstrate(turn: Turn) -> dict[str, str]:
    """Round 0: the expert in the plain simulator."""
    return _generated(turn, None, None)


def train(turn: Turn) -> dict[str, str]:
    """A candidate from all rounds' data; where no remedy trains, the policy stays.

    Each older round weighs half. What the field itself showed (near misses,
    corrections) weighs, an episode, as much as what was generated for its round.
    """
    if not turn.ref("data"):
        return {"candidate": turn.ref("policy", 1)}
    sources: list[str] = []
    weights: list[float] = []
    for k in range(turn.number + 1):
        made, shown = (turn.refs.get(f"{name}@r{k}") for name in ("data", "admitted"))
        if made:
            sources.append(made)
            weights.append(2.0**k)
        if made and shown:
            sources.append(shown)
            weights.append(2.0**k * _length(turn, shown) / _length(turn, made))
    policy, report = _trained(turn, sources, weights)
    return {"candidate": policy, "training": report}


def first(turn: Turn) -> dict[str, str]:
    policy, report = _trained(turn, [turn.ref("data")], [1.0])
    return {"policy": policy, "training": report}


def evaluate(turn: Turn) -> dict[str, str]:
    from gaploop.evaluate import evaluate as run

    curation = turn.need("curation", Curation)
    exam = run(
        turn.world,
        turn.policy("candidate"),
        turn.policy("policy", 1),
        curation.hard_set,
        turn.need("reproductions", tuple[Reproduction, ...]),
        curation.prescriptions,
        turn.config.evaluate,
        turn.seed,
        policy_id=turn.ref("candidate"),
        against_id=turn.ref("policy", 1),
    )
    return {"exam": turn.cell.objects.put(exam)}


def release(turn: Turn) -> dict[str, str]:
    from gaploop.release import decide

    decision = decide(turn.need("exam", Exam), turn.config.release)
    chosen = turn.ref("candidate") if decision.verdict == "promote" else turn.ref("policy", 1)
    return {"decision": turn.cell.objects.put(decision), "policy": chosen}


# -- inside -------------------------------------------------------------------


def _trained_on(turn: Turn) -> np.ndarray | None:
    """(M, P) worlds the acting policy was trained in; None: the plain simulator."""
    acting = turn.ref("policy", 1)
    for k in range(turn.number - 1, 0, -1):
        if turn.refs.get(f"training@r{k}") and turn.refs.get(f"candidate@r{k}") == acting:
            return turn.cell.objects.get(turn.refs[f"posterior@r{k}"], Posterior).shipped
    return None


def _clean(turn: Turn) -> list[Episode]:
    """Episodes of all rounds that the screen let through, oldest first."""
    from gaploop.ingest import Screened

    clean: list[Episode] = []
    for back in reversed(range(turn.number)):
        screened = turn.value("screened", Screened, back)
        if screened is not None:
            good = set(screened.clean)
            clean += [e for e in turn.episodes("field", back) if e.id in good]
    return clean


def _generated(
    turn: Turn, posterior: Posterior | None, curation: Curation | None
) -> dict[str, str]:
    from gaploop.generate import generate as run

    around = curation.around if curation else ()
    made = run(turn.world, posterior, around, turn.config.generate, turn.seed)
    return {"data": _dataset(turn, made.episodes), "gates": turn.cell.objects.put(made.gate)}


def _dataset(turn: Turn, episodes: Sequence[Episode]) -> str:
    from gaploop.store.datasets import write_dataset

    spec = turn.task.spec
    with turn.cell.scratch() as folder:
        write_dataset(folder / "data", episodes, fps=round(1 / spec.control_dt), robot=spec.robot)
        return turn.cell.add_dataset(folder / "data")


def _length(turn: Turn, dataset: str) -> int:
    return len(turn.cell.ledger.episodes(dataset))


def _trained(turn: Turn, data: Sequence[str], weights: Sequence[float]) -> tuple[str, str]:
    """Digests of the policy folder and of the report on its training."""
    from gaploop.train import train as run

    with turn.cell.scratch() as folder:
        report = run(
            [turn.cell.dataset(d) for d in data], weights, turn.task.spec, turn.config.train,
            turn.seed, folder / "policy",
        )  # fmt: skip
        kept = {f.name: getattr(report, f.name) for f in fields(report)
                if f.metadata.get("digest", True)}  # fmt: skip
        return turn.cell.objects.put_tree(folder / "policy"), turn.cell.objects.put(kept)
