"""A stand-in that counts how often it was collected from: `counting_field:LOGFILE`."""

from pathlib import Path

from gaploop.field.labs import lab_mix


class LogAt:
    """Collects from lab-mix and writes a line for every run that was finished."""

    def __init__(self, log: str) -> None:
        self.log = Path(log)

    def collect(self, policy: Path, trials: int, seed: int, out: Path) -> None:
        lab_mix(0).collect(policy, trials, seed, out)
        with self.log.open("a") as file:
            file.write("collected\n")


def __getattr__(name: str):
    """Any attribute is a field whose log is named like it."""
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda: LogAt(name)
