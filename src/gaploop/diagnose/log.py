"""Why did it fail, from the log alone: no simulator, no workcell, no policy.

The order is that of the public casebook: contract, then integrity and timing, then
residuals of the motion. What a log cannot show is said, and the cheapest next test with
it. Without a simulator no counterfactual stands behind an answer, so it stays modest.
"""

from collections.abc import Iterable, Sequence

from gaploop.core import CAUSES, Diagnosis, Episode, Evidence
from gaploop.diagnose.log_contract import contract_evidence, timing_evidence
from gaploop.diagnose.log_motion import motion_evidence
from gaploop.signals.pairs import Pair, pairs

PRIOR = {
    "visual": 0.05, "sensor": 0.13, "dynamics": 0.10, "execution": 0.20, "mechanical": 0.10,
    "task": 0.05, "contract": 0.17, "policy": 0.10, "unknown": 0.10,
}  # fmt: skip
"""Share of each cause among public failures on real robots, smoothed (60 confirmed of 108)."""

_LEAST = 0.35
_MOST = 0.85
_MOST_CONTRACT = 0.95
_CAP = 20.0
"""Evidence of one cause multiplies to at most this: tests on one log are not independent."""

_PROBE = {
    "contract": "Replay one stored observation through the run-time path and compare the action "
    "with the one training saw.",
    "execution": "Send one joint a 20 s chirp without load at two amplitudes: lag, gain and limit "
    "come apart.",
    "dynamics": "Move the joint slowly both ways through the spot where it stood: friction shows "
    "as a difference that flips with direction.",
    "mechanical": "Hold two poses on both sides of gravity: a zero offset stays, sag flips.",
    "sensor": "Hold the robot still, then turn one joint by hand against a mark: the reading must "
    "follow at once.",
    "policy": "Replay the logged commands on the robot, and run the policy open-loop on training "
    "frames.",
    "task": "Repeat from a start that once succeeded.",
    "visual": "Feed stored images with live joint readings.",
    "unknown": "Repeat the attempt with command as sent, readings, torque or current and stamps "
    "logged, and note whether it succeeded.",
}


def diagnose_log(episodes: Iterable[Episode]) -> list[Diagnosis]:
    """One answer an episode that did not succeed, or whose outcome nobody recorded.

    All episodes known to have succeeded are left out, unless there is no other.
    """
    known = list(episodes)
    open_ones = [e for e in known if e.success is not True]
    return [_diagnose(e) for e in open_ones or known]


def _diagnose(episode: Episode) -> Diagnosis:
    matched = pairs(episode)
    contract = tuple(contract_evidence(episode, matched))
    timing = tuple(timing_evidence(episode))
    red = [e for e in (*contract, *timing) if e.cause == "contract"]
    # physics is not blamed while a contract or timing test is red
    motion = () if red else tuple(motion_evidence(episode, matched))
    evidence = (*contract, *timing, *motion)
    p = _probabilities(episode, evidence, bool(red))
    verdict = max(CAUSES, key=lambda c: p[c])
    # the prior alone names nobody, and without a recorded failure weak hints explain nothing
    weak = p[verdict] < _LEAST or (episode.success is None and not _decisive(evidence))
    if weak and not red:
        verdict = "unknown"
        p = _towards_unknown(p)
    strongest = max(
        (e for e in evidence if e.cause == verdict), key=lambda e: e.bayes_factor, default=None
    )
    return Diagnosis(
        episode=episode.id,
        verdict=verdict,
        kind=_KIND.get(strongest.test, "") if strongest else "",
        probabilities=p,
        stage=_stage(episode),
        evidence=tuple(sorted(evidence, key=lambda e: -e.bayes_factor)),
        present=tuple(
            e.sentence for e in evidence if e.cause not in (verdict, "contract") and not red
        ),
        excluded=_excluded(episode, matched, evidence),
        not_seen=_not_seen(episode, matched),
        probe=_probe(p, verdict, evidence),
    )


_KIND = {
    "saturation": "torque limit", "energy": "torque limit", "lag": "late answer",
    "droop": "soft position loop", "no answer": "command not executed", "units": "wrong unit",
    "sign": "wrong sign", "rate": "wrong rate", "stamps": "broken stamps",
    "offset at rest": "offset at rest", "stop": "joint stands still", "finite": "missing readings",
    "work": "command never reverses", "gap": "hole in the log", "supply": "supply sags",
}  # fmt: skip


def _probabilities(episode: Episode, evidence: Sequence[Evidence], red: bool) -> dict[str, float]:
    """Over CAUSES: prior times the evidence of each cause, bounded."""
    weight = dict(PRIOR)
    if not any(len(s.values.shape) > 2 for s in episode.signals.values()):
        weight["visual"] *= 0.4  # no picture in the log; the policy may still have read some
    for cause in weight:
        factor = 1.0
        for e in evidence:
            if e.cause == cause:
                factor *= e.bayes_factor
        weight[cause] *= min(factor, 1e3 if cause == "contract" else _CAP)
    total = sum(weight.values())
    p = {c: weight[c] / total for c in CAUSES}
    top = max(CAUSES, key=lambda c: p[c])
    limit = _MOST_CONTRACT if red else _MOST
    if top != "unknown" and p[top] > limit:
        p["unknown"] += p[top] - limit
        p[top] = limit
    return p


def _decisive(evidence: Sequence[Evidence]) -> bool:
    return any(e.bayes_factor >= 8.0 for e in evidence)


def _towards_unknown(p: dict[str, float]) -> dict[str, float]:
    """Half of all mass moves to `unknown`, at least as much as makes it the largest."""
    rest = max(v for c, v in p.items() if c != "unknown")
    keep = min(0.5, 0.5 / max(rest + 0.5, 1e-9))
    moved = {c: v * keep for c, v in p.items() if c != "unknown"}
    return {c: moved.get(c, 1.0 - sum(moved.values())) for c in CAUSES}


def _stage(episode: Episode) -> str:
    outcome = episode.fact("outcome")
    if isinstance(outcome, dict):
        return str(outcome.get("stage", "") or "")
    return ""


def _excluded(
    episode: Episode, matched: Sequence[Pair], evidence: Sequence[Evidence]
) -> tuple[str, ...]:
    fired = {e.test for e in evidence}
    out: list[str] = []
    compared = [p for p in matched if p.quantity != "torque"]
    if compared and "units" not in fired:
        out.append("Units: command and reading spread alike, no factor of deg/rad or mm/m.")
    if compared and "sign" not in fired:
        out.append("Sign: no reading moves against its command.")
    if "observation.state" in episode.signals and not fired & {"stamps", "rate", "gap"}:
        out.append("Timing: stamps rise, no hole longer than five frames.")
    if not fired & {"finite"}:
        out.append("Integrity: every reading is a finite number.")
    return tuple(out)


def _not_seen(episode: Episode, matched: Sequence[Pair]) -> tuple[str, ...]:
    keys = set(episode.signals)
    out: list[str] = []
    if episode.success is None:
        out.append("No outcome recorded: whether this attempt failed is not known.")
    if "action" not in keys:
        out.append("No commands: lag, sag and limits cannot be tested.")
    elif not any(p.quantity in ("angle", "length", "") for p in matched):
        out.append("No position command: lag and sag of a position loop cannot be tested.")
    if not keys & {"observation.torque", "observation.current", "observation.load"}:
        out.append("No torque, current or load: a weak joint and a heavy load look alike.")
    if "observation.environment_state" not in keys:
        out.append("No object pose: contact, grasp and start position are not in the log.")
    if not any(len(s.values.shape) > 2 for s in episode.signals.values()):
        out.append("No pictures: nothing is known about the visual gap.")
    out.append("No send and receive stamps: delay on the way and slow servo cannot be split.")
    out.append("One log: whether another unit does the same is not known.")
    if not episode.policy:
        out.append("No policy: its own errors cannot be told from the robot's.")
    return tuple(out)


def _probe(p: dict[str, float], verdict: str, evidence: Sequence[Evidence]) -> str:
    fired = {e.test for e in evidence}
    if verdict != "contract" and "saturation" in fired:
        return (
            "Two attempts settle limit against controller: one with the limit raised by half, one "
            "at the same limit with a command that reverses with the velocity."
        )
    others = sorted((c for c in CAUSES if c != "unknown"), key=lambda c: -p[c])
    if verdict != "unknown":
        return _PROBE[verdict]
    return f"{_PROBE['unknown']} {_PROBE[others[0]]}"
