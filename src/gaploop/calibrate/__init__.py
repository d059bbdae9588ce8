"""From clean logs to a posterior over simulator knobs, and to what is randomised with."""

from gaploop.calibrate.config import CalibrateConfig
from gaploop.calibrate.stage import calibrate
from gaploop.calibrate.units import calibrate_units

__all__ = ["CalibrateConfig", "calibrate", "calibrate_units"]
