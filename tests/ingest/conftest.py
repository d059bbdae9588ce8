"""Small logs made for these tests."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DATA = Path(os.environ.get("GAPLOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture
def data() -> Path:
    """Real logs; skips where they are absent."""
    if not DATA.is_dir():
        pytest.skip(f"no real logs at {DATA}")
    return DATA


def servo_log(**changes: Any) -> dict[str, Any]:
    """A healthy servo log of 2 s at 200 Hz; `changes` replace top-level keys."""
    times = np.arange(400) * 0.005
    goal = 0.6 * np.sin(4 * times)
    seen = 0.6 * np.sin(4 * (times - 0.05))
    entries = [
        {
            "position": float(q), "speed": 0.1, "load": 3.0, "input_volts": 7.3, "temp": 30.0,
            "goal_position": float(g), "torque_enable": True, "timestamp": float(t),
        }
        for t, g, q in zip(times, goal, seen, strict=True)
    ]  # fmt: skip
    rig = {"mass": 0.49, "length": 0.1, "kp": 400, "vin": 7.4, "motor": "xl330"}
    return {**rig, "trajectory": "sin", "entries": entries, **changes}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a servo log under a name and gives its path."""

    def put(log: dict[str, Any] | None = None, name: str = "log.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(log or servo_log()), encoding="utf-8")
        return path

    return put
