"""Solvers behind one call, with the same kinds of outcome.

::

    outcome = run(model, "highs", SolveOptions(time_limit_s=60.0))

A solver is one file with an ``ADAPTER`` in this folder. Importing this package loads
no solver and no Pyomo.
"""

from __future__ import annotations

from lightloom.solvers.adapter import (
    SOLVERS,
    Adapter,
    Availability,
    Capabilities,
    SolverUnavailableError,
    Status,
    UnknownStatusError,
)
from lightloom.solvers.options import SolveOptions
from lightloom.solvers.progress import Progress
from lightloom.solvers.solve import Model, build_and_run, built, run, usable

__all__ = [
    "SOLVERS",
    "Adapter",
    "Availability",
    "Capabilities",
    "Model",
    "Progress",
    "SolveOptions",
    "SolverUnavailableError",
    "Status",
    "UnknownStatusError",
    "build_and_run",
    "built",
    "run",
    "usable",
]
