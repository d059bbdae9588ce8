"""ROS logs: MCAP, rosbag2 (MCAP or SQLite) and ROS 1 bags. Needs no ROS.

`mcap`, `sqlite` and `bag` give raw messages of a file in order, `schema` understands the
text of a message definition, `layout` decodes many messages of a topic at once, `topics`
makes signals of them and `reader` an episode. Delete the folder and its entry point to
remove the formats.
"""

from gaploop.ingest.readers.ros.reader import RosReader

__all__ = ["RosReader"]
