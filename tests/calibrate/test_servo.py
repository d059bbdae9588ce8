"""The servo fit: it recovers planted knobs, keeps held-out logs out, and refuses bad logs."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from gaploop.calibrate.servo import ServoConfig, calibrate_servo, servo_json
from gaploop.calibrate.servo_fit import fold_of
from gaploop.calibrate.servo_logs import load_servo_logs
from gaploop.calibrate.servo_model import servo_space, simulate_servo
from gaploop.core import InputError

DATA = Path(os.environ.get("GAPLOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))
SMALL = ServoConfig(
    rungs=("M1", "M3"), folds=2, fold_budget=200, budget=2000, starts=2, walkers=16, steps=40,
    burn=40, draws=16,
)  # fmt: skip
TRUTH = {
    "torque_constant": 0.4, "resistance": 4.0, "armature": 1.5e-3, "angle_offset": 0.0,
    "coulomb": 0.012, "viscous": 0.006, "delay": 0.01,
}  # fmt: skip


def _file(path: Path, goal: np.ndarray, position: np.ndarray, kp: float, kind: str) -> Path:
    entries = [
        {
            "timestamp": 0.01 * i, "goal_position": float(g), "position": float(q),
            "input_volts": 7.4, "torque_enable": bool(i < 250 or kind != "drop"),
        }
        for i, (g, q) in enumerate(zip(goal, position, strict=True))
    ]  # fmt: skip
    rig = {"mass": 0.49, "length": 0.1, "kp": kp, "vin": 7.4, "motor": "m", "trajectory": kind}
    path.write_text(json.dumps({**rig, "entries": entries}), encoding="utf-8")
    return path


@pytest.fixture
def logs(tmp_path: Path) -> dict[float, list[Path]]:
    """P gain to four simulated logs of 4 s at 100 Hz with 1 mrad noise."""
    times = np.arange(400) * 0.01
    kinds = {
        "sweep": np.sin(times**2),
        "slow": 1.2 * np.sin(2 * times) + 0.3 * np.sin(5 * times),
        "up": np.minimum(1.2, times),
        "drop": -np.minimum(1.5, times),
    }
    rng = np.random.default_rng(0)
    space, found = servo_space("M1"), {}
    for kp in (100.0, 400.0, 800.0):
        found[kp] = []
        for kind, goal in kinds.items():
            path = _file(tmp_path / f"{kp:.0f}_{kind}.json", goal, np.zeros(400), kp, kind)
            truth = np.array([[TRUTH[n] for n in space.names]])
            seen = simulate_servo(load_servo_logs([path]), space, truth)[:, 0, 0]
            seen = seen + 1e-3 * rng.standard_normal(400)
            found[kp].append(_file(path, goal, seen, kp, kind))
    return found


def test_recovers_planted_knobs_and_predicts_another_gain(logs: dict[float, list[Path]]) -> None:
    result = calibrate_servo([*logs[100.0], *logs[800.0]], logs[400.0], SMALL, seed=1)
    assert result.model == "M1"
    assert result.verdict == "holds"
    answer = servo_json(result)
    assert answer["held_out"]["value"] < 8.0
    assert set(answer["held_out"]["per_log"]) == {p.name for p in logs[400.0]}
    knobs = {k["name"]: k for k in answer["knobs"]}
    ratio = TRUTH["torque_constant"] / TRUTH["resistance"]
    p = result.posterior.particles
    at = result.posterior.space.index
    stall = p[:, at("torque_constant")] / p[:, at("resistance")]
    assert np.median(stall) == pytest.approx(ratio, rel=0.05)
    assert knobs["coulomb"]["mean"] == pytest.approx(TRUTH["coulomb"], abs=0.006)
    assert knobs["delay"]["mean"] == pytest.approx(TRUTH["delay"], abs=0.006)
    json.dumps(answer, allow_nan=False)


def test_same_seed_same_result_and_no_held_out(logs: dict[float, list[Path]]) -> None:
    tiny = ServoConfig(
        rungs=("M1",), fold_budget=60, budget=120, starts=2, walkers=8, steps=40, burn=5, draws=8
    )
    one, two = (calibrate_servo(logs[100.0][:2], (), tiny, seed=3) for _ in range(2))
    assert np.array_equal(one.posterior.particles, two.posterior.particles)
    assert one.verdict == "not examined"
    assert servo_json(one)["held_out"]["value"] is None
    assert one.posterior.weights.sum() == pytest.approx(1.0)
    assert len(one.posterior.shipped) > 0


def test_a_log_on_both_sides_is_refused(logs: dict[float, list[Path]]) -> None:
    with pytest.raises(InputError, match="both fitted and held out"):
        calibrate_servo(logs[100.0], logs[100.0][:1], SMALL)


def test_no_log() -> None:
    with pytest.raises(InputError, match="No servo log"):
        calibrate_servo([], ())


@pytest.mark.parametrize("key", ["mass", "length", "kp"])
def test_a_log_without_the_rig_names_what_is_missing(
    logs: dict[float, list[Path]], key: str
) -> None:
    path = logs[100.0][0]
    log = json.loads(path.read_text())
    del log[key]
    path.write_text(json.dumps(log))
    with pytest.raises(InputError, match=rf"100_sweep\.json: the rig's `{key}`"):
        load_servo_logs([path])


def test_nan_names_file_and_entry(logs: dict[float, list[Path]]) -> None:
    path = logs[100.0][0]
    log = json.loads(path.read_text())
    log["entries"][17]["position"] = float("nan")
    path.write_text(json.dumps(log))
    with pytest.raises(InputError, match=r"entry 17: observation\.state"):
        load_servo_logs([path])


def test_shorter_logs_are_padded_and_masked(logs: dict[float, list[Path]]) -> None:
    path = logs[100.0][0]
    log = json.loads(path.read_text())
    log["entries"] = log["entries"][:200]
    path.write_text(json.dumps(log))
    both = load_servo_logs([path, logs[800.0][0]])
    assert both.valid.sum(axis=0).tolist() == [200, 400]
    assert np.isfinite(both.position).all()


def test_folds_mix_gains_and_trajectories(logs: dict[float, list[Path]]) -> None:
    both = load_servo_logs([*logs[100.0], *logs[800.0]])
    for folds in (2, 4):
        fold = fold_of(both, folds)
        for k in range(folds):
            inside = fold == k
            assert set(both.gain[inside]) == {100.0, 800.0}
            kinds = [n for n, i in zip(both.kinds, inside, strict=True) if i]
            assert len(set(kinds)) == len(kinds)


@pytest.mark.slow
def test_real_logs_held_out_gain(request: pytest.FixtureRequest) -> None:
    folder = DATA / "bam_xl330"
    if not folder.is_dir():
        pytest.skip(f"no real logs at {folder}")
    paths = sorted(folder.glob("*.json"))
    gain = {p: json.loads(p.read_text())["kp"] for p in paths}
    held = [p for p in paths if gain[p] == 400]
    result = calibrate_servo([p for p in paths if gain[p] != 400], held, ServoConfig(), seed=0)
    assert servo_json(result)["held_out"]["value"] <= 45.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda log: log.update(entries=log["entries"][:1]), "has 1 entries"),
        (lambda log: [e.update(timestamp=1.0) for e in log["entries"]], "does not increase"),
        (lambda log: [e.update(timestamp=-e["timestamp"]) for e in log["entries"]], "entry 1"),
        (lambda log: log["entries"][-1].update(timestamp=1e12), "at most"),
        (
            lambda log: [e.update(timestamp=1e-300 * i) for i, e in enumerate(log["entries"])],
            "at most",
        ),
        (lambda log: log.update(length=1e300), "`length`"),
        (lambda log: [e.update(input_volts=-7.4) for e in log["entries"]], "supply"),
    ],
)
def test_a_log_no_fit_can_use_is_named(tmp_path: Path, change, words: str) -> None:
    path = _file(tmp_path / "log.json", np.zeros(50), np.zeros(50), 100.0, "sweep")
    log = json.loads(path.read_text())
    change(log)
    path.write_text(json.dumps(log))
    with pytest.raises(InputError, match=words) as caught:
        load_servo_logs([path])
    assert str(path) in str(caught.value)
