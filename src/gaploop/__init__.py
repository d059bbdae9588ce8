"""gaploop turns a robot's failures into its next capability."""

__version__ = "0.1.0"
