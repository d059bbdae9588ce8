import pytest

from gaploop.core import ConfigError
from gaploop.train import TrainConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, r"train\.steps is 0; it must be at least 1"),
        ({"golden": 0}, r"train\.golden is 0"),
        ({"lr": 0.0}, r"train\.lr is 0\.0; it must be above 0"),
        ({"lr": float("nan")}, r"train\.lr is nan"),
        ({"held_out": 1.0}, r"train\.held_out is 1\.0; expected 0 to below 1"),
        ({"after": -1.0}, r"train\.after is -1\.0; it cannot be negative"),
        ({"execute": 17}, r"execute is 17 and train\.chunk is 16"),
    ],
)
def test_a_configuration_that_cannot_be(changes, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**changes)
