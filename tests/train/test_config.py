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
        ({"field_share": 1.0}, r"train\.field_share is 1\.0; expected 0 to below 1"),
        ({"field_half": 0}, r"train\.field_half is 0"),
        ({"after": -1.0}, r"train\.after is -1\.0; it cannot be negative"),
        ({"execute": 17}, r"execute is 17 and train\.chunk is 16"),
    ],
)
def test_a_configuration_that_cannot_be(changes, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**changes)


def test_few_field_episodes_do_not_dominate():
    config = TrainConfig(field_share=0.5, field_half=20)
    shares = [config.share(n) for n in (0, 1, 20, 2000)]
    assert shares[0] == 0
    assert shares[1] < 0.03
    assert shares[2] == pytest.approx(0.25)
    assert 0.49 < shares[3] < 0.5
