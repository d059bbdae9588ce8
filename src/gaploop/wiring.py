"""Each stage between the store and its verb: digests in, one call, digests out.

No stage knows the store's names and no stage knows another; this is the only
place that does. A function here reads
what its row in `loop.py` declares and returns a digest for each name the row writes.
"""

import inspect
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from gaploop.config import LoopConfig
from gaploop.core import (
    Curation,
    Diagnosis,
    Episode,
    Exam,
    FieldRun,
    Mend,
    Posterior,
    Reproduction,
    Scenario,
    digest,
    field_run,
    registry,
)
from gaploop.core.protocols import Field
from gaploop.store import seal
from gaploop.turn import Turn

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
            turn.policy("policy", 1)  # no robot moves by a policy that does not fit it
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
        return registry.make("fields", name, argument, task=config.task)
    return registry.make("fields", config.field)


# -- the stages ---------------------------------------------------------------


def ingest(turn: Turn) -> dict[str, str]:
    from gaploop.ingest import screen

    found = screen(turn.sound(), turn.config.screen)
    return {"screened": turn.cell.objects.put(found)}


def calibrate(turn: Turn) -> dict[str, str]:
    """A posterior from all rounds' clean logs; a round without a failure keeps the last one."""
    from gaploop.calibrate import calibrate_units as run

    previous = turn.value("posterior", Posterior, back=1)
    if previous is not None and _stands(turn, previous):
        return {"posterior": turn.ref("posterior", 1)}
    clean = _clean(turn)
    posterior = run(
        turn.world, [e for e, _ in clean], [k for _, k in clean], turn.config.calibrate, turn.seed,
        previous=previous,
    )  # fmt: skip
    return {"posterior": turn.cell.objects.put(posterior)}


def diagnose(turn: Turn) -> dict[str, str]:
    from gaploop.diagnose import diagnose as run

    policy, posterior = turn.policy("policy", 1), turn.need("posterior", Posterior)
    trained, path = _trained_on(turn), turn.path()
    failures = [e for e in turn.logs() if e.success is False]
    answers = tuple(
        run(
            turn.world,
            policy,
            posterior.of(e.unit),
            e,
            turn.config.diagnose,
            turn.seed,
            trained=trained,
            path=path,
        )
        for e in failures[: turn.config.diagnose.failures]
    )
    return {"diagnoses": turn.cell.objects.put(answers)}


def reproduce(turn: Turn) -> dict[str, str]:
    from gaploop.reproduce import reproduce as run

    policy, posterior = turn.policy("policy", 1), turn.need("posterior", Posterior)
    trained = _trained_on(turn)
    logs = {e.id: e for e in turn.logs()}
    met = tuple(
        run(
            turn.world,
            policy,
            posterior.of(logs[d.episode].unit),
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

    last = turn.value("curation", Curation, back=1)
    curation = run(
        turn.sound(),
        turn.need("diagnoses", tuple[Diagnosis, ...]),
        turn.need("reproductions", tuple[Reproduction, ...]),
        last.hard_set if last else None,
        turn.config.curate,
        turn.seed,
        spec=turn.task.spec,
        posterior=turn.need("posterior", Posterior),
        path=turn.path(),
        mend=not (last and last.mends) or turn.ref("candidate", 1) == turn.ref("policy", 1),
    )
    admitted = _admitted(turn, curation)
    out = {"curation": turn.cell.objects.put(curation)}
    return out | ({"admitted": _dataset(turn, admitted)} if admitted else {})


def generate(turn: Turn) -> dict[str, str]:
    """Data where the remedy asks for it; none where nothing is healed by training."""
    curation = turn.need("curation", Curation)
    if not any(p.trains for p in curation.prescriptions):
        return {}
    posterior = aimed(turn.need("posterior", Posterior))
    made = _generated(turn, posterior, curation.around)
    return made | {"aimed": turn.cell.objects.put(posterior)}


def demonstrate(turn: Turn) -> dict[str, str]:
    """Round 0: the expert in the plain simulator."""
    return _generated(turn, None, ())


def train(turn: Turn) -> dict[str, str]:
    """A candidate from all rounds' data; where nothing is to be trained, the policy as it is.

    What is mended goes into the candidate's folder, whether it was trained or not.
    Each older round's demonstrations weigh half. What the field itself showed gets a share of
    the batches that grows with it.
    """
    curation, mends = turn.need("curation", Curation), _all_mends(turn)
    if not curation.trains:
        return {"candidate": _mended(turn, turn.ref("policy", 1), mends)}
    made = [(2.0**k, turn.refs.get(f"data@r{k}")) for k in range(turn.number + 1)]
    weights = {data: weight for weight, data in made if data}
    shown = turn.ref("admitted")
    share = turn.config.train.share(_length(turn, shown)) if shown else 0.0
    if share:
        weights[shown] = sum(weights.values()) * share / (1 - share)
    policy, report = _trained(turn, list(weights), list(weights.values()))
    return {"candidate": _mended(turn, policy, mends), "training": report}


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
        mends=curation.mends,
    )
    return {"exam": turn.cell.objects.put(exam)}


def release(turn: Turn) -> dict[str, str]:
    from gaploop.release import decide

    decision = decide(turn.need("exam", Exam), turn.config.release, _field_runs(turn))
    chosen = decision.back_to or turn.ref("policy", 1)
    if decision.verdict == "promote":
        chosen = turn.ref("candidate")
    return {"decision": turn.cell.objects.put(decision), "policy": chosen}


# -- inside -------------------------------------------------------------------


def aimed(posterior: Posterior) -> Posterior:
    """What data is made for: the posterior, its units shown in turn where they differ."""
    if not posterior.shifts:
        return posterior
    shifts = [shift for _, shift in sorted(posterior.shifts.items())]
    rows = np.stack([shifts[i % len(shifts)] for i in range(len(posterior.shipped))])
    return replace(posterior, shipped=posterior.shipped + rows, shifts={})


def _stands(turn: Turn, previous: Posterior) -> bool:
    """Whether nothing went wrong since: then there is nothing to explain, and nothing to fit.

    Not where units differ or the policy's mends are others: what is mended since must no
    longer count as the robot's.
    """
    from gaploop.policies.mend import read_mends

    alone = all(e.success and not e.helped for e in turn.logs())
    if not (alone and previous.episodes) or previous.shifts:
        return False
    return read_mends(turn.policy_folder("policy", 2)) == turn.mends


def _field_runs(turn: Turn) -> list[FieldRun]:
    """What each policy did in the field, a round each, oldest first."""
    return [
        field_run(turn.ref("policy", back + 1), turn.episodes("field", back))
        for back in reversed(range(turn.number))
    ]


def _admitted(turn: Turn, curation: Curation) -> list[Episode]:
    """What the field showed in all rounds, as this round's candidate will meet it.

    Told anew each round: an older round's episodes behind the mends of today.
    """
    from gaploop.curate import imitable
    from gaploop.policies.mend import as_new, told

    admissions, episodes = list(curation.admissions), {e.id: e for e in turn.sound()}
    for back in range(1, turn.number):
        admissions += turn.need("curation", Curation, back).admissions
        episodes |= {e.id: e for e in turn.sound(back)}
    # the path's faults are out of them already
    zeros = [m for m in curation.mends if m.cause != "contract"]
    every = replace(curation, admissions=tuple(admissions))
    kept = _alike(imitable(every, list(episodes.values())))
    return [as_new(told(e, zeros)) for e in kept]


def _alike(episodes: Sequence[Episode]) -> list[Episode]:
    """The episodes with the signals that all of them have, as one dataset needs them."""
    names = [frozenset(e.signals) for e in episodes]
    if len(set(names)) < 2:
        return list(episodes)
    common = frozenset.intersection(*names)
    return [
        replace(e, signals={k: s for k, s in e.signals.items() if k in common}) for e in episodes
    ]


def _all_mends(turn: Turn) -> tuple[Mend, ...]:
    """The acting policy's mends, and then this round's."""
    from gaploop.policies.mend import compose

    return compose(turn.mends, turn.need("curation", Curation).mends)


def _mended(turn: Turn, policy: str, mends: Sequence[Mend]) -> str:
    """Digest of a stored policy with exactly these mends."""
    from gaploop.policies.mend import mended, read_mends

    folder = turn.cell.objects.tree(policy)
    if read_mends(folder) == tuple(mends):
        return policy
    with turn.cell.scratch() as scratch:
        return turn.cell.objects.put_tree(mended(folder, mends, scratch / "policy"))


def _trained_on(turn: Turn) -> np.ndarray | None:
    """(M, P) worlds the acting policy was trained in; None: the plain simulator.

    A policy that was only mended was trained where the one before it was. One that was
    trained on corrections alone had the demonstrations of the rounds before.
    """
    acting = turn.ref("policy", 1)
    for k in range(turn.number - 1, 0, -1):
        if turn.refs.get(f"candidate@r{k}") != acting:
            continue
        if turn.refs.get(f"training@r{k}"):
            aimed = [a for j in range(k, 0, -1) if (a := turn.refs.get(f"aimed@r{j}"))]
            return turn.cell.objects.get(aimed[0], Posterior).shipped if aimed else None
        acting = turn.refs[f"policy@r{k - 1}"]
    return None


def _clean(turn: Turn) -> list[tuple[Episode, int]]:
    """Episodes of all rounds that the screen let through, with their round, oldest first."""
    from gaploop.ingest import Screened

    clean: list[tuple[Episode, int]] = []
    for back in reversed(range(turn.number)):
        screened = turn.value("screened", Screened, back)
        if screened is not None:
            good = set(screened.clean)
            clean += [(e, turn.number - back) for e in turn.sound(back) if e.id in good]
    return clean


def _generated(
    turn: Turn, posterior: Posterior | None, around: Sequence[Scenario]
) -> dict[str, str]:
    from gaploop.generate import generate as run

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
