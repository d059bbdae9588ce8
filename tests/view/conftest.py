"""A made-up story of two rounds, so that pages are tested without a loop."""

import numpy as np
import pytest

from gaploop.core import (
    Admission,
    Bucket,
    BucketChange,
    Counterfactual,
    Curation,
    Decision,
    Diagnosis,
    Episode,
    Evidence,
    Exam,
    Gate,
    HardSet,
    Healed,
    Knob,
    KnobEstimate,
    KnobSpace,
    KnobVerdict,
    Posterior,
    Prescription,
    Prior,
    Reproduction,
    Scenario,
    Score,
    Signal,
    Target,
)
from gaploop.stats import wilson
from gaploop.view.rounds import Failure, Rate, Round, Rounds

KNOBS = (
    ("delay", "execution", "s", 0.0, 0.1, 0.02, "action:delay"),
    ("gain", "execution", "1", 0.85, 1.15, 1.0, "action:gain"),
    ("hole_bias_x", "sensor", "m", -3.5e-3, 3.5e-3, 0.0, "sensor:hole.bias[0]"),
    ("clearance", "dynamics", "m", 0.6e-3, 2e-3, 1e-3, "geom:px.pos[0]"),
)
SPACE = KnobSpace(
    knobs=tuple(
        Knob(
            name=name, gap=gap, unit=unit, prior=Prior(low=low, high=high), nominal=nominal,
            targets=(Target(path=path),),
        )
        for name, gap, unit, low, high, nominal, path in KNOBS
    )
)  # fmt: skip


def rate(k: int, n: int) -> Rate:
    lo, hi = wilson(k, n)
    return Rate(k=k, n=n, lo=lo, hi=hi)


def posterior(known: dict[str, tuple[float, float]]) -> Posterior:
    verdicts = []
    for knob in SPACE.knobs:
        mean, sd = known.get(knob.name, (knob.nominal, knob.prior.width))
        verdicts.append(
            KnobVerdict(
                name=knob.name, unit=knob.unit, mean=mean, sd=sd,
                lo=max(mean - 1.64 * sd, knob.prior.low), hi=min(mean + 1.64 * sd, knob.prior.high),
                verdict="identified" if knob.name in known else "not identifiable",
                redraw_acceptance=0.05 if knob.name in known else 0.97,
            )
        )  # fmt: skip
    particles = SPACE.nominal[None].repeat(4, axis=0)
    return Posterior(
        space=SPACE, particles=particles, weights=np.full(4, 0.25), shipped=particles,
        verdicts=tuple(verdicts),
    )  # fmt: skip


def scores(policy: str, ks: dict[str, int], n: int) -> tuple[Score, ...]:
    return tuple(
        Score(policy=policy, bucket=b, k=k, n=n, lo=wilson(k, n)[0], hi=wilson(k, n)[1])
        for b, k in ks.items()
    )


def episode(seed: int) -> Episode:
    times = np.arange(44) / 20.0
    rng = np.random.default_rng(seed)
    goal = rng.uniform(-0.02, 0.02, 2)
    ramp = np.clip(times / 0.6, 0, 1)[:, None]
    drop = -np.clip((times - 0.5) / 1.1, 0, 1)[:, None] * 0.045
    command = np.concatenate([ramp * goal, drop], axis=1)
    late = np.stack([np.interp(times - 0.09, times, c) for c in command.T], axis=1)
    late[:, 2] = np.maximum(late[:, 2], -0.03)
    columns = ("x", "y", "z")
    return Episode(
        signals={
            "action": Signal(name="action", unit="m", columns=columns, times=times, values=command),
            "observation.state": Signal(
                name="observation.state", unit="m", columns=columns, times=times, values=late
            ),
        },
        robot="gantry", task="peg", world="stand-in",
    )  # fmt: skip


def failure(seed: int, verdict: str, kind: str, p: float) -> Failure:
    log = episode(seed)
    others = [c for c in ("sensor", "dynamics", "execution", "unknown", "policy") if c != verdict]
    probabilities = {verdict: p} | {c: (1 - p) / len(others) for c in others}
    state = log.signals["observation.state"].values
    scenario = Scenario(
        task="peg", world="w" * 64, layout=np.zeros(2), knobs=SPACE.nominal,
        knob_names=SPACE.names, seed=1, horizon=44, origin=log.id,
    )  # fmt: skip
    flip = Counterfactual(
        scenario=scenario, knob="delay", unit="s", value=0.071, flip=0.036, flip_lo=0.033,
        flip_hi=0.039, p_before=0.0, p_after=15 / 16, n=16, scan=np.linspace(0.071, 0.02, 9),
        response=np.array([0, 0, 1, 1, 3, 5, 15, 16, 16]) / 16, monotone=True,
    )  # fmt: skip
    diagnosis = Diagnosis(
        episode=log.id, verdict=verdict, kind=kind, probabilities=probabilities, stage="insert",
        knobs=(KnobEstimate(name="delay", unit="s", estimate=0.071, lo=0.064, hi=0.078),),
        evidence=(
            Evidence(
                test="command to joint", cause="execution", bayes_factor=5200.0, statistic=0.05,
                t0=0.0, t1=0.9,
                sentence="Joint x trails its command by 92 ms (85 to 99); as trained by 41 ms.",
            ),
            Evidence(
                test="replay as trained", cause="sensor", bayes_factor=0.4, statistic=-0.9, t0=0.0,
                t1=2.15, sentence="With sensor as calibrated, the replay explains this log as well "
                "as with sensor as in training.",
            ),
        ),
        present=("sensor (biased hole pose): put back alone it rescues 0 of 8",),
        excluded=("contract: features, units, order, rate and stamps agree with training",),
        not_seen=("visual: no pixels are in this log",),
        probe="replay the recorded commands on the robot",
        rescue={"sensor": (0, 8), "dynamics": (1, 8), "execution": (8, 8)},
    )  # fmt: skip
    return Failure(
        diagnosis=diagnosis,
        episode=log,
        reproduction=Reproduction(
            episode=log.id, reproduced=21, n=24, scenarios=(scenario,), counterfactual=flip,
            sentence="It would have succeeded in 94 % (15 of 16, 72 to 99 %) had delay been under "
            "33 ms; it was 71 ms.",
            replay={"observation.state": state + 1e-4},
            replay_trained={"observation.state": log.signals["action"].values},
        ),
    )  # fmt: skip


def digests(letter: str) -> dict[str, str]:
    names = ("field", "posterior", "diagnoses", "reproductions", "curation", "data", "candidate",
             "exam", "decision", "policy")  # fmt: skip
    return {name: (letter + f"{i:x}") * 32 for i, name in enumerate(names)}


@pytest.fixture
def story() -> Rounds:
    failures = (
        failure(1, "execution", "late commands", 0.88),
        failure(2, "execution", "late commands", 0.71),
        failure(3, "sensor", "biased hole pose", 0.55),
    )
    ids = tuple(f.diagnosis.episode for f in failures)
    hard = HardSet(
        version=1,
        buckets=(
            Bucket(name="late commands", ability="action", scenarios=(), minimum=20,
                   predicate="Field failures diagnosed as execution (late commands)."),
            Bucket(name="nominal", ability="action", scenarios=(), minimum=20, predicate="Plain."),
        ),
        origins={ids[0]: "exam", ids[1]: "trainable"},
    )  # fmt: skip
    first = Round(
        number=1, digests=digests("a"), field=rate(0, 20), world="stand-in",
        posterior=posterior({"delay": (0.07, 0.003), "gain": (0.91, 0.004)}), failures=failures,
        curation=Curation(
            prescriptions=(
                Prescription(cause="execution", remedy="recalibrate", trains=True,
                             sentence="Recalibrate how commands become motion.", episodes=ids[:2],
                             bucket="late commands", lift=60.0, lift_lo=35.0, lift_hi=80.0),
            ),
            admissions=(Admission(episode=ids[0], destination="hard set", reason="origin"),),
            hard_set=hard, around=(),
        ),
        exam=Exam(
            policy="b" * 64, against="a" * 64, hard_set="c" * 64,
            scores=scores("b" * 64, {"nominal": 118, "late commands": 96, "calibrated": 83}, 120),
            baseline=scores("a" * 64, {"nominal": 120, "late commands": 4, "calibrated": 1}, 120),
            changes=(
                BucketChange(bucket="late commands", before_k=4, after_k=96, n=120, p_value=1e-20,
                             lo=66.0, hi=84.0, direction="rose"),
                BucketChange(bucket="nominal", before_k=120, after_k=118, n=120, p_value=0.5,
                             lo=-5.0, hi=1.0, direction="unchanged"),
            ),
            healed=(Healed(episode=ids[0], own_k=8, own_n=8, siblings_k=14, siblings_n=16,
                           before_k=0, healed=True),
                    Healed(episode=ids[2], own_k=1, own_n=8, siblings_k=3, siblings_n=16,
                           before_k=0, healed=False)),
            kept=(("late commands", 60.0, 76.7),),
        ),
        decision=Decision(
            policy="b" * 64, against="a" * 64, verdict="promote",
            gates=(Gate(name="not worse", rule="nominal falls by at most 5 points", passed=True,
                        evidence="118/120 against 120/120.", detectable=4.0),
                   Gate(name="enough", rule="every bucket has its least n", passed=None,
                        evidence="calibrated is new.")),
            sentence="Better where it failed, no worse where it worked.",
        ),
    )  # fmt: skip
    second = Round(
        number=2, digests=digests("d"), field=rate(13, 20), world="stand-in",
        posterior=posterior({"delay": (0.069, 0.002), "gain": (0.912, 0.003),
                             "hole_bias_x": (2.1e-3, 0.5e-3)}),
    )  # fmt: skip
    return Rounds(name="first-cell", task="peg", field="lab-mix:0", rounds=(first, second))
