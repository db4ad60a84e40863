"""Running a model: compile it, have a solver solve it, check and load the answer."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from lightloom.core.outcome import Limit, Outcome, Provenance, Reason
from lightloom.isolation.child_process import TimeIsOverError, deadline
from lightloom.solvers.adapter import (
    SOLVERS,
    Answer,
    SolverClaim,
    SolverUnavailableError,
)
from lightloom.solvers.child import solve_in_child
from lightloom.solvers.options import SolveOptions
from lightloom.solvers.standard_form import TriviallyInfeasibleError, compile_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import FloatArray
    from lightloom.solvers.adapter import Adapter
    from lightloom.solvers.progress import Progress
    from lightloom.solvers.standard_form import CompiledModel, StandardForm


Model: TypeAlias = Any
"""A Pyomo model; Pyomo ships no types."""
BuiltT = TypeVar("BuiltT")

_INFINITE = 1e20
"""Solvers write an infinite bound as this or more."""
_WHOLE = 1e-6
"""A bound this close to an integer stands for it, where objectives are integers."""


def run(
    model: Model,
    solver: str = "highs",
    options: SolveOptions | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Outcome[FloatArray]:
    """Solve a Pyomo model, and load the best point found into its variables.

    `options`: limits, seed, threads; by default no limits, seed 0, one thread. The time
    limit counts from the finished model on, its compilation included. `progress`: told
    of better points and bounds while the solver runs, at most five times a second.

    Returns outcome whose incumbent holds the values of the model's columns in their
    order in the model, integral ones rounded. Infeasible, out of time, killed or
    crashed are outcomes. A point is only given, and loaded, if it satisfies the model
    when that is recomputed here; an unbounded model is ``FAILED``.

    Raises `SolverUnavailableError`: unknown or unavailable solver, or one that cannot
    take this model; `InputError`: an option that the solver does not know; a model that
    is not linear; `UnknownStatusError`: the solver reports a status without a meaning:
    a defect.

    With one thread and no time limit the outcome is a function of model and options.
    """
    return run_adapter(model, usable(solver), options or SolveOptions(), progress)


def build_and_run(
    build: Callable[[], Model],
    solver: str,
    options: SolveOptions,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Model, Outcome[FloatArray]]:
    """Build a Pyomo model and solve it; the time limit is one for both.

    Returns the model, ``None`` if the time was over before it was built, and the
    outcome.

    Raises `LightloomError`: whatever `build` and `run` raise.
    """
    stamp = _Stamp.now(usable(solver), options)
    try:
        with deadline(options.time_limit_s, "the model was built"):
            model = built(build)
    except TimeIsOverError as over:
        return None, stamp.late(over)
    return model, _run(model, stamp, progress)


def built(build: Callable[[], BuiltT]) -> BuiltT:
    """Return the model that `build` builds.

    Pyomo logs what is raised on its way, though it is raised all the same; that log
    is kept quiet.
    """
    log = logging.getLogger("pyomo")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        return build()
    finally:
        log.setLevel(before)


def usable(name: str) -> Adapter:
    """Return the adapter of a solver that can be used here.

    Raises `SolverUnavailableError`: unknown solver (nearest names suggested), or one
    that cannot be used.
    """
    adapter = SOLVERS.get(name)
    status = adapter.status()
    if not status.availability:
        what = f"solver {name}: {status.availability}; {status.reason}"
        raise SolverUnavailableError(what)
    return adapter


def run_adapter(
    model: Model,
    adapter: Adapter,
    options: SolveOptions,
    progress: Callable[[Progress], None] | None = None,
) -> Outcome[FloatArray]:
    """Solve a Pyomo model with an adapter that need not be in the catalogue.

    Returns as for `run`, which takes the name of a solver instead.

    Raises `SolverUnavailableError` if the solver cannot take this model; `InputError`:
    an option that the solver does not know; a model that is not linear;
    `UnknownStatusError`: the solver reports a status without a meaning: a defect.
    """
    return _run(model, _Stamp.now(adapter, options), progress)


def _run(
    model: Model,
    stamp: _Stamp,
    progress: Callable[[Progress], None] | None,
) -> Outcome[FloatArray]:
    """Compile a model and have it solved, in what is left of the time."""
    adapter = stamp.adapter
    try:
        with deadline(stamp.left_s(), "the model was compiled"):
            compiled = compile_model(model)
    except TimeIsOverError as over:
        return stamp.late(over)
    except TriviallyInfeasibleError as problem:
        provenance = stamp.provenance(None)
        return Outcome(
            Reason.PROVEN_INFEASIBLE,
            None,
            None,
            None,
            None,
            provenance,
            (str(problem),),
        )
    form = compiled.form
    _check_kind(adapter, compiled)
    if form.columns:
        answer = solve_in_child(adapter, form, stamp.remaining(), progress)
        if answer.claim is SolverClaim.INFEASIBLE_OR_UNBOUNDED:
            answer = _settled(adapter, form, stamp.remaining())
    else:
        answer = Answer(SolverClaim.OPTIMAL, None, np.zeros(0), form.offset)
    return _outcome(compiled, answer, stamp.provenance(form.sha256()))


@dataclass(frozen=True)
class _Stamp:
    """What an outcome says about how it came about."""

    adapter: Adapter
    options: SolveOptions
    start: float

    @classmethod
    def now(cls, adapter: Adapter, options: SolveOptions) -> _Stamp:
        """Return the stamp of a run that starts now, what compiles models loaded.

        A deadline that rang while Pyomo loads scipy would leave it half loaded.
        """
        import pyomo.repn.plugins.standard_form  # noqa: F401
        from pyomo.common.dependencies import scipy

        assert scipy.sparse.csr_array

        return cls(adapter, options, time.monotonic())

    def left_s(self) -> float | None:
        """Return the seconds that are left of the time limit, at least 0."""
        limit_s = self.options.time_limit_s
        if limit_s is None:
            return None
        return max(0.0, limit_s - (time.monotonic() - self.start))

    def remaining(self) -> SolveOptions:
        """Return the options with what is left of the time limit."""
        return replace(self.options, time_limit_s=self.left_s())

    def late(self, over: TimeIsOverError) -> Outcome[FloatArray]:
        """Return the outcome of a run whose time was over before it was solved."""
        said, provenance = (over.what,), self.provenance(None)
        reason, limit = Reason.STOPPED_WITHOUT_ANSWER, Limit.TIME
        return Outcome(reason, None, None, None, limit, provenance, said)

    def provenance(self, model_sha256: str | None) -> Provenance:
        """Return the provenance of an outcome that is ready now."""
        return Provenance(
            solver=self.adapter.name,
            version=self.adapter.status().version,
            time_limit_s=self.options.time_limit_s,
            node_limit=self.options.node_limit,
            memory_limit_bytes=self.options.memory_limit_bytes,
            seed=self.options.seed,
            threads=self.options.threads,
            wall_s=time.monotonic() - self.start,
            model_sha256=model_sha256,
        )


def _check_kind(adapter: Adapter, compiled: CompiledModel) -> None:
    """Refuse a model that is not for this solver, naming a variable."""
    form, can = compiled.form, adapter.capabilities
    for wrong, allowed, kind in (
        (~form.integral, can.continuous, "integers only; use highs or scip"),
        (form.integral, can.integer, "linear programs only; use highs or scip"),
    ):
        if wrong.any() and not allowed:
            name = compiled.variables[int(wrong.argmax())].name
            raise SolverUnavailableError(
                f"{adapter.name} is not for this model: it takes {kind}",
                where=f"variable {name}",
                found=str(compiled.variables[int(wrong.argmax())].domain),
            )
    try:
        adapter.refuse(form)
    except SolverUnavailableError as problem:
        if problem.where.startswith("column "):
            column = int(problem.where.removeprefix("column "))
            problem.where = f"variable {compiled.variables[column].name}"
            problem.args = (problem.line(),)
        raise


def _settled(adapter: Adapter, form: StandardForm, options: SolveOptions) -> Answer:
    """Return whether a model is infeasible or unbounded: solve it for no objective."""
    plain = replace(form, cost=np.zeros(form.columns), offset=0.0)
    answer = solve_in_child(adapter, plain, options)
    if answer.values is not None:
        return Answer(SolverClaim.UNBOUNDED, None, None, None)
    return answer


def _outcome(
    compiled: CompiledModel, answer: Answer, provenance: Provenance
) -> Outcome[FloatArray]:
    """Return the outcome that an answer is worth, its point checked and loaded."""
    form = compiled.form
    if answer.claim is SolverClaim.INFEASIBLE:
        return Outcome(
            Reason.PROVEN_INFEASIBLE, None, None, None, None, provenance, _said(answer)
        )
    if answer.claim is SolverClaim.UNBOUNDED:
        said = ("the objective is unbounded",)
        return Outcome(Reason.FAILED, None, None, None, None, provenance, said)
    if answer.values is None:
        optimal = answer.claim is SolverClaim.OPTIMAL
        return Outcome(
            Reason.STOPPED_WITHOUT_ANSWER
            if answer.claim is SolverClaim.STOPPED
            else Reason.FAILED,
            None,
            None,
            _bound(form, answer.bound),
            answer.limit,
            provenance,
            ("the solver claims an optimum and gives no point",)
            if optimal
            else _said(answer),
        )
    point = rounded(form, answer.values)
    wrong = violation(compiled, point)
    if wrong:
        said = (f"the solver's point does not satisfy the model: {wrong}",)
        return Outcome(Reason.FAILED, None, None, None, None, provenance, said)
    load(compiled, point)
    objective = form.objective(point)
    return Outcome(
        _reason(answer.claim),
        point,
        round(objective) if form.integral_objective else objective,
        _bound(form, answer.bound),
        answer.limit,
        provenance,
        _said(answer),
    )


def _reason(claim: SolverClaim) -> Reason:
    """Return the reason of an outcome that has a point."""
    return {
        SolverClaim.OPTIMAL: Reason.PROVEN_OPTIMAL,
        SolverClaim.STOPPED: Reason.STOPPED_WITH_ANSWER,
        SolverClaim.FAILED: Reason.FAILED,
    }[claim]


def _said(answer: Answer) -> tuple[str, ...]:
    return (answer.detail,) if answer.detail else ()


def _bound(form: StandardForm, bound: float | None) -> float | None:
    """Return a bound, ``None`` for an infinite one, rounded where that is allowed."""
    if bound is None or not abs(bound) < _INFINITE:
        return None
    if form.integral_objective and abs(bound - round(bound)) <= _WHOLE:
        return round(bound)
    return bound


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
