"""What is kept, and how: objects, the ledger, datasets, questions.

`Workcell` opens the folder. `gaploop.store.datasets` reads and writes LeRobot v3.0,
`gaploop.store.questions` asks across all of it; they load pyarrow and DuckDB, so
import them where they are needed.
"""

from gaploop.store.cache import environment, make_run, run_key, source_digest
from gaploop.store.files import seal
from gaploop.store.ledger import EpisodeRow, Ledger
from gaploop.store.objects import Objects
from gaploop.store.workcell import Workcell

__all__ = [
    "EpisodeRow", "Ledger", "Objects", "Workcell", "environment", "make_run", "run_key", "seal",
    "source_digest",
]  # fmt: skip
