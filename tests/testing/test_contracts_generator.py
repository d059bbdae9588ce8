"""The generator of robots and contracts: what it draws, and that it is nobody's relative."""

import ast
from pathlib import Path

import numpy as np
import pytest

from gaploop.testing import contracts, contracts_robot
from gaploop.testing.contracts import UNITS, pair, shifted
from gaploop.testing.contracts_robot import arm, follow, tool_pose


@pytest.mark.parametrize("module", [contracts, contracts_robot])
def test_it_shares_no_code_with_what_it_measures(module: object) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text())  # type: ignore[attr-defined]
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} | {
        a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names
    }
    assert not {n for n in names if "ingest" in n or "signals" in n}


def test_a_seed_is_a_pair() -> None:
    one, again, other = pair(3), pair(3), pair(5)
    assert [e.id for e in one.episodes] == [e.id for e in again.episodes]
    assert one.truth == again.truth
    assert one.episodes[0].id != other.episodes[0].id


def test_the_log_states_keys_and_columns_and_nothing_else() -> None:
    for feature in pair(3).declared.features:
        assert all(
            getattr(feature, f).source == "unknown" for f in ("role", "unit", "rotation", "frame")
        )


def test_absolute_commands_are_followed_as_the_truth_says() -> None:
    p = pair(4, mode="absolute", space="joint", joints=True, relabelled=False, hold=1, still=-1,
             snr=1e6)  # fmt: skip
    lag, d = p.truth["lag"], p.draw
    e = p.episodes[0]
    sent = e.signals["action"].values[:, : len(d.order)].astype(float) / UNITS[d.action_unit]
    seen = e.signals["observation.state"].values[:, list(d.order)].astype(float)
    seen = seen / UNITS[d.state_unit] * np.array(d.signs)
    rows = np.arange(20, len(sent))
    late = np.stack([np.interp(rows - lag, np.arange(len(sent)), c) for c in sent.T], axis=1)
    away = (seen[rows] - late).std(axis=0)
    unshifted = (seen[rows] - sent[rows]).std(axis=0)
    assert (away < 0.05).all()
    assert away.sum() < 0.5 * unshifted.sum()


def test_the_servo_trails_by_what_was_asked() -> None:
    robot = arm(np.random.default_rng(0), 5.0)
    assert robot.delay + robot.servo == pytest.approx(5.0)
    ramp = np.linspace(0, 1, 800)[:, None] * np.ones(len(robot.axes))
    path = follow(robot, ramp)
    slope = ramp[1, 0] - ramp[0, 0]
    trailing = (ramp[400:] - path[400:]).mean(axis=0) / slope / contracts_robot.SUBSTEPS
    stuck = (robot.friction + np.abs(robot.droop)) / slope / contracts_robot.SUBSTEPS
    assert (np.abs(trailing - 5.0) < stuck + 0.2).all()


def test_attitudes_are_of_norm_one_and_links_keep_their_length() -> None:
    robot = arm(np.random.default_rng(1), 1.0)
    q = np.random.default_rng(2).uniform(-1, 1, (50, len(robot.axes)))
    place, spin = tool_pose(robot, q)
    assert np.allclose(np.linalg.norm(spin, axis=1), 1.0)
    assert np.linalg.norm(place, axis=1).max() <= np.linalg.norm(robot.links, axis=1).sum() + 1e-9


def test_shifting_moves_the_rows_of_the_action_alone() -> None:
    p = pair(3)
    odd = np.zeros(len(p.episodes), bool)
    odd[0] = True
    late = shifted(p, 4, odd)[0]
    before, after = p.episodes[0].signals, late.signals
    assert np.array_equal(after["action"].values, before["action"].values[:-4])
    assert np.array_equal(after["observation.state"].values, before["observation.state"].values[4:])
    assert shifted(p, 4, odd)[1] is p.episodes[1]
