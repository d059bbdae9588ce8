"""The answer in words: evidence, bystanders, what was excluded, what is not seen."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from gaploop.core import CAUSES, GAPS, Diagnosis, Episode, Evidence, KnobEstimate, Posterior
from gaploop.diagnose.answer import FLOOR, Findings
from gaploop.diagnose.config import DiagnoseConfig
from gaploop.diagnose.inference import Inference
from gaploop.diagnose.intervene import Outcomes, Particles
from gaploop.infer.episode import failed_at
from gaploop.infer.mechanisms import Mechanism
from gaploop.sim import World

PRESENT = 10.0
"""Bayes factor from which a gap counts as plainly off."""

PROBES = {
    frozenset({"sensor", "mechanical"}): "compare this unit with a second camera, or pool four "
    "episodes of it: hand-eye disagreement is sensor or mechanical until then",
    frozenset({"sensor", "execution"}): "replay the recorded commands on the robot: if it misses "
    "again, the readings are to blame, not the command path",
    frozenset({"sensor", "dynamics"}): "touch two walls of known position and compare the pose "
    "reading",
    frozenset({"dynamics", "execution"}): "repeat the motion in free space: what is off there "
    "cannot be contact",
    frozenset({"dynamics", "mechanical"}): "run another unit with the same policy",
    frozenset({"execution", "mechanical"}): "hold two poses and read command minus joint at rest",
}
"""Pair of causes to the cheapest test that separates them."""
POLICY_PROBE = "run the policy open loop on its training frames through the run-time path"
UNKNOWN_PROBE = (
    "replay the recorded commands on the robot: if it fails again the policy is not to blame, "
    "and the log shows what the simulator lacks"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All that the words are made from."""

    episode: Episode
    world: World
    posterior: Posterior
    found: Findings
    seen: Inference
    particles: Particles
    outcomes: Outcomes
    inner: dict[str, float]
    early: tuple[Evidence, ...]
    probabilities: dict[str, float]
    stage: str
    config: DiagnoseConfig


def contract_answer(episode: Episode, red: tuple[Evidence, ...], stage: str) -> Diagnosis:
    """Physics is not asked while a contract or timing test is red."""
    first = max(red, key=lambda e: e.bayes_factor)
    rest = [c for c in CAUSES if c not in ("visual", first.cause)]
    p = dict.fromkeys(CAUSES, 0.0) | dict.fromkeys(rest, FLOOR)
    p[first.cause] = 1.0 - FLOOR * len(rest)
    return Diagnosis(
        episode=episode.id,
        verdict=first.cause,
        kind={"frozen": "frozen joint reading"}.get(first.test, f"{first.test} mismatch"),
        probabilities=p,
        stage=stage,
        evidence=red,
        not_seen=("physics: it is not asked while a contract or timing test is red",),
        probe="mend the path, then run the same attempt again",
    )


def full_answer(m: Material) -> Diagnosis:
    """The diagnosis after all tests."""
    p = m.probabilities
    verdict = max(p, key=lambda c: p[c])
    leading = _leading(m, verdict)
    return Diagnosis(
        episode=m.episode.id,
        verdict=verdict,
        kind=_kind(m, verdict, leading),
        probabilities=p,
        knobs=_estimates(m, verdict, leading),
        stage=m.stage or _simulated_stage(m),
        evidence=_evidence(m),
        present=_present(m, verdict),
        excluded=_excluded(m, verdict),
        not_seen=_not_seen(m),
        probe=_probe(p),
        rescue={
            "as it is": m.found.as_is,
            **{gap: m.outcomes.count(frozenset({gap})) for gap in m.found.shares},
        },
    )


def _leading(m: Material, verdict: str) -> Mechanism | None:
    own = [x for x in m.seen.mechanisms if x.gap == verdict]
    if not own:
        return None
    # one mechanism can hide another in the reruns; then the log's own evidence decides
    return max(own, key=lambda x: (m.inner.get(x.key, 0.0), _shift(m, x)))


def _shift(m: Material, which: Mechanism) -> float:
    """How far it is from its trained values, in prior widths."""
    columns = list(which.columns)
    width = np.array([m.world.space.knobs[c].prior.width for c in columns])
    moved = (m.particles.knobs - m.particles.trained)[:, columns].mean(axis=0)
    return float(np.max(np.abs(moved) / width))


def _words(m: Material, which: Mechanism) -> str:
    weight = m.seen.weights()
    here = weight @ m.seen.all.knobs
    return which.words(m.world.space, here, m.particles.trained.mean(axis=0))


def _kind(m: Material, verdict: str, leading: Mechanism | None) -> str:
    if leading is not None:
        return _words(m, leading)
    if verdict == "policy":
        k, n = m.found.trained
        return "fails where it was trained" if n and k * 2 < n else "policy error"
    return ""


def _estimates(m: Material, verdict: str, leading: Mechanism | None) -> tuple[KnobEstimate, ...]:
    """Knobs of the verdict's gap, the leading mechanism's first, then other gaps plainly off."""
    own = [x for x in m.seen.mechanisms if x.gap == verdict]
    own.sort(key=lambda x: x is not leading)
    others = [x for x in m.seen.mechanisms if x.gap != verdict and m.seen.off[x.gap] > PRESENT]
    weight = m.seen.weights()
    found = []
    for which in (*own, *others):
        for c in which.columns:
            knob, values = m.world.space.knobs[c], m.seen.all.knobs[:, c]
            lo, middle, hi = (_quantile(values, weight, q) for q in (0.05, 0.5, 0.95))
            found.append(
                KnobEstimate(name=knob.name, unit=knob.unit, estimate=middle, lo=lo, hi=hi)
            )
    return tuple(found)


def _quantile(values: np.ndarray, weight: np.ndarray, q: float) -> float:
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    return float(values[order][min(int(np.searchsorted(total, q)), len(values) - 1)])


def _evidence(m: Material) -> tuple[Evidence, ...]:
    """Early tests, the put-back replays, what is new today; strongest first within each kind."""
    end = float(m.world.spec.control_dt * (m.seen.healthy.residual.shape[1] - 1))
    items = list(m.early)
    for gap, factor in sorted(m.seen.off.items(), key=lambda x: -x[1]):
        says = "better than" if factor > 3 else "worse than" if factor < 1 / 3 else "as well as"
        items.append(
            Evidence(
                test="replay as trained", cause=gap, bayes_factor=factor,
                statistic=float(np.log(factor)), t0=0.0, t1=end,
                sentence=f"With {gap} as this robot is calibrated, the replay explains this log "
                f"{says} with {gap} as in training.",
            )
        )  # fmt: skip
    items += _put_back(m, end)
    for which in m.seen.mechanisms:
        factor = m.seen.new[which.key]
        if factor > 3.0:
            items.append(
                Evidence(
                    test="replay", cause=which.gap, bayes_factor=factor,
                    statistic=float(np.log(factor)), t0=0.0, t1=end,
                    sentence=f"{_words(m, which).capitalize()}: more of it than this robot's "
                    "other logs show makes the replay fit better.",
                )
            )  # fmt: skip
    return tuple(items)


def _put_back(m: Material, end: float) -> list[Evidence]:
    """The interventions as evidence: gaps that rescue alone, or the smallest set that does."""
    none, n = m.outcomes.count(frozenset())
    saving = [
        c
        for c, done in m.outcomes.success.items()
        if c and done.mean() >= max(0.5, none / n + 0.25)
    ]
    least = min((len(c) for c in saving), default=0)
    items = []
    for together in (c for c in saving if len(c) == least):
        k, _ = m.outcomes.count(together)
        names = " and ".join(g for g in m.found.shares if g in together)
        alone = "alone" if least == 1 else "together (none does alone)"
        below = float(betainc(k + 1, n - k + 1, 0.5))
        items.append(
            Evidence(
                test="put back", cause=max(together, key=lambda g: m.found.shares[g]),
                bayes_factor=(1.0 - below) / max(below, 1e-6), statistic=k / n, t0=0.0, t1=end,
                sentence=f"Putting {names} back {alone} rescues {k} of {n}; as it is, "
                f"{none} of {n} succeed.",
            )
        )  # fmt: skip
    return items


def _present(m: Material, verdict: str) -> tuple[str, ...]:
    """Plainly off, but putting it back does not help: a bystander."""
    said = []
    for gap, factor in m.seen.off.items():
        if gap == verdict or factor < PRESENT or m.found.shares.get(gap, 0.0) > 0.1:
            continue
        which = max((x for x in m.seen.mechanisms if x.gap == gap), key=lambda x: _shift(m, x))
        said.append(f"{gap} ({_words(m, which)}): {_alone(m, gap)}")
    return tuple(said)


def _alone(m: Material, gap: str) -> str:
    k, n = m.outcomes.count(frozenset({gap}))
    none, _ = m.outcomes.count(frozenset())
    return f"put back alone, {k} of {n} succeed; as it is, {none} of {n}"


def _excluded(m: Material, verdict: str) -> tuple[str, ...]:
    said = []
    if not any(e.cause == "contract" for e in m.early):
        said.append("contract: features, units, order, rate and stamps agree with training")
    k, n = m.found.trained
    if n and k >= 0.8 * n:
        said.append(f"policy: from this start it succeeds in {k} of {n} worlds as trained")
    for gap, share in m.found.shares.items():
        if gap != verdict and share < 0.05 and m.seen.off[gap] < PRESENT:
            said.append(f"{gap}: {_alone(m, gap)}")
    return tuple(said)


def _not_seen(m: Material) -> tuple[str, ...]:
    said = ["visual: no pixels are in this log"]
    space = m.world.space
    gaps = {k.gap for k in space.knobs}
    said += [f"{g}: the world has no knob for it" for g in GAPS[1:] if g not in gaps]
    if {"sensor", "mechanical"} <= gaps and m.probabilities["sensor"] + m.probabilities[
        "mechanical"
    ] > 0.5:
        said.append(
            "sensor or mechanical: one episode shows that hand and eye disagree, not which is off"
        )
    silent = [
        v.name for v in m.posterior.verdicts
        if v.verdict in ("not identifiable", "no effect") and v.name in space.names
    ]  # fmt: skip
    if silent:
        said.append(
            f"{', '.join(silent)}: the robot's logs are silent about it, so it is as wide as before"
        )
    if m.posterior.misspecified:
        said.append(
            "the calibrated world misses something in healthy logs too; knobs are effective values"
        )
    k, n = m.found.as_is
    if n and k:
        said.append(
            f"the failure came back in {n - k} of {n} worlds that explain the log: near an edge"
        )
    return tuple(said)


def _probe(p: dict[str, float]) -> str:
    first, second = sorted(p, key=lambda c: -p[c])[:2]
    if first == "unknown":
        return UNKNOWN_PROBE
    if p[first] > 0.9:
        return ""
    if "policy" in (first, second):
        return POLICY_PROBE
    return PROBES.get(frozenset({first, second}), UNKNOWN_PROBE)


def _simulated_stage(m: Material) -> str:
    stages = m.outcomes.as_is.stage[~m.outcomes.as_is.success]
    if not len(stages):
        return ""
    return failed_at(m.world.spec, int(np.bincount(stages + 1).argmax()) - 1)
