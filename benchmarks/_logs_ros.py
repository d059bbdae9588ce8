"""Joint states out of an MCAP file, decoded to columns: messages a CPU-second, beside two peers.

The file is written by the tests' own writer. Peers (mcap-ros2-support and rosbags) run in
GAPLOOP_PEERS/ros, which has to hold them; each decodes every message and keeps positions.
"""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.ingest.ros_files import joint_topics, mcap_bytes

from benchmarks.harness import Cell, Result, markdown
from gaploop.ingest.readers.ros import RosReader

MESSAGES = 30_000

_PEERS = {
    "mcap-ros2-support 0.6.0": """
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
kept = []
with open(PATH, "rb") as f:
    reader = make_reader(f, decoder_factories=[DecoderFactory()])
    for _, _, _, message in reader.iter_decoded_messages():
        kept.append(list(message.position))
""",
    "rosbags 0.11.9": """
from mcap.reader import make_reader
from rosbags.typesys import Stores, get_typestore
store = get_typestore(Stores.ROS2_HUMBLE)
kept = []
with open(PATH, "rb") as f:
    for _, _, message in make_reader(f).iter_messages():
        kept.append(store.deserialize_cdr(message.data, "sensor_msgs/msg/JointState").position)
""",
}


def cells(quick: bool) -> list[Cell]:
    """Ours, unpacked and packed; each peer."""
    runs = 3 if quick else 7
    found = [
        Cell(name=f"ours-{c or 'plain'}", parameters={"tool": "", "compression": c, "runs": runs})
        for c in ("", "zstd")
    ]
    peers = [
        Cell(name=name.split()[0], parameters={"tool": name, "compression": "", "runs": 3})
        for name in _PEERS
    ]
    return found + ([] if quick else peers)


def run(cell: Cell) -> dict[str, Any]:
    """Median CPU-seconds for all messages; ours is measured beside each peer."""
    p = cell.parameters
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.mcap"
        topics = joint_topics(MESSAGES)[:1]
        path.write_bytes(mcap_bytes(topics, compression=p["compression"], a_chunk=500))
        mine, theirs = [], []
        for _ in range(p["runs"]):
            began = time.process_time()
            (episode,) = RosReader().read(path)
            mine.append(time.process_time() - began)
            assert len(episode.signals["observation.state"].times) == MESSAGES
            if p["tool"]:
                spent = _peer(_PEERS[p["tool"]], path)
                if spent is None:
                    return {"absent": True}
                theirs.append(spent)
        found = {"ours": statistics.median(mine)}
        return found | ({"theirs": statistics.median(theirs)} if theirs else {})


def table(results: list[Result]) -> str:
    """One row a tool."""
    rows: list[list[str]] = []
    for r in results:
        p, v = r.cell.parameters, r.values
        if v.get("absent"):
            rows.append([p["tool"], "not here", ""])
            continue
        spent = v.get("theirs", v["ours"])
        ratio = f"{spent / v['ours']:.0f}" if "theirs" in v else ""
        name = p["tool"] or f"gaploop, {p['compression'] or 'not packed'}"
        rows.append([name, f"{MESSAGES / spent:,.0f}", ratio])
    header = ["reader", "messages a CPU-second", "ours is faster by"]
    note = f"{MESSAGES:,} sensor_msgs/JointState of three joints in one MCAP file. Aim: 25,000."
    return f"## How fast ROS logs are read\n\n{note}\n\n{markdown(header, rows)}"


def _peer(program: str, path: Path) -> float | None:
    """CPU-seconds of the decoding alone, imports left out."""
    python = Path(os.environ.get("GAPLOOP_PEERS", "")) / "ros" / "bin" / "python"
    if not python.is_file():
        return None
    head, body = program.split("kept = []")
    timed = (
        f"import time\nPATH = {str(path)!r}\n{head}began = time.process_time()\nkept = []{body}"
        "print(time.process_time() - began)\n"
    )
    ran = subprocess.run([str(python), "-c", timed], capture_output=True, text=True, check=True)
    return float(ran.stdout)
