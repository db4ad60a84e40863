"""CP-SAT, PDLP and SCIP, through the MathOpt interface of OR-Tools.

MathOpt takes arrays, reports points and bounds while it runs, can be interrupted and
says which limit stopped it; the older MPS route does none of these. Its Python solve
function fails on its own error path, so its core is called with the messages that
the function would have made.

Traps of the solvers, and what is done about them:

- CP-SAT rounds continuous variables to integers without a word, and so answers another
  question: models that have any are refused. It cuts the range of a variable to 1e7
  either way without a word: models with larger bounds, or none, are refused with the
  name of the variable. It knows no node limit; the limit counts conflicts instead, and
  with one thread is reproducible. It does not say which limit stopped it. It stops at
  an absolute gap of 1e-4 by default. Here the gap is 0.
- PDLP takes no seed (it is deterministic) and no callbacks, so nothing is told while it
  runs; its points are feasible and optimal to 1e-6 only, and their objective is no
  exact optimum.
- SCIP's options are typed (bool, int, longint, real, char, string) and a wrong type is
  as unknown as a wrong name, so the type is read off the value. It writes harmless
  error lines when its callbacks are registered; they are seen only with the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.errors import InputError, nearest
from lightloom.core.extras import install_command
from lightloom.core.outcome import Limit
from lightloom.solvers.adapter import (
    INTEGER_ONLY,
    LINEAR_AND_INTEGER,
    LINEAR_ONLY,
    Answer,
    Requirement,
    SolverClaim,
    SolverUnavailableError,
    UnknownStatusError,
)
from lightloom.solvers.options import check_not_ours

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.solvers.adapter import Capabilities, Status
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
class MathOptSolver:
    """A solver behind MathOpt, and in what it differs from the others.

    `solver_type`: MathOpt's name of it. `events`: names of the callback events that it
    supports, besides none. `takes_nodes`, `takes_seed`: whether it takes MathOpt's
    limit on nodes, and its seed. `ours`: options in its own words that `SolveOptions`
    decide. `configure`: sets its own parameters, extra options included. `largest`:
    largest magnitude of a variable.
    """

    name: str
    summary: str
    capabilities: Capabilities
    solver_type: str
    events: tuple[str, ...]
    takes_nodes: bool
    takes_seed: bool
    ours: tuple[str, ...]
    configure: Callable[[Any, SolveOptions], None]
    largest: float | None = None

    def status(self) -> Status:
        """Return whether OR-Tools is there in a version that works."""
        return REQUIREMENT.status()

    def refuse(self, form: StandardForm) -> None:
        """Raise if a variable is larger than the solver takes.

        Raises `SolverUnavailableError`: with the number of the first such column.
        """
        size = np.maximum(np.abs(form.column_lower), np.abs(form.column_upper))
        if self.largest is not None and size.max(initial=0.0) > self.largest:
            column = int(size.argmax())
            low, high = form.column_lower[column], form.column_upper[column]
            raise SolverUnavailableError(
                f"{self.name} takes bounded integers only",
                where=f"column {column}",
                found=f"{low} .. {high}",
                allowed=f"{-self.largest:.0f} .. {self.largest:.0f}",
                fix="bound the variable in the model, or use highs or scip",
            )

    def solve(
        self, form: StandardForm, options: SolveOptions, reporter: Reporter
    ) -> Answer:
        """Solve a model through MathOpt."""
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
        registration, callback = _callback(self.events, form, reporter)
        try:
            result = solver.solve(
                model_proto(form),
                parameters_pb2.SolverTypeProto.Value(f"SOLVER_TYPE_{self.solver_type}"),
                parameters_pb2.SolverInitializerProto(),
                self._parameters(options),
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
        reason = reason.removeprefix("TERMINATION_REASON_")
        limit = result_pb2.LimitProto.Name(termination.limit)
        claim, stopped_by = claim_of(
            reason,
            limit.removeprefix("LIMIT_"),
            options,
            result.solve_stats.solve_time.ToTimedelta().total_seconds(),
        )
        return Answer(
            claim,
            stopped_by,
            _best_point(result, form),
            float(termination.objective_bounds.dual_bound),
            termination.detail or reason.lower(),
        )

    def _parameters(self, options: SolveOptions) -> Any:  # noqa: ANN401
        """Return MathOpt's message for the options."""
        from ortools.math_opt import parameters_pb2

        check_not_ours(self.name, options.extra, self.ours)
        parameters = parameters_pb2.SolveParametersProto(
            threads=options.threads, enable_output=options.log
        )
        if options.time_limit_s is not None:
            parameters.time_limit.FromNanoseconds(int(options.time_limit_s * 1e9))
        if self.takes_seed:
            parameters.random_seed = options.seed
        if self.takes_nodes and options.node_limit is not None:
            parameters.node_limit = options.node_limit
        self.configure(parameters, options)
        return parameters


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


def _callback(
    names: tuple[str, ...], form: StandardForm, reporter: Reporter
) -> tuple[Any, Callable[[Any], Any] | None]:
    """Return MathOpt's registration for events, and the function it calls."""
    from ortools.math_opt import callback_pb2

    registration = callback_pb2.CallbackRegistrationProto()
    if not (names and form.integral.any()):
        return registration, None
    event_of = callback_pb2.CallbackEventProto.Value
    events = [event_of(f"CALLBACK_EVENT_{name}") for name in names]
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


def _set_fields(message: Any, solver: str, options: SolveOptions) -> None:  # noqa: ANN401
    """Set the extra options as fields of a solver's parameter message.

    Raises `InputError`: no such field (nearest names suggested), or not of its type.
    """
    known = list(message.DESCRIPTOR.fields_by_name)
    for name, value in options.extra.items():
        where = f"options.extra.{name}"
        if name not in known:
            what, fix = f"{solver} has no such option", nearest(name, known)
            raise InputError(what, where=where, found=value, fix=fix)
        try:
            setattr(message, name, value)
        except (AttributeError, TypeError, ValueError):
            what = f"{solver} does not take this value"
            raise InputError(what, where=where, found=value) from None


def _configure_cp_sat(parameters: Any, options: SolveOptions) -> None:  # noqa: ANN401
    parameters.absolute_gap_tolerance = 0.0
    parameters.relative_gap_tolerance = 0.0
    if options.node_limit is not None:
        parameters.cp_sat.max_number_of_conflicts = options.node_limit
    _set_fields(parameters.cp_sat, "CP-SAT", options)


def _configure_pdlp(parameters: Any, options: SolveOptions) -> None:  # noqa: ANN401
    _set_fields(parameters.pdlp, "PDLP", options)


def _configure_scip(parameters: Any, options: SolveOptions) -> None:  # noqa: ANN401
    scip = parameters.gscip
    for name, value in options.extra.items():
        if isinstance(value, bool):
            scip.bool_params[name] = value
        elif isinstance(value, int):
            scip.int_params[name] = value
        elif isinstance(value, float):
            scip.real_params[name] = value
        elif len(value) == 1:
            scip.char_params[name] = value
        else:
            scip.string_params[name] = value


ADAPTER = (
    MathOptSolver(
        name="cp-sat",
        summary="constraint programming on clause learning, through OR-Tools",
        capabilities=INTEGER_ONLY,
        solver_type="CP_SAT",
        events=("MIP_SOLUTION",),
        takes_nodes=False,
        takes_seed=True,
        ours=(
            "absolute_gap_limit",
            "log_search_progress",
            "max_number_of_conflicts",
            "max_time_in_seconds",
            "mip_max_bound",
            "num_search_workers",
            "num_workers",
            "random_seed",
            "relative_gap_limit",
        ),
        configure=_configure_cp_sat,
        largest=1e7,
    ),
    MathOptSolver(
        name="pdlp",
        summary="first-order method for large linear programs, through OR-Tools",
        capabilities=LINEAR_ONLY,
        solver_type="PDLP",
        events=(),
        takes_nodes=False,
        takes_seed=False,
        ours=("num_threads", "verbosity_level", "termination_criteria"),
        configure=_configure_pdlp,
    ),
    MathOptSolver(
        name="scip",
        summary="branch and cut, through OR-Tools",
        capabilities=LINEAR_AND_INTEGER,
        solver_type="GSCIP",
        events=("MIP_SOLUTION", "MIP_NODE"),
        takes_nodes=True,
        takes_seed=True,
        ours=(
            "limits/absgap",
            "limits/gap",
            "limits/nodes",
            "limits/time",
            "limits/totalnodes",
            "parallel/maxnthreads",
            "randomization/randomseedshift",
        ),
        configure=_configure_scip,
    ),
)
