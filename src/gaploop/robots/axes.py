"""What position-controlled linear axes share: how commands are executed, zeros, the contract."""

from gaploop.core import Contract, Feature, Knob, Prior, Target, declared


# fmt: off
def execution_knobs(
    axes: tuple[str, ...], stiffness: float, *, delay: float, latest: float,
    softest: float, stiffest: float,
) -> tuple[Knob, ...]:
    """Delay, gain and stiffness of axes whose servos share one P gain.

    Args:
      stiffness: nominal P gain, N/m; the prior spans `softest` to `stiffest` times it.
      delay: nominal command delay, s; the prior spans 0 to `latest`.
    """
    gains = tuple(t for a in axes for t in (
        Target(path=f"actuator:{a}.gainprm[0]"),
        Target(path=f"actuator:{a}.biasprm[1]", scale=-1.0),
    ))
    return (
        Knob(
            name="delay", gap="execution", unit="s", nominal=delay,
            prior=Prior(low=0.0, high=latest), targets=(Target(path="action:delay"),),
            source="fieldbus and drive latencies of industrial gantries",
        ),
        Knob(
            name="gain", gap="execution", unit="1", nominal=1.0,
            prior=Prior(low=0.85, high=1.15), targets=(Target(path="action:gain"),),
            source="belt pitch and counts-per-metre errors",
        ),
        Knob(
            name="stiffness", gap="execution", unit="N/m", nominal=stiffness, targets=gains,
            prior=Prior(kind="loguniform", low=softest * stiffness, high=stiffest * stiffness),
            source="servo tuning range",
        ),
    )


def zero_knob(axis: str, column: int, *, most: float, sd: float) -> Knob:
    """A joint zero that is off: the encoder reads too much, the servo goes too short. In m."""
    return Knob(
        name=f"zero_{axis}", gap="mechanical", unit="m", nominal=0.0,
        prior=Prior(kind="normal", low=-most, high=most, mean=0.0, sd=sd),
        targets=(
            Target(path=f"sensor:q.bias[{column}]"),
            Target(path=f"action:offset[{column}]", scale=-1.0),
        ),
        source="homing by hand against a stop",
    )


def joint_contract(axes: tuple[str, ...], *extra: Feature, rate: float) -> Contract:
    """Absolute joint commands and joint readings in m; `extra` features belong to the task."""
    def joints(key: str, role: str) -> Feature:
        return Feature(
            key=key, columns=axes, role=declared(role), unit=declared("m"),
            frame=declared("home"), observable=declared(True),
        )

    return Contract(
        features=(
            joints("observation.state", "joint_position"), *extra, joints("action", "joint_command")
        ),
        action_space=declared("joint"), action_mode=declared("absolute"),
        action_reference=declared("home"), log_rate=declared(rate),
        control_rate=declared(rate), clock=declared("seconds from the start of the episode"),
    )
