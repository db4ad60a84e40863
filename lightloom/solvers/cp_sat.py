"""CP-SAT: programs in bounded integers only, through OR-Tools.

Its traps, and what is done about them:

- It rounds continuous variables to integers without a word, and so answers another
  question: models that have any are refused.
- It cuts the range of a variable to 1e7 either way without a word: models with larger
  bounds, or none, are refused with the name of the variable.
- It knows no node limit; the limit counts conflicts instead, and with one thread
  is reproducible. It does not say which limit stopped it.
- It stops at an absolute gap of 1e-4 by default. Here the gap is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.solvers import math_opt
from lightloom.solvers.adapter import INTEGER_ONLY, Capabilities
from lightloom.solvers.availability import SolverUnavailableError
from lightloom.solvers.options import check_not_ours, set_field

if TYPE_CHECKING:
    from lightloom.solvers.adapter import Answer
    from lightloom.solvers.availability import Status
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.progress import Reporter
    from lightloom.solvers.standard_form import StandardForm

LARGEST = 1e7
"""Largest magnitude of a variable."""
_OURS = (
    "absolute_gap_limit",
    "log_search_progress",
    "max_number_of_conflicts",
    "max_time_in_seconds",
    "mip_max_bound",
    "num_search_workers",
    "num_workers",
    "random_seed",
    "relative_gap_limit",
)


@dataclass(frozen=True)
class CpSat:
    """The CP-SAT adapter."""

    name: str = "cp-sat"
    summary: str = "constraint programming on clause learning, through OR-Tools"
    capabilities: Capabilities = INTEGER_ONLY

    def status(self) -> Status:
        """Return whether OR-Tools is there in a version that works."""
        return math_opt.REQUIREMENT.status()

    def refuse(self, form: StandardForm) -> None:
        """Raise if a variable is not bounded as CP-SAT needs it.

        Raises `SolverUnavailableError`: with the number of the first such column.
        """
        size = np.maximum(np.abs(form.column_lower), np.abs(form.column_upper))
        if form.columns and size.max() > LARGEST:
            column = int(size.argmax())
            low, high = form.column_lower[column], form.column_upper[column]
            raise SolverUnavailableError(
                "cp-sat takes bounded integers only",
                where=f"column {column}",
                found=f"{low} .. {high}",
                allowed=f"{-LARGEST:.0f} .. {LARGEST:.0f}",
                fix="bound the variable in the model, or use highs or scip",
            )

    def solve(
        self, form: StandardForm, options: SolveOptions, reporter: Reporter
    ) -> Answer:
        """Solve a model with CP-SAT."""
        backend = math_opt.Backend(
            "CP_SAT",
            ("MIP_SOLUTION",),
            node_limit=False,
            seed=True,
            configure=_configure,
        )
        return math_opt.solve(backend, form, options, reporter)


def _configure(parameters: Any, options: SolveOptions, form: StandardForm) -> None:  # noqa: ANN401
    """Set CP-SAT's own parameters."""
    del form
    check_not_ours("cp-sat", options.extra, _OURS)
    parameters.absolute_gap_tolerance = 0.0
    parameters.relative_gap_tolerance = 0.0
    if options.node_limit is not None:
        parameters.cp_sat.max_number_of_conflicts = options.node_limit
    for name, value in options.extra.items():
        set_field("CP-SAT", parameters.cp_sat, name, value)


ADAPTER = CpSat()
