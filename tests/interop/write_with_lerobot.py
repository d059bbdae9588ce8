"""Writes a dataset with the real lerobot; runs in lerobot's environment.

Usage: write_with_lerobot.py DATASET
"""

import sys
from pathlib import Path

import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset

FEATURES = {
    "observation.state": {"dtype": "float32", "shape": (3,), "names": ["x", "y", "z"]},
    "action": {"dtype": "float32", "shape": (2,), "names": ["a", "b"]},
    "next.success": {"dtype": "bool", "shape": (1,), "names": None},
    "observation.images.top": {"dtype": "image", "shape": (8, 8, 3), "names": ["h", "w", "c"]},
}


def main(folder: Path) -> None:
    data = LeRobotDataset.create(
        "gaploop/test", fps=30, features=FEATURES, root=folder, robot_type="so101", use_videos=False
    )
    rng = np.random.default_rng(5)
    for episode in range(4):
        for step in range(5 + episode):
            data.add_frame(
                {
                    "observation.state": rng.normal(size=3).astype(np.float32),
                    "action": rng.normal(size=2).astype(np.float32),
                    "next.success": np.array([episode == 2 and step == 6]),
                    "observation.images.top": rng.integers(255, size=(8, 8, 3), dtype=np.uint8),
                    "task": f"task {episode % 2}",
                }
            )
        data.save_episode()
    data.finalize()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
