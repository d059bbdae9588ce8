"""Put a robot's own logs into an inbox: CSV files in, one complete LeRobot v3 folder out.

    python examples/field_inbox.py attempts/*.csv --inbox inbox --name monday

Each file is one attempt, a row a control step, with the columns x, y, z (axes),
hole_x, hole_y (camera), cmd_x, cmd_y, cmd_z, all in metres. A file whose name
ends in `_ok.csv` succeeded. Another robot needs other columns in COLUMNS.
"""

import argparse
from pathlib import Path

import numpy as np

from gaploop.core import Episode, Label, Signal, registry
from gaploop.store.datasets import write_dataset

COLUMNS = {
    "observation.state": ("x", "y", "z"),
    "observation.environment_state": ("hole_x", "hole_y"),
    "action": ("cmd_x", "cmd_y", "cmd_z"),
}


def read(file: Path, task: str) -> Episode:
    """One attempt. Names of the columns are the task's, so that everyone agrees."""
    spec = registry.load("tasks", task)().spec
    table = np.genfromtxt(file, delimiter=",", names=True)
    names = {c.key: c.columns for c in spec.observed} | {"action": spec.command}
    times = np.arange(len(table)) * spec.control_dt
    signals = {
        key: Signal(
            name=key, unit="m", columns=names[key], times=times,
            values=np.stack([table[c] for c in columns], axis=1),
        )
        for key, columns in COLUMNS.items()
    }  # fmt: skip
    won = file.stem.endswith("_ok")
    outcome = Label(subject="", key="outcome", value={"success": won}, author="file name")
    return Episode(
        signals=signals, contract=spec.contract, robot=spec.robot, task=spec.name, facts=(outcome,)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--inbox", type=Path, required=True)
    parser.add_argument("--name", required=True, help="of this log inside the inbox")
    parser.add_argument("--task", default="peg")
    given = parser.parse_args()
    spec = registry.load("tasks", given.task)().spec
    episodes = [read(file, given.task) for file in sorted(given.files)]
    given.inbox.mkdir(parents=True, exist_ok=True)
    log = given.inbox / given.name
    write_dataset(log, episodes, fps=round(1 / spec.control_dt), robot=spec.robot)
    (log / "COMPLETE").touch()  # last: from now on the inbox takes it
    print(f"{len(episodes)} attempts in {log}")


if __name__ == "__main__":
    main()
