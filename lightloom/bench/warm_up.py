"""The smallest model there is: it has a solver loaded before the clock starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.solvers.child import solve_in_child
from lightloom.solvers.options import SolveOptions
from lightloom.solvers.standard_form import StandardForm

if TYPE_CHECKING:
    from lightloom.solvers.adapter import Adapter


def warm_up(adapter: Adapter) -> None:
    """Start the process of a solver, and solve ``x >= 1`` in it."""
    one = np.ones(1)
    form = StandardForm(
        cost=one,
        column_lower=0 * one,
        column_upper=one,
        integral=np.array([adapter.capabilities.integer]),
        row_start=np.array([0, 1], dtype=np.int32),
        row_column=np.array([0], dtype=np.int32),
        row_value=one,
        row_lower=one,
        row_upper=one,
        offset=0.0,
        maximise=False,
    )
    solve_in_child(adapter, form, SolveOptions())
