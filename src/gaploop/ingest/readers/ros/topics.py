"""Topics to signals: names of joints become columns, commands are told from readings.

What a topic is for is read off its type and its name, as ROS users name them: joint states
are readings, trajectories and what is called command, cmd, target or goal are commands.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaploop.core import Feature, InputError, Loss, Signal, Stated, declared
from gaploop.ingest.readers.ros.layout import Decoded, decode
from gaploop.ingest.readers.ros.messages import known_definition
from gaploop.ingest.readers.ros.raw import Topic
from gaploop.ingest.readers.ros.schema import Types, parse, plain
from gaploop.ingest.readers.ros.selfdescribing import from_json, from_protobuf

_COMMAND = re.compile(r"(^|[/_])(command|commands|cmd|target|goal|desired|leader|setpoint)([/_]|$)")
_COMMANDS = {"trajectory_msgs/JointTrajectory", "control_msgs/JointJog", "geometry_msgs/Twist"}
_UNITS = {
    "sensor_msgs/JointState": {"position": "rad", "velocity": "rad/s", "effort": "N m"},
}
_ROLES = {"position": "joint_position", "velocity": "joint_velocity", "effort": "torque"}
_KEYS = {"position": "state", "velocity": "velocity", "effort": "effort"}
_FIRST_POINT = "points[0].positions"
_MOST_EVENTS = 200


@dataclass(slots=True)
class Made:
    """What became of one topic."""

    signals: list[Signal]
    features: list[Feature]
    facts: list[tuple[str, dict[str, object], tuple[float, float] | None]]
    """(key, value, span)"""
    losses: list[Loss]


def make(topic: Topic, start: int, source: str, taken: set[str]) -> Made:
    """Signals of a topic whose first stamp is `start` (ns); `taken` holds keys in use.

    Raises nothing for what cannot be decoded: that is a Loss, and the arrival of its
    messages is kept as a signal.
    """
    made = Made([], [], [], [])
    times = (np.array(topic.times, np.int64) - start) / 1e9
    order = np.argsort(times, kind="stable")
    try:
        groups, bad = _decoded(topic)
    except (ValueError, InputError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        made.losses.append(replace(_lost(topic, source, reason), damaged=False))
        groups, bad = [], []
    if bad:
        made.losses.append(_lost(topic, source, f"message {bad[0]} is damaged", len(bad)))
    for signal, feature in _signals(topic, groups, times, order, taken):
        made.signals.append(signal)
        made.features.append(feature)
        taken.add(signal.name)
    made.facts += _events(groups, topic, times)
    made.facts += _clock(groups, topic, times, start)
    if not made.signals:
        made.signals.append(_arrivals(topic, times, order))
        taken.add(made.signals[-1].name)
    return made


# -- inside -------------------------------------------------------------------


def _decoded(topic: Topic) -> tuple[list[Decoded], list[int]]:
    if topic.encoding == "json":
        return from_json(topic.messages)
    if topic.encoding == "protobuf":
        return from_protobuf(topic.messages, topic.definition, topic.type)
    if topic.encoding not in ("cdr", "ros1"):
        raise ValueError(f"the encoding {topic.encoding!r} is not known")
    ros1 = topic.encoding == "ros1"
    types = _types(topic, ros1)
    return decode(topic.messages, types, plain(topic.type), ros1=ros1)


def _types(topic: Topic, ros1: bool) -> Types:
    text = topic.definition.decode("utf-8", "replace")
    if not text.strip():
        text = known_definition(topic.type)
    if topic.definition_encoding not in ("", "ros2msg", "ros1msg"):
        raise ValueError(f"definitions in {topic.definition_encoding!r} are not read")
    return parse(topic.type, text, ros1=ros1)


def _signals(
    topic: Topic, groups: Sequence[Decoded], times: np.ndarray, order: np.ndarray, taken: set[str]
) -> Iterator[tuple[Signal, Feature]]:
    """Joints' members each as a signal; all else of a topic as the columns of one."""
    kind = plain(topic.type)
    side = "action" if kind in _COMMANDS or _COMMAND.search(topic.name) else "observation"
    place = np.empty(len(times), np.int64)
    place[order] = np.arange(len(times))
    for paths in _members(groups, kind):
        chosen, columns = _usual(groups, paths)
        rows = np.concatenate([g.rows for g in chosen])
        values = np.concatenate([_table(g, paths) for g in chosen])
        at = np.argsort(place[rows], kind="stable")
        rows, values = rows[at], values[at]
        unit = _UNITS.get(kind, {}).get(paths[0], "raw")
        key = _key(side, topic.name, paths, kind, taken)
        role = _ROLES.get(paths[0], "") if kind in _UNITS else ""
        role = "joint_command" if side == "action" and role else role
        yield (
            Signal(name=key, unit=unit, columns=columns, times=times[rows], values=values),
            Feature(
                key=key, columns=columns, role=declared(role) if role else Stated(),
                unit=declared(unit) if unit != "raw" else Stated(),
            ),
        )  # fmt: skip


def _members(groups: Sequence[Decoded], kind: str) -> list[list[str]]:
    """Paths that make one signal each time."""
    paths = dict.fromkeys(p for g in groups for p in g.columns if not p.startswith("header."))
    own = [p for p in paths if (kind in _UNITS and p in _KEYS) or p == _FIRST_POINT]
    rest = [p for p in paths if p not in own and not (own and p.startswith("points["))]
    return [[p] for p in own] + ([rest] if rest else [])


def _usual(
    groups: Sequence[Decoded], paths: Sequence[str]
) -> tuple[list[Decoded], tuple[str, ...]]:
    """The groups of the shape that most messages have, and the names of its columns."""
    shapes: dict[tuple[int, ...], list[Decoded]] = {}
    for g in groups:
        shape = tuple(g.columns[p].shape[1] if p in g.columns else 0 for p in paths)
        if any(shape):
            shapes.setdefault(shape, []).append(g)
    shape = max(shapes, key=lambda s: sum(len(g.rows) for g in shapes[s]))
    chosen = shapes[shape]
    if len(paths) == 1:
        for key in ("name", "joint_names"):
            names = chosen[0].texts.get(key, [])
            if len(names) == shape[0] == len(set(names)):
                return chosen, tuple(names)
    names = [
        p if n == 1 else f"{p}[{i}]" for p, n in zip(paths, shape, strict=True) for i in range(n)
    ]
    return chosen, tuple(names)


def _table(group: Decoded, paths: Sequence[str]) -> np.ndarray:
    parts = [group.columns[p] for p in paths if p in group.columns]
    if len({p.dtype.kind for p in parts}) > 1 or parts[0].dtype.kind == "u":
        parts = [p.astype(np.float64) for p in parts]
    return np.concatenate(parts, axis=1)


def _key(side: str, topic: str, paths: Sequence[str], kind: str, taken: set[str]) -> str:
    """The usual LeRobot key for the first joints of each side; a name of its own for others."""
    path = paths[0]
    short = ""
    if side == "action" and (path in (_FIRST_POINT, "position") or list(paths) == ["data"]):
        short = "action"
    elif kind in _UNITS and path in _KEYS:
        short = f"{side}.{_KEYS[path]}"
    if short and short not in taken:
        return short
    name = topic.strip("/").replace("/", ".")
    name = f"{name}.{path}" if len(paths) == 1 and path != "data" else name
    name = name if name.startswith(f"{side}.") else f"{side}.{name}"
    return name if name not in taken else f"{name}.{len(taken)}"


def _events(
    groups: Sequence[Decoded], topic: Topic, times: np.ndarray
) -> Iterator[tuple[str, dict[str, object], tuple[float, float] | None]]:
    """Short texts of topics that carry nothing else, as events."""
    if any(g.columns.keys() - {"header.stamp.sec", "header.stamp.nanosec"} for g in groups):
        return
    said = [(int(g.rows[i]), t) for g in groups for t in g.texts.values() for i in range(1) if t]
    for row, texts in said[:_MOST_EVENTS]:
        at = float(times[row])
        yield "event", {"topic": topic.name, "text": " ".join(texts)[:200]}, (at, at)


def _clock(
    groups: Sequence[Decoded], topic: Topic, times: np.ndarray, start: int
) -> Iterator[tuple[str, dict[str, object], tuple[float, float] | None]]:
    """How the sender's stamps lie against the recorder's clock."""
    seconds, rest = "header.stamp.sec", "header.stamp.nanosec"
    chosen = [g for g in groups if seconds in g.columns and rest in g.columns]
    if not chosen:
        return
    rows = np.concatenate([g.rows for g in chosen])
    ticks = np.concatenate(
        [
            g.columns[seconds][:, 0].astype(np.int64) * 10**9
            + g.columns[rest][:, 0].astype(np.int64)
            for g in chosen
        ]
    )
    if len(rows) < 10 or not ticks.any():
        return
    late = times[rows] - (ticks - start) / 1e9
    span = np.ptp(times[rows])
    slope = np.polyfit(times[rows], late, 1)[0] if span > 1 else 0.0
    yield (
        "clock",
        {
            "topic": topic.name,
            "received_after_s": round(float(np.median(late)), 6),
            "drift_ppm": round(1e6 * float(slope), 1),
            "jitter_ms": round(1e3 * float(np.std(late)), 3),
        },
        None,
    )


def _arrivals(topic: Topic, times: np.ndarray, order: np.ndarray) -> Signal:
    """Bytes a message: when a topic that is not decoded was silent can still be seen."""
    sizes = np.array([len(m) for m in topic.messages], np.int64)
    name = f"received.{topic.name.strip('/').replace('/', '.')}"
    return Signal(
        name=name, unit="1", columns=("bytes",), times=times[order], values=sizes[order][:, None]
    )


def _lost(topic: Topic, source: str, reason: str, lost: int | None = None) -> Loss:
    total = len(topic.messages)
    lost = total if lost is None else lost
    return Loss(
        source=f"{source}, topic {topic.name}", kept=total - lost, lost=lost, unit="messages",
        lost_bytes=sum(len(m) for m in topic.messages) if lost == total else 0, reason=reason,
    )  # fmt: skip
