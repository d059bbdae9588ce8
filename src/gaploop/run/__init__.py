"""Executors: independent calls, results in order, whatever ran them."""

from gaploop.run.processes import Processes
from gaploop.run.serial import Serial

__all__ = ["Processes", "Serial"]
