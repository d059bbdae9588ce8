"""A workcell: the one folder in which all that a loop makes is kept.

gaploop.toml    what the robot, the task, the field and the budgets are
episodes/       sealed datasets, each named by its digest
objects/        everything else, content-addressed
ledger.sqlite   what was done and said
report/         pages, made anew whenever needed
tmp/            drafts; emptied whenever the lock is taken
"""

import contextlib
import dataclasses
import shutil
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from gaploop.core.episode import Episode
from gaploop.core.errors import WorkcellError
from gaploop.store.cache import make_run, run_key
from gaploop.store.files import move_folder, saving, seal, write_atomic
from gaploop.store.ledger import EpisodeRow, Ledger
from gaploop.store.lock import locked
from gaploop.store.objects import Objects

CONFIG = "gaploop.toml"


class Workcell:
    """An open workcell. Use it in a `with`, or close it."""

    def __init__(self, path: Path, *, new: bool) -> None:
        """Use `create` or `open`."""
        self.path = path
        self.tmp = path / "tmp"
        with saving(path):
            for name in ("episodes", "objects", "tmp"):
                (path / name).mkdir(parents=True, exist_ok=True)
        self.objects = Objects(path / "objects", self.tmp)
        self.ledger = Ledger(path / "ledger.sqlite", new=new)

    @classmethod
    def create(cls, path: str | Path, toml_text: str) -> "Workcell":
        """Makes a workcell at `path`, a folder that holds none yet.

        Raises:
          WorkcellError: when there is one already, or the folder cannot be written.
        """
        root = Path(path).absolute()
        if (root / CONFIG).exists():
            raise WorkcellError(f"{root} is a workcell already.", hint="Open it instead.")
        if root.exists() and not root.is_dir():
            raise WorkcellError(f"{root} is a file.", hint="Expected a folder, or a new name.")
        cell = cls(root, new=True)
        # the configuration comes last: a folder with one is a whole workcell
        write_atomic(root / CONFIG, toml_text.encode(), cell.tmp)
        return cell

    @classmethod
    def open(cls, path: str | Path) -> "Workcell":
        """Opens the workcell at `path`.

        Raises:
          WorkcellError: when there is none, or its ledger is missing or damaged.
        """
        root = Path(path).absolute()
        if not (root / CONFIG).is_file():
            raise WorkcellError(
                f"{root} is no workcell: it has no {CONFIG}.",
                hint="Make one with `gaploop init`.",
            )
        if not (root / "ledger.sqlite").is_file():
            raise WorkcellError(
                f"{root} has lost its ledger.sqlite.", hint="Restore the file from a copy."
            )
        return cls(root, new=False)

    def __enter__(self) -> "Workcell":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the ledger."""
        self.ledger.close()

    @property
    def config(self) -> str:
        """Text of gaploop.toml."""
        return (self.path / CONFIG).read_text()

    @property
    def report(self) -> Path:
        """Folder of the report."""
        return self.path / "report"

    @contextlib.contextmanager
    def lock(self) -> Generator[None, None, None]:
        """Makes this process the only writer, and sweeps what a killed one left behind.

        Raises:
          WorkcellError: when another process holds it; names its id.
        """
        with locked(self.path / ".lock", f"The workcell {self.path}"):
            with saving(self.tmp):
                shutil.rmtree(self.tmp, ignore_errors=True)
                self.tmp.mkdir(exist_ok=True)
            yield

    @contextlib.contextmanager
    def scratch(self) -> Generator[Path, None, None]:
        """An empty folder inside the workcell that is gone afterwards."""
        folder = self.tmp / uuid.uuid4().hex
        with saving(folder):
            folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def cached(
        self,
        stage: str,
        function: Callable[[], Mapping[str, str]],
        *,
        config: Any,
        seed: int,
        inputs: Mapping[str, str],
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """Output digests of a stage call; runs `function` only if the ledger lacks it.

        stage: a package under gaploop, `train` or `train:round-2`; its source is part
          of the key, as are config, seed, inputs and the versions that matter.
        function: stores its results here and returns their digests by name. Labels
          and names it writes to the ledger are stored with the run, together.
        environment: further versions that change the result.
        """
        run = make_run(stage, config=config, seed=seed, inputs=inputs, extra=environment or {})
        known = self.ledger.find(run_key(run))
        if known is not None and all(self.has(d) for d in known.outputs.values()):
            return dict(known.outputs)
        started, clock = time.time(), time.perf_counter()
        with self.ledger.transaction():
            outputs = dict(function())
            wall = time.perf_counter() - clock
            self.ledger.record(
                dataclasses.replace(run, outputs=outputs, started=started, wall=wall)
            )
        return outputs

    def has(self, digest: str) -> bool:
        """Whether an object, a tree or a dataset with this digest is here."""
        return self.objects.whole(digest) or (self.path / "episodes" / digest).is_dir()

    def add_dataset(self, folder: Path) -> str:
        """Moves a finished dataset to episodes/ and lists its episodes; returns its digest.

        Raises:
          InputError: when the folder is no dataset.
          WorkcellError: when the disk is full or cannot be written.
        """
        from gaploop.store.datasets import open_dataset

        dataset = open_dataset(folder, finite=False)  # what a field saw is kept as it is
        digest = seal(folder)
        rows = [_row(episode, digest, i) for i, episode in enumerate(dataset)]
        # listed first: a kill in between leaves the folder where it was, to be added again
        if not self.ledger.episodes(digest):
            self.ledger.add_episodes(rows)
        move_folder(folder, self.path / "episodes" / digest, self.tmp)
        return digest

    def dataset(self, digest: str) -> Path:
        """Folder of a stored dataset; read it, never write to it.

        Raises:
          WorkcellError: when there is none with this digest.
        """
        path = self.path / "episodes" / digest
        if not digest.isalnum() or not path.is_dir():
            raise WorkcellError(
                f"There is no dataset {digest[:8]} in {self.path}.",
                hint="`gaploop log` lists what the workcell holds.",
            )
        return path

    def datasets(self) -> list[str]:
        """Digests of all stored datasets, sorted."""
        return sorted(p.name for p in (self.path / "episodes").iterdir() if p.is_dir())

    def episode(self, id: str) -> Episode:
        """The stored episode with this id.

        Raises:
          WorkcellError: when no dataset here holds it.
        """
        from gaploop.store.datasets import open_dataset

        row = self.ledger.find_episode(id)
        if row is None:
            raise WorkcellError(f"There is no episode {id[:8]} in {self.path}.")
        return open_dataset(self.dataset(row.dataset), finite=False).episode(row.position)


def _row(episode: Episode, dataset: str, position: int) -> EpisodeRow:
    """What the ledger lists of an episode."""
    return EpisodeRow(
        id=episode.id,
        dataset=dataset,
        position=position,
        length=len(next(iter(episode.signals.values())).times),
        robot=episode.robot,
        unit=episode.unit,
        task=episode.task,
        world=episode.world,
        origin=episode.origin,
        policy=episode.policy,
        success=episode.success,
    )
