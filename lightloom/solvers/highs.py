"""HiGHS: linear and mixed-integer programs; the default solver.

Its traps, and what is done about them:

- highspy 1.15 and OR-Tools cannot share a process: whichever is loaded second fails
  with an undefined symbol, and pip does not see the conflict. Hence the pin.
- A misspelt option is only a return value. It is looked at, and raises here.
- It stops at a relative gap of 1e-4 by default. Here the gap is 0.
- It runs over its time limits. The outer limit is that of `lightloom.solvers.child`.
- A node limit comes back as a "solution limit", in older versions as an iteration
  limit.
- Its presolve of parallel rows and columns calls some feasible programs infeasible
  (from 1.12 on; one of 172 random OCS programs). That rule is switched off.
- The number of threads is that of the first run of the process, unless its scheduler
  is reset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.errors import InputError, nearest
from lightloom.core.outcome import Limit
from lightloom.solvers.adapter import (
    LINEAR_AND_INTEGER,
    Answer,
    Capabilities,
    Requirement,
    SolverClaim,
    TakesEveryModel,
    UnknownStatusError,
)
from lightloom.solvers.options import check_not_ours

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.solvers.adapter import Status
    from lightloom.solvers.options import ExtraValue, SolveOptions
    from lightloom.solvers.progress import Reporter
    from lightloom.solvers.standard_form import StandardForm

_PARALLEL_ROWS_AND_COLUMNS = 1 << 13
"""Bit of the presolve rule in the option ``presolve_rule_off``."""

REQUIREMENT = Requirement(
    "highspy",
    "highspy",
    (1, 13),
    (1, 15),
    "from 1.15 on it cannot share a process with OR-Tools",
    'install "highspy>=1.13,<1.15"',
)

CLAIMS: dict[str, tuple[SolverClaim, Limit | None]] = {
    "kNotset": (SolverClaim.FAILED, None),
    "kLoadError": (SolverClaim.FAILED, None),
    "kModelError": (SolverClaim.FAILED, None),
    "kPresolveError": (SolverClaim.FAILED, None),
    "kSolveError": (SolverClaim.FAILED, None),
    "kPostsolveError": (SolverClaim.FAILED, None),
    "kModelEmpty": (SolverClaim.OPTIMAL, None),
    "kOptimal": (SolverClaim.OPTIMAL, None),
    "kInfeasible": (SolverClaim.INFEASIBLE, None),
    "kUnboundedOrInfeasible": (SolverClaim.INFEASIBLE_OR_UNBOUNDED, None),
    "kUnbounded": (SolverClaim.UNBOUNDED, None),
    "kTimeLimit": (SolverClaim.STOPPED, Limit.TIME),
    "kIterationLimit": (SolverClaim.STOPPED, Limit.NODES),
    "kSolutionLimit": (SolverClaim.STOPPED, Limit.NODES),
    "kInterrupt": (SolverClaim.STOPPED, Limit.INTERRUPT),
    "kHighsInterrupt": (SolverClaim.STOPPED, Limit.INTERRUPT),
    "kMemoryLimit": (SolverClaim.STOPPED, Limit.MEMORY),
    "kUnknown": (SolverClaim.STOPPED, Limit.PROGRESS),
}
"""Every status by its name in highspy. Those that only options nobody sets here can
bring about, an objective bound or target, are unknown on purpose."""

_FEASIBLE = 2
"""HiGHS's status of a solution that is feasible."""
_OURS = (
    "log_to_console",
    "mip_max_nodes",
    "mip_rel_gap",
    "output_flag",
    "parallel",
    "random_seed",
    "threads",
    "time_limit",
)


def claim_of(status: str) -> tuple[SolverClaim, Limit | None]:
    """Return what a HiGHS model status, by its name, means.

    Raises `UnknownStatusError`: there is no meaning for it.
    """
    if status not in CLAIMS:
        raise UnknownStatusError("highs", status)
    return CLAIMS[status]


@dataclass(frozen=True)
class Highs(TakesEveryModel):
    """The HiGHS adapter."""

    name: str = "highs"
    summary: str = "branch and cut, simplex and interior point; the default"
    capabilities: Capabilities = LINEAR_AND_INTEGER

    def status(self) -> Status:
        """Return whether highspy is there in a version that works."""
        return REQUIREMENT.status()

    def solve(
        self, form: StandardForm, options: SolveOptions, reporter: Reporter
    ) -> Answer:
        """Solve a model with HiGHS."""
        import highspy

        highspy.Highs.resetGlobalScheduler(True)  # noqa: FBT003  (no such keyword)
        solver = highspy.Highs()
        _set_options(solver, options)
        pass_model(solver, form)
        _listen(solver, reporter, integer=bool(form.integral.any()))
        solver.run()
        status = solver.getModelStatus()
        claim, limit = claim_of(status.name)
        info = solver.getInfo()
        values = None
        if int(info.primal_solution_status) == _FEASIBLE and form.columns:
            values = np.array(solver.getSolution().col_value, dtype=np.float64)
        bound = float(info.mip_dual_bound) if form.integral.any() else None
        if claim is SolverClaim.OPTIMAL and bound is None:
            bound = float(info.objective_function_value)
        return Answer(claim, limit, values, bound, solver.modelStatusToString(status))


def pass_model(solver: Any, form: StandardForm) -> None:  # noqa: ANN401  (no types)
    """Hand the arrays of a model over to a HiGHS instance."""
    import highspy

    sense = highspy.ObjSense.kMaximize if form.maximise else highspy.ObjSense.kMinimize
    status = solver.passModel(
        form.columns,
        form.rows,
        form.nonzeros,
        int(highspy.MatrixFormat.kRowwise),
        int(sense),
        form.offset,
        form.cost,
        form.column_lower,
        form.column_upper,
        form.row_lower,
        form.row_upper,
        form.row_start,
        form.row_column,
        form.row_value,
        form.integral.astype(np.int32),
    )
    # A warning says only that entries below 1e-9 were dropped.
    if status == highspy.HighsStatus.kError:
        message = "HiGHS refused the arrays of the model"
        raise RuntimeError(message)


def _set_options(solver: Any, options: SolveOptions) -> None:  # noqa: ANN401
    """Set our options, then the extra ones, and look at what HiGHS says to each."""
    check_not_ours("highs", options.extra, _OURS)
    chosen: dict[str, ExtraValue] = {
        "output_flag": options.log,
        "log_to_console": options.log,
        "threads": options.threads,
        "parallel": "off" if options.threads == 1 else "on",
        "random_seed": options.seed,
        "mip_rel_gap": 0.0,
    }
    chosen["presolve_rule_off"] = _PARALLEL_ROWS_AND_COLUMNS
    if options.time_limit_s is not None:
        chosen["time_limit"] = float(options.time_limit_s)
    if options.node_limit is not None:
        chosen["mip_max_nodes"] = options.node_limit
    _set(solver, chosen)
    _set(solver, options.extra)


def _set(solver: Any, options: Mapping[str, ExtraValue]) -> None:  # noqa: ANN401
    import highspy

    for name, value in options.items():
        if solver.setOptionValue(name, value) == highspy.HighsStatus.kOk:
            continue
        known = [key for key in dir(solver.getOptions()) if not key.startswith("_")]
        what = "HiGHS does not take this value"
        if name not in known:
            what = "HiGHS has no such option"
        fix = "" if name in known else nearest(name, known)
        raise InputError(what, where=f"options.extra.{name}", found=value, fix=fix)


def _listen(solver: Any, reporter: Reporter, *, integer: bool) -> None:  # noqa: ANN401
    """Have HiGHS tell the reporter of points and bounds, and ask it when to stop."""

    def better(event: Any) -> None:  # noqa: ANN401
        data = event.data_out
        reporter.incumbent(data.mip_solution, data.objective_function_value)

    def ask(event: Any) -> None:  # noqa: ANN401
        if integer:
            reporter.progress(event.data_out.mip_dual_bound)
        if reporter.stopped:
            event.interrupt()

    solver.cbMipImprovingSolution += better
    solver.cbMipInterrupt += ask

    def poll(event: Any) -> None:  # noqa: ANN401
        if reporter.stopped:
            event.interrupt()

    solver.cbSimplexInterrupt += poll
    solver.cbIpmInterrupt += poll


ADAPTER = Highs()
