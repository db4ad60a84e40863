"""The values of a solver, rounded, checked against the model, and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray
    from lightloom.solvers.standard_form import (
        CompiledModel,
        StandardForm,
    )

INTEGRALITY = 1e-5
"""A value this close to an integer stands for it."""
FEASIBILITY = 1e-5
"""Largest violation of a row or bound, relative to the numbers in it."""
INTEGER_FEASIBILITY = 1e-9
"""The same for a row of integers only, whose activity is a sum of exact products."""


def rounded(form: StandardForm, values: FloatArray) -> FloatArray:
    """Return a point whose integral columns are integers and that keeps its bounds.

    A value farther than `INTEGRALITY` from an integer is left as it is, to be found
    by `violation`; likewise one farther than `FEASIBILITY` outside its bounds.
    """
    near = np.rint(values)
    snap = form.integral & (np.abs(values - near) <= INTEGRALITY)
    point = np.where(snap, near, values)
    inside = np.clip(point, form.column_lower, form.column_upper)
    close = np.abs(point - inside) <= FEASIBILITY * np.maximum(1.0, np.abs(inside))
    clipped = np.where(close, inside, point)
    return clipped + 0.0  # no negative zeros


def violation(compiled: CompiledModel, point: FloatArray) -> str:
    """Return what a rounded point violates worst, '' if it is feasible.

    Recomputed from the arrays; nothing the solver says about it is used. One pass
    over the matrix.

    `point`: values of all columns, shape (columns,).
    """
    form = compiled.form
    if not np.all(np.isfinite(point)):
        column = int(np.argmin(np.isfinite(point)))
        return f"{compiled.variables[column].name} is {point[column]}"
    outside = np.maximum(form.column_lower - point, point - form.column_upper)
    fraction = np.where(form.integral, np.abs(point - np.rint(point)), 0.0)
    for excess, what in ((outside, "out of its bounds"), (fraction, "fractional")):
        if form.columns and excess.max() > 0:
            column = int(excess.argmax())
            name = compiled.variables[column].name
            return f"{name} = {point[column]:.12g} is {what} by {excess[column]:.3g}"
    if not form.rows:
        return ""
    activity = form.activity(point)
    over = np.maximum(form.row_lower - activity, activity - form.row_upper)
    products = np.abs(form.row_value * point[form.row_column])
    scale = 1.0 + np.bincount(form.row_of_entry, products, form.rows)
    mixed = np.bincount(form.row_of_entry, ~form.integral[form.row_column], form.rows)
    excess = over - np.where(mixed, FEASIBILITY, INTEGER_FEASIBILITY) * scale
    row = int(excess.argmax())
    if excess[row] <= 0:
        return ""
    return f"constraint {compiled.constraints[row].name} fails by {over[row]:.3g}"


def load(compiled: CompiledModel, point: FloatArray) -> None:
    """Give the variables of the Pyomo model the values of a point.

    Integral columns get integers. Variables that the model does not use get the
    value of their domain nearest to 0.

    `point`: values of all columns, shape (columns,).
    """
    for variable, value, integral in zip(
        compiled.variables, point.tolist(), compiled.form.integral.tolist(), strict=True
    ):
        variable.set_value(int(value) if integral else value, skip_validation=True)
    for variable in compiled.idle:
        low = 0 if variable.lb is None else max(variable.lb, 0)
        value = low if variable.ub is None else min(variable.ub, low)
        variable.set_value(value, skip_validation=True)
