"""pyarrow, which has no types, in one place."""

from typing import Any

import pyarrow  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]

pa: Any = pyarrow
pq: Any = pyarrow.parquet
