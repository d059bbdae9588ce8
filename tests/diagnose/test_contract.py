from dataclasses import replace

import numpy as np
import pytest

from gaploop.core import Episode, Mend, PolicyContract, Signal, declared
from gaploop.diagnose.config import DiagnoseConfig
from gaploop.diagnose.contract import contract_tests
from gaploop.tasks.peg import Peg

SPEC = Peg().spec
TIMES = np.arange(60) / 20.0


def policy() -> PolicyContract:
    return PolicyContract(
        contract=SPEC.contract, inputs=SPEC.inputs, columns=SPEC.frame_columns, history=4, chunk=8,
        execute=4, normaliser="", input_mean=(0.0,) * 8, input_std=(0.015,) * 8,
        action_low=SPEC.command_low, action_high=SPEC.command_high,
    )  # fmt: skip


def episode(scale: float = 1.0, order: tuple[int, ...] = (0, 1, 2)) -> Episode:
    """Three joints that follow three different motions one frame late."""
    rng = np.random.default_rng(4)
    phase = np.array([0.0, 1.3, 2.9])
    command = 0.02 * np.sin(TIMES[:, None] * np.array([2.1, 3.7, 5.3]) + phase)
    state = np.concatenate([command[:1], command[:-1]]) + 1e-5 * rng.standard_normal((60, 3))
    parts = {
        "action": (command, SPEC.command),
        "observation.state": (scale * state[:, list(order)], ("x", "y", "z")),
        "observation.environment_state": (np.full((60, 2), 0.012), ("hole_x", "hole_y")),
    }
    signals = {
        key: Signal(name=key, unit="m", columns=columns, times=TIMES, values=values)
        for key, (values, columns) in parts.items()
    }
    return Episode(signals=signals, contract=SPEC.contract, robot="gantry", task="peg")


def found(log: Episode) -> dict[str, str]:
    tests = contract_tests(policy(), log, DiagnoseConfig())
    return {e.test: e.sentence for e in tests if e.bayes_factor > 20}


def test_a_path_that_agrees_with_training_is_green() -> None:
    assert found(episode()) == {}


def test_millimetres_where_training_had_metres() -> None:
    said = found(episode(scale=1000.0))
    assert "mm instead of m" in said["units"]
    assert said["units"].startswith("observation.state")


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_joints_in_another_order(order: tuple[int, ...]) -> None:
    assert "command x moves" in found(episode(order=order))["order"] or order[0] == 0


def test_a_rate_that_is_not_training_s() -> None:
    log = episode()
    slow = {k: replace(s, times=2.0 * s.times) for k, s in log.signals.items()}
    assert found(replace(log, signals=slow))["rate"] == (
        "Commands came at 10.0 Hz; the policy was trained at 20 Hz."
    )


def test_a_stated_unit_that_differs() -> None:
    log = episode()
    first = replace(log.contract.features[0], unit=declared("mm"))
    contract = replace(log.contract, features=(first, *log.contract.features[1:]))
    assert "unit of 'observation.state'" in found(replace(log, contract=contract))["contract"]


def test_a_joint_that_freezes_while_commanded() -> None:
    log = episode()
    state = log.signals["observation.state"]
    values = state.values.copy()
    values[20:45, 1] = values[20, 1]
    stuck = replace(state, values=values)
    tests = contract_tests(
        policy(), replace(log, signals={**log.signals, state.name: stuck}), DiagnoseConfig()
    )
    frozen = next(e for e in tests if e.test == "frozen")
    assert frozen.cause == "sensor"
    assert frozen.sentence.startswith("y repeats")
    assert frozen.t0 == pytest.approx(1.0)
    assert 1.5 < frozen.t1 <= 2.2  # until the command rests for a moment


RAMP = np.interp(np.arange(60), [0, 40], [0.0, -0.06])


def _held(values: np.ndarray) -> Episode:
    log = episode()
    command = log.signals["action"].values.copy()
    command[:, 2] = RAMP
    state = log.signals["observation.state"].values.copy()
    state[:, 2] = values
    changed = {
        key: replace(log.signals[key], values=array)
        for key, array in (("action", command), ("observation.state", state))
    }
    return replace(log, signals={**log.signals, **changed})


def test_a_joint_pressed_against_something_is_no_frozen_sensor() -> None:
    """It slows down before it repeats; a sensor freezes in mid-motion."""
    way = np.concatenate([RAMP[:1], RAMP[:-1]])
    frozen, pressed = way.copy(), way.copy()
    frozen[25:40] = way[25]
    pressed[25:40] = way[25]
    pressed[21:25] = way[25] + np.array([2e-3, 4e-4, 4e-6, 1e-6])
    assert "frozen" in found(_held(frozen))
    assert "frozen" not in found(_held(pressed))


def test_what_all_logs_say_counts_for_each() -> None:
    mend = Mend(
        feature="observation.environment_state", cause="contract", order=(0, 1),
        scale=(1e-3, 1e-3), offset=(0.0, 0.0), sentence="told in mm.",
    )  # fmt: skip
    red = contract_tests(policy(), episode(), DiagnoseConfig(), (mend,))
    assert [(e.test, e.cause) for e in red] == [("units", "contract")]
    assert "told in mm" in red[0].sentence
