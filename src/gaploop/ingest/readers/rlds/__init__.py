"""RLDS: TFRecord files of Example messages, an episode a record. Needs no TensorFlow.

`tfrecord` frames and checks the records, `example` decodes one message, `reader` makes an
episode of it. Delete the folder and its entry point to remove the format.
"""

from gaploop.ingest.readers.rlds.reader import RldsReader

__all__ = ["RldsReader"]
