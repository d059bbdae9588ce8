"""What a robot's numbers mean: inferred, compared, converted, kept in a file."""

from gaploop.ingest.contracts.compare import Difference, compare, require_agreement
from gaploop.ingest.contracts.file import (
    check_runner,
    load,
    of_log,
    read_contract_file,
    write_contract,
)
from gaploop.ingest.contracts.infer import infer, shifted
from gaploop.ingest.contracts.merge import converted, merge
from gaploop.ingest.contracts.processors import read_processors, write_processors

__all__ = [
    "Difference", "check_runner", "compare", "converted", "infer", "load", "merge", "of_log",
    "read_contract_file", "read_processors", "require_agreement", "shifted", "write_contract",
    "write_processors",
]  # fmt: skip
