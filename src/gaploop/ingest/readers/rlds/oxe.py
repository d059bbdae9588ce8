"""What is published of the sets of Open X-Embodiment: the meaning of their actions.

Taken as facts from octo-models/octo, octo/data/oxe (configs and standardisation
transforms, MIT): its target counts an open gripper as 1, so a set whose gripper it inverts
counts a closed one as 1, and one that it integrates logs changes. These are a third
party's statements about each set, hence `assumed` and not `declared`.
"""

from gaploop.core import Stated

_TAIL = "_converted_externally_to_rlds"
_SURE = 0.9

# (action space, what 1 means for the gripper): the sets; ~ stands for _TAIL
_SETS = {
    ("ee", "relative"): (
        "fractal20220817_data kuka jaco_play nyu_door_opening_surprising_effectiveness "
        "berkeley_autolab_ur5 "
    ),
    ("ee", "open"): (
        "bridge_dataset taco_play berkeley_cable_routing toto language_table "
        "columbia_cairlab_pusht_real stanford_kuka_multimodal_dataset~ nyu_rot_dataset~ "
        "nyu_franka_play_dataset~ maniskill_dataset~ cmu_franka_exploration_dataset~ "
        "ucsd_kitchen_dataset~ ucsd_pick_and_place_dataset~ utokyo_pr2_opening_fridge~ "
        "utokyo_pr2_tabletop_manipulation~ utokyo_xarm_pick_and_place~ "
        "utokyo_xarm_bimanual~ robo_net kaist_nonprehensile~ stanford_mask_vit~ "
        "tokyo_u_lsmo~ dlr_sara_pour~ dlr_sara_grid_clamp~ asu_table_top~ "
        "stanford_robocook~ imperialcollege_sawyer_wrist_cam iamlab_cmu_pickup_insert~ "
        "uiuc_d3field cmu_playing_with_food cmu_play_fusion cmu_stretch fmb_dataset dobbe "
        "rh20t "
    ),
    ("ee", "closed"): (
        "roboturk viola stanford_hydra_dataset~ austin_buds_dataset~ "
        "furniture_bench_dataset~ austin_sailor_dataset~ austin_sirius_dataset~ bc_z "
        "dlr_edan_shared_control~ utaustin_mutex berkeley_fanuc_manipulation mujoco_manip "
    ),
    ("joint", "closed"): ("berkeley_mvp~ berkeley_rpt~ roboset "),
    ("nav", ""): ("gnm_dataset "),
    ("bimanual", "open"): ("aloha_static_dataset aloha_dagger_dataset "),
    ("bimanual_nav", "open"): ("aloha_mobile_dataset "),
}
_SPACE = {
    "ee": ("end_effector", "delta"),
    "joint": ("joint", "delta"),
    "bimanual": ("joint", "absolute"),
    "bimanual_nav": ("joint", "absolute"),
    "nav": ("base", "delta"),
}
_POLARITY = {"open": "1 = open", "closed": "1 = closed", "relative": "+1 = close further"}
_RATES = {"bridge_dataset": 5.0, "fractal20220817_data": 3.0, "droid": 15.0}
"""Hz: arXiv 2308.12952, 2212.06817 and 2403.12945."""

POSE = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")
POSED = {"bridge_dataset"}
"""Sets whose `state` and `action` are plain vectors of `POSE`."""


def known() -> dict[str, tuple[str, str]]:
    """Name of a set to (action space, gripper)."""
    return {name.replace("~", _TAIL): key for key, names in _SETS.items() for name in names.split()}


def statements(name: str) -> dict[str, Stated]:
    """Fields of a Contract for a set of this name; empty for one that is not listed."""
    found = known().get(name)
    stated: dict[str, Stated] = {}
    if found is not None:
        space, mode = _SPACE[found[0]]
        stated = {"action_space": _assumed(space), "action_mode": _assumed(mode)}
        if found[1]:
            stated["gripper_polarity"] = _assumed(_POLARITY[found[1]])
    if name in _RATES:
        stated |= {"log_rate": _assumed(_RATES[name]), "control_rate": _assumed(_RATES[name])}
    return stated


def _assumed(value: str | float) -> Stated:
    return Stated(value=value, source="assumed", confidence=_SURE)
