"""lightloom: verified circuit schedules for optical interconnects.

Importing the package loads nothing heavy; each room is imported by name, for
example ``from lightloom.validate import verify``.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
