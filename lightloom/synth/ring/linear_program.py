"""Programs about the circuits of a ring, given by their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.solvers import SOLVERS, SolveOptions
from lightloom.solvers.child import solve_in_child
from lightloom.solvers.standard_form import StandardForm

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray


_MOST_NODES = 50
"""Most nodes of HiGHS, where it stands in for CP-SAT."""


def integer_point(form: StandardForm, options: SolveOptions) -> IntArray | None:
    """Return a point of an integer program, if one is found within some work.

    CP-SAT finds it, whose conflicts and reproducible seconds can be limited. Where
    OR-Tools is not installed HiGHS does, which finds less.

    Returns shape (columns,), ``None`` if there is none or none was found; the same
    arguments have one answer by one solver.
    """
    adapter = SOLVERS["cp-sat"]
    if not adapter.status().availability:
        adapter = SOLVERS["highs"]
        options = SolveOptions(seed=options.seed, node_limit=_MOST_NODES)
    answer = solve_in_child(adapter, form, options)
    return None if answer.values is None else np.rint(answer.values).astype(np.int64)


def linear_program(
    entries: tuple[list[int], list[int], FloatArray],
    *,
    cost: FloatArray | IntArray,
    upper: FloatArray,
    rows: tuple[FloatArray, FloatArray],
    integral: bool = False,
) -> StandardForm:
    """Return a program to maximise, of (row, column, value) entries, columns from 0.

    `entries`: rows, columns and values of the matrix. `cost`: what a unit of each
    column is worth, shape (columns,). `upper`: most of each column, shape (columns,).
    `rows`: least and most of each row, shape (rows,) both.
    """
    from scipy.sparse import csr_array

    row, column, value = entries
    matrix = csr_array((value, (row, column)), shape=(len(rows[0]), len(cost)))
    matrix.sort_indices()
    return StandardForm(
        cost=cost.astype(np.float64),
        column_lower=np.zeros(len(cost)),
        column_upper=upper,
        integral=np.full(len(cost), integral),
        row_start=matrix.indptr.astype(np.int32),
        row_column=matrix.indices.astype(np.int32),
        row_value=matrix.data.astype(np.float64),
        row_lower=rows[0],
        row_upper=rows[1],
        offset=0.0,
        maximise=True,
    )
