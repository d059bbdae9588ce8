"""LeRobot v3.0 datasets with a sidecar: write, open, read, seal; v2.1 is read and converted.

An episode is (dataset digest, index). Its id is taken over what the dataset stores,
single-precision values and stamps, and over its contract, so it is the same before
writing and after reading. Facts, cameras and names of files are no part of it.
"""

from gaploop.store.datasets_convert import convert_dataset
from gaploop.store.datasets_layout import DatasetInfo, FeatureInfo
from gaploop.store.datasets_prepare import as_stored
from gaploop.store.datasets_read import Dataset, open_dataset, read_dataset
from gaploop.store.datasets_write import write_dataset
from gaploop.store.files import seal

__all__ = [
    "Dataset", "DatasetInfo", "FeatureInfo", "as_stored", "convert_dataset", "open_dataset",
    "read_dataset", "seal", "write_dataset",
]  # fmt: skip
