from pathlib import Path

import numpy as np
import pytest

from gaploop.core import Attempts, Mend, spawn_many
from gaploop.core.errors import InputError
from gaploop.policies import ChunkRunner
from gaploop.policies.mend import (
    MENDS,
    as_new,
    compose,
    mendable,
    read_mends,
    taken_out,
    told,
    write_mends,
    zero_mends,
)
from gaploop.sim import World
from gaploop.sim.episodes import to_episodes
from gaploop.tasks.peg import Peg
from gaploop.testing.blind import Blind

MILLIMETRES = Mend(
    feature="observation.environment_state", cause="contract", order=(0, 1),
    scale=(1e-3, 1e-3), offset=(0.0, 0.0),
)  # fmt: skip


@pytest.fixture(scope="module")
def world() -> World:
    return World(Peg())


def _zero(world: World, **values: float) -> np.ndarray:
    row = world.space.nominal
    for name, value in values.items():
        row[world.space.index(name)] = value
    return row


def test_only_zeros_can_be_mended_by_numbers(world: World) -> None:
    names = [n for n in world.space.names if mendable(world.space, n)]
    assert names == ["zero_x", "zero_y"]


def test_a_mended_unit_moves_as_one_without_the_fault(world: World) -> None:
    """Beside it two units without a mend, in the same batch."""
    off = _zero(world, zero_x=2e-3, zero_y=-1e-3)
    mends = zero_mends(world.space, off, world.spec, "b")
    layout = np.tile([[0.011, -0.007]], (3, 1))
    seeds = np.tile(spawn_many(0, 1, "same"), 3)
    plain = world.space.nominal
    attempts = Attempts(layout=layout, knobs=np.stack([plain, off, off]), seeds=seeds)
    runner = ChunkRunner(Blind(world.spec), units=["a", "b", "c"], mends=mends)
    record = world.rollout(attempts, runner)
    end = record.truth["q"][-1]
    # the first frames differ by the step from where it was parked
    assert np.abs(end[1] - end[0]).max() < 2e-4
    assert np.abs(end[2] - end[0]).max() > 5e-4
    shift = record.command[-1, 1] - record.command[-1, 0]
    assert np.allclose(shift, [2e-3, -1e-3, 0.0], atol=2e-4)
    assert taken_out(mends, "b") == {"zero_x": 2e-3, "zero_y": -1e-3}
    assert taken_out(mends, "c") == {}


def test_a_mended_feature_reads_as_in_training(world: World) -> None:
    attempts = world.attempts(4, 1)
    plain = world.rollout(attempts, ChunkRunner(Blind(world.spec)))
    wrong = ChunkRunner(Blind(world.spec), mends=[MILLIMETRES.inverse()])
    right = ChunkRunner(Blind(world.spec), mends=compose([MILLIMETRES.inverse()], [MILLIMETRES]))
    assert not np.allclose(world.rollout(attempts, wrong).command, plain.command, atol=1e-3)
    assert np.allclose(world.rollout(attempts, right).command, plain.command, atol=1e-6)


def test_a_told_log_is_that_of_a_robot_without_the_fault(world: World) -> None:
    off = _zero(world, zero_x=2e-3)
    attempts = world.attempts(2, 3, knobs=off)
    record = world.rollout(attempts, ChunkRunner(Blind(world.spec)))
    (log, _) = to_episodes(
        world, attempts, record, world.task.judge(record), origin="rollout", policy="",
        world_kind="stand-in",
    )  # fmt: skip
    mends = zero_mends(world.space, off, world.spec, "")
    seen = told(log, mends)
    assert seen.id == log.id
    assert seen.success == log.success
    assert as_new(seen).id != log.id
    assert as_new(seen).parents == (log.id,)
    q = seen.signals["observation.state"].values
    sent = seen.signals["action"].values.astype(float)
    twin = Attempts(
        layout=attempts.layout[:1], knobs=world.space.nominal[None], seeds=attempts.seeds[:1]
    )
    again = world.replay(twin, sent[:, None], noise=False).signals["q"][:, 0]
    assert np.abs(again - q).max() < 1e-6
    assert told(log, [Mend(**{**_parts(mends[0]), "unit": "other"})]) is log


def _parts(mend: Mend) -> dict:
    return {f: getattr(mend, f) for f in mend.__dataclass_fields__}


def test_compose_keeps_one_mend_a_feature_and_unit(world: World) -> None:
    once = zero_mends(world.space, _zero(world, zero_x=1e-3), world.spec, "a")
    twice = compose(once, once)
    assert len(twice) == len(once) == 2
    assert taken_out(twice, "a") == {"zero_x": 2e-3}
    # a unit of measure found later comes first on the way in
    state = Mend(
        feature="observation.state", cause="contract", order=(1, 0, 2),
        scale=(1e-3, 1e-3, 1e-3), offset=(0.0, 0.0, 0.0),
    )  # fmt: skip
    total = {(m.unit, m.feature): m for m in compose(once, [state])}
    values = np.array([[3.0, 5.0, 7.0]])
    direct = state.read(once[1].read(values))
    routed = total["a", "observation.state"].read(total["", "observation.state"].read(values))
    assert np.allclose(direct, routed)


def test_mends_on_disk(tmp_path: Path, world: World) -> None:
    mends = zero_mends(world.space, _zero(world, zero_y=1e-3), world.spec, "a", "why")
    assert read_mends(tmp_path) == ()
    write_mends(tmp_path, mends)
    assert read_mends(tmp_path) == mends
    write_mends(tmp_path, ())
    assert not (tmp_path / MENDS).exists()
    (tmp_path / MENDS).write_text("{}")
    with pytest.raises(InputError, match=r"mends\.json"):
        read_mends(tmp_path)
