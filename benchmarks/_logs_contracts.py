"""Contracts inferred from generated robots: right, wrong and unknown by field; lag; shifted."""

from typing import Any

from gaploop.core import Contract
from gaploop.ingest.contracts.infer import infer
from gaploop.testing.contracts import Pair, pair

HALF_FRAME = 0.5


def said(contract: Contract, field: str) -> tuple[Any, float]:
    """(value, confidence) of a field of `Pair.truth`; None for unknown."""
    state, pose = contract.feature("observation.state"), contract.feature("observation.pose")
    action = contract.feature("action")
    assert state is not None
    assert pose is not None
    assert action is not None
    stated = {
        "state_unit": state.unit,
        "pose_unit": pose.unit,
        "action_unit": action.unit,
        "rotation": pose.rotation,
        "role": action.role,
    }.get(field) or getattr(contract, field)
    value = stated.value
    if field == "role" and value is not None:
        value = value.rsplit("_", 1)[1]
    return value, stated.confidence


def judged(p: Pair) -> list[tuple[str, str, float]]:
    """(field, right wrong or unknown, confidence) of every field of one pair."""
    contract = infer(p.episodes, p.declared)
    found = []
    for field, truth in p.truth.items():
        value, sure = said(contract, field)
        if value is None:
            verdict = "unknown"
        elif field == "lag":
            verdict = (
                "right" if abs(value["seconds"] * p.draw.rate - truth) <= HALF_FRAME else "wrong"
            )
        elif field == "control_rate":
            verdict = "right" if abs(value / truth - 1) < 0.02 else "wrong"
        else:
            verdict = "right" if value == truth else "wrong"
        found.append((field, verdict, sure))
    return found


def inference(seeds: range, snr: float = 10.0) -> dict[str, dict[str, int]]:
    """Counts by field: right, wrong, unknown, sure (wrong with confidence over 0.9)."""
    table: dict[str, dict[str, int]] = {}
    for seed in seeds:
        for field, verdict, sure in judged(pair(seed, snr=snr)):
            row = table.setdefault(field, {"right": 0, "wrong": 0, "unknown": 0, "sure": 0})
            row[verdict] += 1
            row["sure"] += verdict == "wrong" and sure > 0.9
    return table
