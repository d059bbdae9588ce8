"""Tables of numbers: CSV, NPZ and JSON lines, with a short mapping file that says what is what.

`mapping` is that file, `columns` reads a table as named arrays, `reader` makes episodes of
both. Formats that are well known have their mapping in `known/`. Delete the folder and its
entry point to remove them.
"""

from gaploop.ingest.readers.tables.reader import TableReader

__all__ = ["TableReader"]
