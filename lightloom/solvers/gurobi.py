"""Gurobi: linear and mixed-integer programs; commercial, an optional extra.

Its traps, and what is done about them:

- Without a licence file it works with one that is inside its package: up to 2000
  variables and 2000 constraints. A larger model is refused with the reason.
- It stops at a relative gap of 1e-4 by default. Here the gap is 0.
- It may stop at "infeasible or unbounded".
- A row has one side; a row with two becomes two rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.extras import install_command
from lightloom.core.outcome import Limit
from lightloom.solvers.adapter import (
    LINEAR_AND_INTEGER,
    Answer,
    Availability,
    Capabilities,
    Requirement,
    SolverClaim,
    SolverUnavailableError,
    Status,
    TakesEveryModel,
    UnknownStatusError,
)
from lightloom.solvers.options import check_not_ours

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import FloatArray
    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.progress import Reporter
    from lightloom.solvers.standard_form import StandardForm

REQUIREMENT = Requirement(
    "gurobipy",
    "gurobipy",
    (12, 0),
    (14, 0),
    "the interface used here is that of 12 and 13",
    install_command("gurobi"),
)

CLAIMS: dict[str, tuple[SolverClaim, Limit | None]] = {
    "LOADED": (SolverClaim.FAILED, None),
    "OPTIMAL": (SolverClaim.OPTIMAL, None),
    "INFEASIBLE": (SolverClaim.INFEASIBLE, None),
    "INF_OR_UNBD": (SolverClaim.INFEASIBLE_OR_UNBOUNDED, None),
    "UNBOUNDED": (SolverClaim.UNBOUNDED, None),
    "ITERATION_LIMIT": (SolverClaim.STOPPED, Limit.NODES),
    "NODE_LIMIT": (SolverClaim.STOPPED, Limit.NODES),
    "TIME_LIMIT": (SolverClaim.STOPPED, Limit.TIME),
    "INTERRUPTED": (SolverClaim.STOPPED, Limit.INTERRUPT),
    "NUMERIC": (SolverClaim.FAILED, None),
    "SUBOPTIMAL": (SolverClaim.STOPPED, Limit.PROGRESS),
    "MEM_LIMIT": (SolverClaim.STOPPED, Limit.MEMORY),
}
"""Every status that the options set here can bring about, by its name."""

LICENCE_SIZE = 2000
"""Most variables, and most constraints, of the licence inside the package."""
_NO_LICENCE = 10009
"""Gurobi's error code."""
_TOO_LARGE = 10010
"""Gurobi's error code for models above its size-limited licence."""
_OURS = (
    "LogToConsole",
    "MIPGap",
    "NodeLimit",
    "OutputFlag",
    "Seed",
    "Threads",
    "TimeLimit",
)


def claim_of(status: int) -> tuple[SolverClaim, Limit | None]:
    """Return what a Gurobi status code means.

    Raises `UnknownStatusError`: there is no meaning for it.
    """
    from gurobipy import GRB

    names = {getattr(GRB.Status, n): n for n in dir(GRB.Status) if n.isupper()}
    name = names.get(status, str(status))
    if name not in CLAIMS:
        raise UnknownStatusError("gurobi", name)
    return CLAIMS[name]


@dataclass(frozen=True)
class Gurobi(TakesEveryModel):
    """The Gurobi adapter."""

    name: str = "gurobi"
    summary: str = "commercial branch and cut; optional"
    capabilities: Capabilities = LINEAR_AND_INTEGER

    def status(self) -> Status:
        """Return whether gurobipy is there, and what its licence allows."""
        status = REQUIREMENT.status()
        if not status.availability:
            return status
        refused = _licence_refusal(LICENCE_SIZE + 1)
        if refused is None:
            return status
        if refused == _TOO_LARGE:
            reason = f"size-limited licence: at most {LICENCE_SIZE} variables and rows"
            return Status(Availability.AVAILABLE, status.version, reason)
        reason = f"Gurobi has no licence here (its error {refused}): install one"
        return Status(Availability.NO_LICENCE, status.version, reason)

    def solve(
        self, form: StandardForm, options: SolveOptions, reporter: Reporter
    ) -> Answer:
        """Solve a model with Gurobi."""
        import gurobipy

        try:
            with gurobipy.Env(empty=True) as environment:
                _set_options(environment, options)
                environment.start()
                with gurobipy.Model(env=environment) as model:
                    columns = _pass_model(model, form)
                    model.optimize(_listener(columns, reporter))
                    return _answer(model, columns, form)
        except gurobipy.GurobiError as problem:
            raise _refusal(problem, form) from None


def _licence_refusal(size: int) -> int | None:
    """Return the error code by which Gurobi refuses a model of `size`, or ``None``."""
    import gurobipy

    try:
        with gurobipy.Env(empty=True) as environment:
            environment.setParam("OutputFlag", 0)
            environment.start()
            with gurobipy.Model(env=environment) as model:
                model.addMVar(size)
                model.optimize()
    except gurobipy.GurobiError as problem:
        return int(problem.errno)
    return None


def _refusal(problem: Any, form: StandardForm) -> Exception:  # noqa: ANN401
    """Return what to raise for an error of Gurobi."""
    if problem.errno == _TOO_LARGE:
        return SolverUnavailableError(
            "the model is too large for Gurobi's size-limited licence",
            found=f"{form.columns} variables, {form.rows} constraints",
            allowed=f"{LICENCE_SIZE} of each with the licence inside its package",
            fix="install a full licence, or use highs or scip",
        )
    if problem.errno == _NO_LICENCE:
        fix = "install a licence, or use highs or scip"
        return SolverUnavailableError(f"Gurobi has no licence: {problem}", fix=fix)
    return RuntimeError(f"Gurobi failed: {problem} (its error {problem.errno})")


def _set_options(environment: Any, options: SolveOptions) -> None:  # noqa: ANN401
    import gurobipy

    check_not_ours("gurobi", options.extra, _OURS)
    environment.setParam("OutputFlag", int(options.log))
    environment.setParam("Threads", options.threads)
    environment.setParam("Seed", options.seed)
    environment.setParam("MIPGap", 0.0)
    if options.time_limit_s is not None:
        environment.setParam("TimeLimit", options.time_limit_s)
    if options.node_limit is not None:
        environment.setParam("NodeLimit", options.node_limit)
    for name, value in options.extra.items():
        try:
            environment.setParam(name, value)
        except (gurobipy.GurobiError, TypeError, ValueError) as problem:
            where = f"options.extra.{name}"
            raise InputError(
                f"Gurobi does not take this option: {problem}", where=where, found=value
            ) from None


def _pass_model(model: Any, form: StandardForm) -> Any:  # noqa: ANN401
    """Hand the arrays over; returns Gurobi's vector of variables."""
    from gurobipy import GRB
    from scipy.sparse import csr_array

    types = np.where(form.integral, GRB.INTEGER, GRB.CONTINUOUS)
    columns = model.addMVar(
        form.columns,
        lb=form.column_lower,
        ub=form.column_upper,
        obj=form.cost,
        vtype=types,
    )
    matrix = csr_array(
        (form.row_value, form.row_column, form.row_start), (form.rows, form.columns)
    )
    low, high = np.isfinite(form.row_lower), np.isfinite(form.row_upper)
    equal = form.row_lower == form.row_upper
    for rows, sense, rhs in (
        (equal, "=", form.row_lower),
        (low & ~equal, ">", form.row_lower),
        (high & ~equal, "<", form.row_upper),
    ):
        if rows.any():
            model.addMConstr(matrix[np.flatnonzero(rows)], columns, sense, rhs[rows])
    model.ObjCon = form.offset
    model.ModelSense = GRB.MAXIMIZE if form.maximise else GRB.MINIMIZE
    model.update()
    return columns


def _listener(columns: Any, reporter: Reporter) -> Callable[[Any, int], None]:  # noqa: ANN401
    """Return the callback that tells of points and bounds and asks when to stop."""
    from gurobipy import GRB

    def tell(model: Any, where: int) -> None:  # noqa: ANN401
        if reporter.stopped:
            model.terminate()
        if where == GRB.Callback.MIPSOL:
            objective = model.cbGet(GRB.Callback.MIPSOL_OBJ)
            if reporter.improves(objective):
                reporter.incumbent(model.cbGetSolution(columns), objective)
        elif where == GRB.Callback.MIP:
            reporter.progress(model.cbGet(GRB.Callback.MIP_OBJBND))

    return tell


def _answer(model: Any, columns: Any, form: StandardForm) -> Answer:  # noqa: ANN401
    """Return what Gurobi found."""
    claim, limit = claim_of(model.Status)
    values: FloatArray | None = None
    if model.SolCount > 0:
        values = np.array(columns.X, dtype=np.float64)
    bound: float | None = None
    if form.integral.any() and claim in (SolverClaim.OPTIMAL, SolverClaim.STOPPED):
        bound = float(model.ObjBound)
    elif claim is SolverClaim.OPTIMAL:
        bound = float(model.ObjVal)
    return Answer(claim, limit, values, bound, f"status {model.Status}")


ADAPTER = Gurobi()
