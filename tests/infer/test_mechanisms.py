import numpy as np

from gaploop.core import Knob, KnobSpace, Prior, Target
from gaploop.core.units import shown
from gaploop.infer.mechanisms import mechanisms, proposals


def knob(name: str, gap: str, path: str, low: float = 0.0, high: float = 1.0) -> Knob:
    return Knob(
        name=name, gap=gap, unit="1", prior=Prior(low=low, high=high), nominal=(low + high) / 2,
        targets=(Target(path=path),),
    )  # fmt: skip


SPACE = KnobSpace(
    knobs=(
        knob("clearance", "dynamics", "geom:wall_px.pos[0]"),
        knob("wall_friction", "dynamics", "pair:wall_px.friction[0]"),
        knob("stiffness_x", "execution", "actuator:x.gainprm[0]"),
        knob("stiffness_y", "execution", "actuator:y.gainprm[0]"),
        knob("delay", "execution", "action:delay"),
        knob("hole_bias_x", "sensor", "sensor:hole.bias[0]", -1, 1),
        knob("hole_bias_y", "sensor", "sensor:hole.bias[1]", -1, 1),
        knob("hole_noise", "sensor", "sensor:hole.noise"),
    )
)


def test_axes_of_one_effect_are_one_mechanism() -> None:
    found = {m.key: m.columns for m in mechanisms(SPACE)}
    assert found == {
        "clearance": (0,),
        "wall_friction": (1,),
        "stiffness": (2, 3),
        "action:delay": (4,),
        "sensor:hole.bias": (5, 6),
        "sensor:hole.noise": (7,),
    }


def test_words_follow_the_direction_of_the_largest_shift() -> None:
    trained = SPACE.nominal
    moved = trained + np.array([-0.3, 0.4, -0.1, -0.2, 0.4, 0.1, -0.5, 0.2])
    said = [m.words(SPACE, moved, trained) for m in mechanisms(SPACE)]
    assert said == [
        "tight fit", "sticky wall", "soft servo", "late commands", "biased hole pose",
        "noisy hole pose",
    ]  # fmt: skip


def test_proposals_move_the_mechanism_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    base = SPACE.sample(rng, 20)
    for which in mechanisms(SPACE):
        rows = proposals(SPACE, which, base, rng)
        others = [c for c in range(len(SPACE)) if c not in which.columns]
        assert np.array_equal(rows[:, others], base[:, others])
        assert np.all(rows[:, which.columns] != base[:, which.columns])
        assert np.all(np.isfinite(SPACE.log_prior(rows)))


def test_values_are_shown_as_people_read_them() -> None:
    assert shown(0.041, "s") == "41 ms"
    assert shown(-0.0021, "m") == "-2.1 mm"
    assert shown(1.5, "m") == "1.5 m"
    assert shown(0.91, "1") == "0.91"
    assert shown(1500.0, "N/m") == "1500 N/m"
