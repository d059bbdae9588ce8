"""What is wrong with the files of a LeRobot dataset, whatever the numbers in them are.

Tables and footers are read, never all frames: what the pass over the frames already knows
(lengths, spreads) is handed in. Nothing is taken on trust and nothing raises; a table that
cannot be read is itself a finding.
"""

from gaploop.ingest.audit.lerobot import audit_dataset

__all__ = ["audit_dataset"]
