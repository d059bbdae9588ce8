"""Evaluate: policy x bucket on paired seeds, and the three questions."""

from gaploop.evaluate.config import EvaluateConfig
from gaploop.evaluate.stage import evaluate

__all__ = ["EvaluateConfig", "evaluate"]
