"""HDF5 logs: robomimic and robosuite, ManiSkill, MolmoBot, DROID.

`guard` opens a file and reads arrays without believing what they claim, each layout is a
module that makes episodes of one group, `reader` finds out which layout a file has. Delete
the folder and its entry point to remove the formats.
"""

from gaploop.ingest.readers.hdf5.reader import Hdf5Reader

__all__ = ["Hdf5Reader"]
