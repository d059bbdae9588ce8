"""The six gaps, the three causes that are no gap, and their fixed colours."""

from typing import Final

GAPS: Final = ("visual", "sensor", "dynamics", "execution", "mechanical", "task")
"""What can differ between simulation and reality, always in this order."""

CAUSES: Final = (*GAPS, "contract", "policy", "unknown")
"""Everything a diagnosis may answer: the gaps, then what is no gap of physics."""

COLOURS: Final = {
    "visual": "#7b5ea7",
    "sensor": "#2a7fb8",
    "dynamics": "#3d9a50",
    "execution": "#d9822b",
    "mechanical": "#a8553a",
    "task": "#c2427a",
    "contract": "#4a4a4a",
    "policy": "#8a8a2b",
    "unknown": "#9aa0a6",
}
"""One fixed colour a cause, used by every picture."""
