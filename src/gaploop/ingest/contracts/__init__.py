"""What a robot's numbers mean: inferred, compared, converted, kept in a file."""

from gaploop.ingest.contracts.infer import infer

__all__ = ["infer"]
