"""Generate: gated expert demonstrations at posterior samples, half of them near failures."""

from gaploop.generate.config import GenerateConfig
from gaploop.generate.gate import GateReport, KnobGate
from gaploop.generate.stage import Generated, generate

__all__ = ["GateReport", "GenerateConfig", "Generated", "KnobGate", "generate"]
