"""What one stage of one round may read: values, folders, episodes by name; task and world."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from gaploop.config import LoopConfig
from gaploop.core import Episode, Mend, registry
from gaploop.core.protocols import Policy, Task
from gaploop.store import Workcell

T = TypeVar("T")


@dataclass(kw_only=True)
class Turn:
    """What a stage of one round may read."""

    cell: Workcell
    config: LoopConfig
    number: int
    refs: dict[str, str]
    """Name@rK to digest: exactly what the stage's row declares, as far as it exists."""
    seed: int
    threads: int = 1

    def ref(self, name: str, back: int = 0) -> str:
        """Digest of a name of this round, or of `back` rounds ago; empty where it was not made."""
        return self.refs.get(f"{name}@r{self.number - back}", "")

    def value(self, name: str, cls: type[T], back: int = 0) -> T | None:
        """The stored value of a name, None where there is none."""
        found = self.ref(name, back)
        return self.cell.objects.get(found, cls) if found else None

    def need(self, name: str, cls: type[T], back: int = 0) -> T:
        """The stored value of a name, which an earlier stage always writes."""
        return self.cell.objects.get(self.refs[f"{name}@r{self.number - back}"], cls)

    def policy_folder(self, name: str, back: int = 0) -> Path:
        return self.cell.objects.tree(self.ref(name, back))

    def policy(self, name: str, back: int = 0) -> Policy:
        """A stored policy, checked against the task and its own golden pairs.

        Without its mends: a round is told in the numbers of the policy behind them.
        """
        from gaploop.policies import check_golden, load_policy, require_fit

        policy = load_policy(self.policy_folder(name, back), mends=False)
        require_fit(policy.contract, self.task.spec)
        check_golden(policy)
        return policy

    def episodes(self, name: str, back: int = 0) -> list[Episode]:
        from gaploop.store.datasets import read_dataset

        # what a robot logged as NaN is for the screen to find
        return list(read_dataset(self.cell.dataset(self.ref(name, back)), finite=False))

    def logs(self, back: int = 0) -> list[Episode]:
        """Field episodes as the acting policy meets them, behind its mends."""
        from gaploop.policies.mend import told

        return [told(e, self.mends) for e in self.episodes("field", back)]

    def path(self, back: int = 0) -> tuple[Mend, ...]:
        """What the run-time path does to the numbers of `logs`, by those logs."""
        from gaploop.policies import read_contract
        from gaploop.policies.path import path_mends

        return path_mends(read_contract(self.policy_folder("policy", 1)), self.logs(back))

    def sound(self, back: int = 0) -> list[Episode]:
        """`logs` as a sound run-time path would have left them, for everything physical."""
        from gaploop.policies.mend import told

        path = self.path(back)
        return [told(e, path) for e in self.logs(back)]

    @cached_property
    def mends(self) -> tuple[Mend, ...]:
        """Those of the policy that met the field."""
        from gaploop.policies.mend import read_mends

        return read_mends(self.policy_folder("policy", 1))

    @cached_property
    def task(self) -> Task:
        return registry.make("tasks", self.config.task)

    @cached_property
    def world(self):
        from gaploop.sim import World

        return World(self.task, threads=self.threads)
