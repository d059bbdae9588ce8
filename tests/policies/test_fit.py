import dataclasses

import pytest

from gaploop.core import (
    Channel,
    Contract,
    ContractError,
    Feature,
    KnobSpace,
    PolicyContract,
    TaskSpec,
    declared,
)
from gaploop.policies import check_fit, require_fit


def robot(**changes) -> Contract:
    state = Feature(
        key="observation.state",
        columns=("x", "y"),
        role=declared("joint_position"),
        unit=declared("m"),
        frame=declared("base"),
        rotation=declared("wxyz"),
    )
    action = Feature(key="action", columns=("x", "y"), unit=declared("m"))
    return dataclasses.replace(
        Contract(
            features=(state, action),
            action_space=declared("joint"),
            action_mode=declared("absolute"),
            gripper_polarity=declared("positive opens"),
            control_rate=declared(20.0),
        ),
        **changes,
    )


def task(**changes) -> TaskSpec:
    q = Channel(
        name="q", key="observation.state", columns=("x", "y"), unit="m", reads=("qpos:x", "qpos:y")
    )
    return dataclasses.replace(
        TaskSpec(
            name="reach", robot="gantry", instruction="", control_dt=0.05, horizon=10,
            channels=(q,), command=("x", "y"), command_unit="m", command_low=(-0.1, -0.1),
            command_high=(0.1, 0.1), layout=(), knobs=KnobSpace(knobs=()), stages=("there",),
            contract=robot(), history=4,
        ),
        **changes,
    )  # fmt: skip


def policy(**changes) -> PolicyContract:
    return dataclasses.replace(
        PolicyContract(
            contract=robot(), inputs=("observation.state", "action"),
            columns=("x", "y", "command.x", "command.y"), history=4, chunk=16, execute=8,
            normaliser="", action_low=(-0.1, -0.1), action_high=(0.1, 0.1),
        ),
        **changes,
    )  # fmt: skip


def feature(**changes) -> Contract:
    features = robot().features
    return robot(features=(dataclasses.replace(features[0], **changes), features[1]))


def test_a_policy_fits_what_it_was_made_for():
    assert check_fit(policy(), task()) == ()
    assert check_fit(policy(), robot()) == ()
    require_fit(policy(), task())


def test_what_nobody_states_cannot_disagree():
    assert check_fit(policy(contract=Contract()), task()) == ()
    assert check_fit(policy(), Contract()) == ()


@pytest.mark.parametrize(
    ("mine", "message"),
    [
        ({"history": 1}, "reads 1 frames of history, the task feeds 4"),
        (
            {"columns": ("y", "x", "command.x", "command.y")},
            "another order: at place 0 the policy expects 'y', the robot gives 'x'",
        ),
        (
            {"columns": ("x", "y", "force")},
            "expects force, which .* not give; the robot gives command.x, command.y",
        ),
        ({"inputs": ("observation.state",)}, "inputs differ: the robot gives action"),
        (
            {"action_low": (-100.0, -100.0), "action_high": (100.0, 100.0)},
            r"commands x from -100 to 100, the robot takes -0.1 to 0.1 m \(a factor near 1000: m",
        ),
        (
            {"action_low": (-0.1,), "action_high": (0.1,)},
            "commands 1 actuators, the robot has 2",
        ),
        ({"contract": robot(control_rate=declared(50.0))}, "trained at 50 Hz, .* runs at 20 Hz"),
        (
            {"contract": robot(action_mode=declared("delta"))},
            "action mode is 'delta', the robot's 'absolute'",
        ),
        (
            {"contract": robot(gripper_polarity=declared("positive closes"))},
            "gripper polarity is 'positive closes'",
        ),
    ],
)
def test_each_mismatch_with_a_task_is_one_sentence(mine, message):
    found = check_fit(policy(**mine), task())
    assert len(found) in (1, 2)
    import re

    assert re.search(message, found[0])
    with pytest.raises(ContractError, match="does not fit the task 'reach'"):
        require_fit(policy(**mine), task())


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        (
            feature(unit=declared("mm")),
            "is m for the policy and mm for the robot (a factor of 0.001)",
        ),
        (feature(rotation=declared("xyzw")), "rotation form of 'observation.state' is wxyz"),
        (feature(frame=declared("tool")), "The frame of 'observation.state' is base"),
        (feature(role=declared("joint_velocity")), "The role of 'observation.state'"),
        (feature(columns=("y", "x")), "stand in another order"),
        (feature(key="observation.joints"), "'observation.state', the robot has none"),
        (feature(observable=declared(False)), "which the robot cannot observe"),
        (robot(control_rate=declared(10.0)), "at 20 Hz, the robot runs at 10 Hz"),
        (robot(action_space=declared("end_effector")), "action space is 'joint'"),
    ],
)
def test_each_mismatch_with_a_robot_is_one_sentence(theirs, message):
    (found,) = check_fit(policy(), theirs)
    assert message in found


def test_a_list_and_a_tuple_say_the_same():
    assert check_fit(policy(contract=feature(unit=declared(["m", "m"]))), feature(
        unit=declared(("m", "m"))
    )) == ()  # fmt: skip


def test_several_mismatches_are_all_named():
    theirs = dataclasses.replace(feature(unit=declared("mm")), action_mode=declared("delta"))
    assert len(check_fit(policy(), theirs)) == 2
    with pytest.raises(ContractError, match=r"unit of .* action mode is"):
        require_fit(policy(), theirs)
