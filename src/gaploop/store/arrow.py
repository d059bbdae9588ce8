"""pyarrow, which has no types, in one place."""

from typing import Any

import pyarrow
import pyarrow.parquet

pa: Any = pyarrow
pq: Any = pyarrow.parquet
