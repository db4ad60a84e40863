"""OR-Tools: one hand-over for the solvers that its MathOpt interface reaches.

MathOpt takes arrays, reports points and bounds while it runs, can be interrupted and
says which limit stopped it; the older MPS route does none of these. Its Python solve
function fails on its own error path, so its core is called with the messages that
the function would have made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.extras import install_command
from lightloom.core.outcome import Limit
from lightloom.solvers.adapter import Answer, SolverClaim, UnknownStatusError
from lightloom.solvers.availability import Requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.solvers.options import SolveOptions
    from lightloom.solvers.progress import Reporter
    from lightloom.solvers.standard_form import StandardForm

REQUIREMENT = Requirement(
    "ortools",
    "ortools",
    (9, 14),
    (9, 16),
    "the interface used here is that of 9.14 and 9.15",
    install_command("ortools"),
)

CLAIMS: dict[str, SolverClaim] = {
    "OPTIMAL": SolverClaim.OPTIMAL,
    "INFEASIBLE": SolverClaim.INFEASIBLE,
    "UNBOUNDED": SolverClaim.UNBOUNDED,
    "INFEASIBLE_OR_UNBOUNDED": SolverClaim.INFEASIBLE_OR_UNBOUNDED,
    "IMPRECISE": SolverClaim.FAILED,
    "FEASIBLE": SolverClaim.STOPPED,
    "NO_SOLUTION_FOUND": SolverClaim.STOPPED,
    "NUMERICAL_ERROR": SolverClaim.FAILED,
    "OTHER_ERROR": SolverClaim.FAILED,
}
"""Every termination reason."""
LIMITS: dict[str, Limit] = {
    "ITERATION": Limit.NODES,
    "TIME": Limit.TIME,
    "NODE": Limit.NODES,
    "MEMORY": Limit.MEMORY,
    "INTERRUPTED": Limit.INTERRUPT,
    "SLOW_PROGRESS": Limit.PROGRESS,
}
"""The limits that can be reached here; ``UNDETERMINED`` is judged by the clock."""

_NEARLY = 0.95
"""A run this much of its time limit long was stopped by it."""


def claim_of(
    reason: str, limit: str, options: SolveOptions, wall_s: float
) -> tuple[SolverClaim, Limit | None]:
    """Return what MathOpt's termination reason and limit, by their names, mean.

    Where it cannot say which limit stopped it, the time limit did if the run was as
    long, else the node limit if there is one.

    Raises `UnknownStatusError`: there is no meaning for it.
    """
    if reason not in CLAIMS:
        raise UnknownStatusError("MathOpt", reason)
    claim = CLAIMS[reason]
    if claim is not SolverClaim.STOPPED:
        return claim, None
    if limit in LIMITS:
        return claim, LIMITS[limit]
    if limit == "UNDETERMINED":
        time_limit_s = options.time_limit_s
        if time_limit_s is not None and wall_s >= _NEARLY * time_limit_s:
            return claim, Limit.TIME
        if options.node_limit is not None:
            return claim, Limit.NODES
    raise UnknownStatusError("MathOpt", f"{reason}, limit {limit}")


@dataclass(frozen=True)
class Backend:
    """What differs between the solvers behind MathOpt.

    `solver`: name of MathOpt's solver type. `events`: names of the callback events that
    it supports, besides none. `node_limit`, `seed`: whether it takes these parameters.
    `configure`: sets its own parameters, extra options included.
    """

    solver: str
    events: tuple[str, ...]
    node_limit: bool
    seed: bool
    configure: Callable[[Any, SolveOptions, StandardForm], None]


def solve(
    backend: Backend, form: StandardForm, options: SolveOptions, reporter: Reporter
) -> Answer:
    """Solve a model through MathOpt.

    Parameters
    ----------
    backend
        The solver behind MathOpt.
    form, options, reporter
        As for `Adapter.solve`.

    Raises
    ------
    InputError
        An extra option that the solver does not know.
    UnknownStatusError
        A status without a meaning.
    """
    from ortools.math_opt import (
        model_parameters_pb2,
        parameters_pb2,
        result_pb2,
    )
    from ortools.math_opt.core.python import solver
    from ortools.util.python import solve_interrupter
    from pybind11_abseil.status import (  # type: ignore[import-untyped]
        StatusNotOk,
    )

    interrupter = solve_interrupter.SolveInterrupter()
    reporter.on_stop(interrupter.interrupt)
    registration, callback = _callback(backend, form, reporter)
    try:
        result = solver.solve(
            model_proto(form),
            parameters_pb2.SolverTypeProto.Value(f"SOLVER_TYPE_{backend.solver}"),
            parameters_pb2.SolverInitializerProto(),
            _parameters(backend, form, options),
            model_parameters_pb2.ModelSolveParametersProto(),
            None,
            registration,
            callback,
            interrupter.pybind_interrupter,
        )
    except StatusNotOk as problem:
        if options.extra and "INVALID_ARGUMENT" in str(problem):
            where = "options.extra"
            raise InputError(
                str(problem), where=where, found=dict(options.extra)
            ) from None
        return Answer(SolverClaim.FAILED, None, None, None, str(problem))
    termination = result.termination
    reason = result_pb2.TerminationReasonProto.Name(termination.reason)
    limit = result_pb2.LimitProto.Name(termination.limit)
    claim, stopped_by = claim_of(
        reason.removeprefix("TERMINATION_REASON_"),
        limit.removeprefix("LIMIT_"),
        options,
        result.solve_stats.solve_time.ToTimedelta().total_seconds(),
    )
    return Answer(
        claim,
        stopped_by,
        _best_point(result, form),
        float(termination.objective_bounds.dual_bound),
        termination.detail or reason.removeprefix("TERMINATION_REASON_").lower(),
    )


def model_proto(form: StandardForm) -> Any:  # noqa: ANN401  (generated, no types)
    """Return MathOpt's message for the arrays of a model."""
    from ortools.math_opt import model_pb2

    proto = model_pb2.ModelProto(name="lightloom")
    variables, rows = proto.variables, proto.linear_constraints
    variables.ids.extend(range(form.columns))
    variables.lower_bounds.extend(form.column_lower.tolist())
    variables.upper_bounds.extend(form.column_upper.tolist())
    variables.integers.extend(form.integral.tolist())
    proto.objective.maximize = form.maximise
    proto.objective.offset = form.offset
    used = np.flatnonzero(form.cost)
    proto.objective.linear_coefficients.ids.extend(used.tolist())
    proto.objective.linear_coefficients.values.extend(form.cost[used].tolist())
    rows.ids.extend(range(form.rows))
    rows.lower_bounds.extend(form.row_lower.tolist())
    rows.upper_bounds.extend(form.row_upper.tolist())
    matrix = proto.linear_constraint_matrix
    matrix.row_ids.extend(form.row_of_entry.tolist())
    matrix.column_ids.extend(form.row_column.tolist())
    matrix.coefficients.extend(form.row_value.tolist())
    return proto


def _parameters(backend: Backend, form: StandardForm, options: SolveOptions) -> Any:  # noqa: ANN401
    """Return MathOpt's message for the options."""
    from ortools.math_opt import parameters_pb2

    parameters = parameters_pb2.SolveParametersProto(
        threads=options.threads, enable_output=options.log
    )
    if options.time_limit_s is not None:
        parameters.time_limit.FromNanoseconds(int(options.time_limit_s * 1e9))
    if backend.seed:
        parameters.random_seed = options.seed
    if backend.node_limit and options.node_limit is not None:
        parameters.node_limit = options.node_limit
    backend.configure(parameters, options, form)
    return parameters


def _callback(
    backend: Backend, form: StandardForm, reporter: Reporter
) -> tuple[Any, Callable[[Any], Any] | None]:
    """Return MathOpt's registration and the function it calls."""
    from ortools.math_opt import callback_pb2

    registration = callback_pb2.CallbackRegistrationProto()
    if not (backend.events and form.integral.any()):
        return registration, None
    event_of = callback_pb2.CallbackEventProto.Value
    events = [event_of(f"CALLBACK_EVENT_{name}") for name in backend.events]
    registration.request_registration.extend(events)
    # Nodes are only asked for their bound: no values are copied.
    registration.mip_node_filter.filter_by_ids = True
    solution = event_of("CALLBACK_EVENT_MIP_SOLUTION")
    go_on = callback_pb2.CallbackResultProto()

    def tell(data: Any) -> Any:  # noqa: ANN401  (generated, no types)
        if data.event == solution:
            values = _dense(data.primal_solution_vector, form.columns)
            reporter.incumbent(values, form.objective(values))
        reporter.progress(data.mip_stats.dual_bound)
        return go_on

    return registration, tell


def _best_point(result: Any, form: StandardForm) -> Any:  # noqa: ANN401
    """Return the values of the first feasible point of a result, or ``None``."""
    from ortools.math_opt import solution_pb2

    for solution in result.solutions:
        primal = solution.primal_solution
        if (
            solution.HasField("primal_solution")
            and primal.feasibility_status == solution_pb2.SOLUTION_STATUS_FEASIBLE
        ):
            return _dense(primal.variable_values, form.columns)
    return None


def _dense(vector: Any, columns: int) -> Any:  # noqa: ANN401
    """Return a sparse vector message as an array of shape (columns,)."""
    values = np.zeros(columns)
    values[np.array(vector.ids, dtype=np.int64)] = np.array(vector.values)
    return values
