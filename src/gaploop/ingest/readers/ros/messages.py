"""Definitions of the messages robots log most, for bags that hold none (before 2023).

Facts of the ROS interface packages std_msgs, sensor_msgs, trajectory_msgs and
geometry_msgs (docs.ros.org): which members a message has, in which order.
"""

from gaploop.ingest.readers.ros.schema import plain

_SECTION = "\n====\nMSG: "
_TIME = "builtin_interfaces/Time\nint32 sec\nuint32 nanosec"
_SPAN = "builtin_interfaces/Duration\nint32 sec\nuint32 nanosec"
_HEADER = f"std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id{_SECTION}{_TIME}"
_POINT = "geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z"
_TURN = "geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w"
_POSE = (
    "geometry_msgs/Pose\ngeometry_msgs/Point position\ngeometry_msgs/Quaternion orientation"
    f"{_SECTION}{_POINT}{_SECTION}{_TURN}"
)
_VECTOR = "geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z"
_TWIST = f"geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular{_SECTION}{_VECTOR}"
_ARRAY = (
    "std_msgs/MultiArrayLayout layout\n{kind}[] data"
    f"{_SECTION}std_msgs/MultiArrayLayout\nstd_msgs/MultiArrayDimension[] dim\nuint32 data_offset"
    f"{_SECTION}std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride"
)
_KNOWN = {
    "std_msgs/String": "string data",
    "std_msgs/Bool": "bool data",
    "std_msgs/Float32": "float32 data",
    "std_msgs/Float64": "float64 data",
    "std_msgs/Int32": "int32 data",
    "std_msgs/Float32MultiArray": _ARRAY.format(kind="float32"),
    "std_msgs/Float64MultiArray": _ARRAY.format(kind="float64"),
    "sensor_msgs/JointState": "std_msgs/Header header\nstring[] name\nfloat64[] position\n"
    f"float64[] velocity\nfloat64[] effort{_SECTION}{_HEADER}",
    "trajectory_msgs/JointTrajectory": "std_msgs/Header header\nstring[] joint_names\n"
    f"trajectory_msgs/JointTrajectoryPoint[] points{_SECTION}{_HEADER}"
    f"{_SECTION}trajectory_msgs/JointTrajectoryPoint\nfloat64[] positions\nfloat64[] velocities\n"
    "float64[] accelerations\nfloat64[] effort\nbuiltin_interfaces/Duration time_from_start"
    f"{_SECTION}{_SPAN}",
    "geometry_msgs/Twist": _TWIST,
    "geometry_msgs/PoseStamped": f"std_msgs/Header header\ngeometry_msgs/Pose pose{_SECTION}"
    f"{_HEADER}{_SECTION}{_POSE}",
    "geometry_msgs/WrenchStamped": "std_msgs/Header header\ngeometry_msgs/Wrench wrench"
    f"{_SECTION}{_HEADER}{_SECTION}geometry_msgs/Wrench\ngeometry_msgs/Vector3 force\n"
    f"geometry_msgs/Vector3 torque{_SECTION}{_VECTOR}",
    "rcl_interfaces/Log": "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\n"
    f"string file\nstring function\nuint32 line{_SECTION}{_TIME}",
}


def known_definition(name: str) -> str:
    """The text of a type that its log does not define.

    Raises:
      ValueError: for one that is not among the usual ones.
    """
    text = _KNOWN.get(plain(name))
    if text is None:
        raise ValueError(f"the file does not define {name}, and it is none of the usual types")
    return text
