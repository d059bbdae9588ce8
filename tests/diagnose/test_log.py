"""Answers from logs alone: planted faults, honest gaps, real logs."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gaploop.core import CAUSES, Contract, Episode, Label, Signal, declared, registry
from gaploop.diagnose.log import PRIOR, diagnose_log

DATA = Path(os.environ.get("GAPLOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))


def _read(path: Path, name: str) -> list[Episode]:
    if not path.exists():
        pytest.skip(f"no real logs at {path}")
    return list(registry.load("readers", name)().read(path))


def _servo(position=None, success: bool | None = False, **more: Signal) -> Episode:
    """A joint that follows sin(3 t) 20 ms late, 4 s at 100 Hz."""
    times = np.arange(400) / 100.0
    goal = 0.5 * np.sin(3 * times)
    seen = 0.5 * np.sin(3 * (times - 0.02)) if position is None else position(times)
    signals = {
        "action": Signal(name="action", unit="rad", columns=("j",), times=times, values=goal),
        "observation.state": Signal(
            name="observation.state", unit="rad", columns=("j",), times=times, values=seen
        ),
        **more,
    }
    facts = ()
    if success is not None:
        facts = (Label(subject="", key="outcome", value={"success": success}, author="test"),)
    return Episode(
        signals=signals, contract=Contract(action_mode=declared("absolute")), facts=facts
    )


def _one(episode: Episode):
    (answer,) = diagnose_log([episode])
    assert set(answer.probabilities) == set(CAUSES)
    assert sum(answer.probabilities.values()) == pytest.approx(1.0)
    assert min(answer.probabilities.values()) > 0
    assert answer.not_seen
    assert answer.probe
    return answer


def test_prior_is_a_distribution() -> None:
    assert sum(PRIOR.values()) == pytest.approx(1.0)
    assert set(PRIOR) == set(CAUSES)


def test_nothing_odd_leaves_the_answer_open() -> None:
    answer = _one(_servo())
    assert answer.verdict == "unknown"
    assert max(p for c, p in answer.probabilities.items() if c != "unknown") < 0.25
    assert not answer.evidence
    assert any("Units" in line for line in answer.excluded)


def test_degrees_are_a_contract_fault_and_physics_is_not_blamed() -> None:
    answer = _one(_servo(lambda t: np.degrees(0.2 * np.sin(3 * (t - 0.3)))))
    assert (answer.verdict, answer.kind) == ("contract", "wrong unit")
    assert answer.probabilities["contract"] > 0.8
    assert {e.cause for e in answer.evidence} == {"contract"}


def test_inverted_sign() -> None:
    assert _one(_servo(lambda t: -0.5 * np.sin(3 * t))).kind == "wrong sign"


def test_command_without_answer_is_execution() -> None:
    answer = _one(_servo(lambda t: 1e-4 * np.sin(50 * t)))
    assert (answer.verdict, answer.kind) == ("execution", "command not executed")


def test_late_answer_is_measured() -> None:
    answer = _one(_servo(lambda t: 0.5 * np.sin(3 * (t - 0.2))))
    found = next(e for e in answer.evidence if e.test == "lag")
    assert found.statistic == pytest.approx(0.2, abs=0.02)
    assert answer.verdict == "execution"


def test_nan_is_named_with_its_time() -> None:
    seen = 0.5 * np.sin(3 * np.arange(400) / 100)
    seen[250:260] = np.nan
    answer = _one(_servo(lambda _: seen))
    assert answer.verdict == "sensor"
    assert "2.50 s" in answer.evidence[0].sentence


def test_unjudged_log_stays_unknown() -> None:
    answer = _one(_servo(lambda t: 0.5 * np.sin(3 * (t - 0.2)), success=None))
    assert answer.verdict == "unknown"
    assert answer.probabilities["unknown"] == max(answer.probabilities.values())
    assert answer.not_seen[0].startswith("No outcome recorded")


def test_torque_switched_off_is_not_taken_for_a_weak_joint() -> None:
    times = np.arange(400) / 100.0
    on = Signal(name="observation.torque_enable", unit="1", times=times, values=times < 2.0)

    def drops(t: np.ndarray) -> np.ndarray:
        return np.where(t < 2.0, 0.5 * np.sin(3 * (t - 0.02)), 0.0)

    answer = _one(_servo(drops, **{"observation.torque_enable": on}))
    assert [e.test for e in answer.evidence] == ["torque off"]


def test_successes_are_left_out_beside_failures() -> None:
    good, bad = _servo(success=True), _servo(lambda t: 0.4 * np.sin(3 * t))
    assert [d.episode for d in diagnose_log([good, bad])] == [bad.id]
    assert len(diagnose_log([good])) == 1
    assert diagnose_log([]) == []


def test_empty_episode_is_answered() -> None:
    answer = _one(Episode(signals={}))
    assert answer.verdict == "unknown"
    assert any(line.startswith("No commands") for line in answer.not_seen)


def test_failed_swing_up() -> None:
    folder = DATA / "simple_pendulum"
    answers = diagnose_log(_read(folder, "pendulum"))
    failed = next(a for a in answers if a.verdict != "unknown")
    assert (failed.verdict, failed.kind) == ("execution", "torque limit")
    assert {"saturation", "work", "energy"} <= {e.test for e in failed.evidence}
    assert failed.probabilities["policy"] > 0.1  # the controller stays a candidate
    assert failed.probabilities["execution"] < 0.85
    assert "reverses" in failed.probe


def test_real_servo_logs_show_sag_and_no_contract_fault() -> None:
    answers = diagnose_log(_read(DATA / "bam_xl330", "servo"))
    assert {a.verdict for a in answers} == {"unknown"}
    assert not any(e.cause == "contract" for a in answers for e in a.evidence)
    assert any(e.test == "droop" for a in answers for e in a.evidence)


def test_same_log_same_answer() -> None:
    one, two = _one(_servo()), _one(replace(_servo(), source="elsewhere"))
    assert one == two


def test_stamps_of_no_clock_stop_nothing() -> None:
    episode = _servo()
    fast = {
        k: replace(s, times=np.arange(len(s.times)) * 1e-300) for k, s in episode.signals.items()
    }
    assert _one(replace(episode, signals=fast)).verdict
