"""Opens a dataset with the real lerobot and saves every frame; runs in lerobot's environment.

Usage: open_with_lerobot.py DATASET OUT.npz
"""

import sys
from pathlib import Path

import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset


def main(folder: Path, out: Path) -> None:
    data = LeRobotDataset("gaploop/test", root=folder)
    items = [data[i] for i in range(len(data))]
    keys = [k for k in items[0] if k != "task"]
    columns = {k: np.stack([np.asarray(item[k]) for item in items]) for k in keys}
    chunked = LeRobotDataset(
        "gaploop/test", root=folder, delta_timestamps={"action": [k / data.fps for k in range(4)]}
    )
    stats = {f"stats/{k}/{n}": v for k, s in data.meta.stats.items() for n, v in s.items()}
    np.savez(
        out,
        **columns,
        **stats,
        task=np.array([item["task"] for item in items]),
        fps=data.fps,
        episodes=data.num_episodes,
        robot=data.meta.robot_type,
        chunk=np.asarray(chunked[0]["action"]),
        starts=np.array([e["dataset_from_index"] for e in data.meta.episodes]),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
