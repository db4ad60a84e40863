"""The smallest model, which is solved to load the libraries of a solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.solvers.standard_form import StandardForm

if TYPE_CHECKING:
    from lightloom.solvers.adapter import Adapter


def smallest_model(adapter: Adapter) -> StandardForm:
    """Return the model ``minimise x, x >= 1, 0 <= x <= 1``."""
    one = np.ones(1)
    return StandardForm(
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
