"""Arrow schemas and Parquet files as LeRobot v3.0 wants them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gaploop.store.arrow import pa, pq


class ParquetFile:
    """A Parquet file being written. Pages carry checksums, so that a flipped bit is seen."""

    def __init__(self, path: Path, schema: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.schema = schema
        self._file = path.open("wb")
        self._writer = pq.ParquetWriter(
            self._file, schema, compression="snappy", write_page_checksum=True
        )

    def write(self, table: Any) -> None:
        self._writer.write_table(table, row_group_size=len(table))

    @property
    def size(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._file.close()


def arrow_type(dtype: np.dtype[Any], width: int) -> Any:
    plain = pa.from_numpy_dtype(dtype)
    return plain if width == 1 else pa.list_(plain, width)


def arrow_array(values: np.ndarray, type: Any) -> Any:
    flat = pa.array(values.reshape(-1))
    listed = pa.types.is_fixed_size_list(type)
    return pa.FixedSizeListArray.from_arrays(flat, type=type) if listed else flat


def episode_schema(row: Mapping[str, Any]) -> Any:
    def kind(name: str) -> Any:
        if name == "tasks":
            return pa.list_(pa.string())
        if not name.startswith("stats/"):
            return pa.int64()
        return pa.list_(pa.int64() if name.endswith("/count") else pa.float64())

    return pa.schema([(name, kind(name)) for name in row])


def write_tasks(path: Path, texts: list[str]) -> None:
    """The task table; its text column is the index of a data frame, as LeRobot expects it."""
    described = {
        "index_columns": ["task"],
        "column_indexes": [
            {"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object",
             "metadata": {"encoding": "UTF-8"}}
        ],
        "columns": [
            {"name": "task_index", "field_name": "task_index", "pandas_type": "int64",
             "numpy_type": "int64", "metadata": None},
            {"name": "task", "field_name": "task", "pandas_type": "unicode",
             "numpy_type": "object", "metadata": None},
        ],
        "creator": {"library": "gaploop", "version": "1"},
        "pandas_version": "2.0.0",
    }  # fmt: skip
    schema = pa.schema(
        [("task_index", pa.int64()), ("task", pa.string())],
        metadata={"pandas": json.dumps(described)},
    )
    file = ParquetFile(path, schema)
    try:
        file.write(
            pa.Table.from_arrays(
                [pa.array(list(range(len(texts))), pa.int64()), pa.array(texts, pa.string())],
                schema=schema,
            )
        )
    finally:
        file.close()


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")
