"""Executing a job: ask, time, verify. Runs in the process of the run."""

from __future__ import annotations

import importlib
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lightloom.bench.answers import Given, check_own, check_schedule, check_solver
from lightloom.bench.clock import Clock
from lightloom.bench.participants import COMPLETION_TIME, OWN, is_callable
from lightloom.bench.row import Ending, Finding, Proof
from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.outcome import Limit, Outcome, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.bench.clock import Event
    from lightloom.bench.job import Job
    from lightloom.problems import OwnAnswer
    from lightloom.solvers import SolveOptions

_ENDINGS = {
    Reason.PROVEN_OPTIMAL: Ending.OPTIMAL,
    Reason.STOPPED_WITH_ANSWER: Ending.ANSWER,
    Reason.STOPPED_WITHOUT_ANSWER: Ending.NO_ANSWER,
    Reason.PROVEN_INFEASIBLE: Ending.INFEASIBLE,
    Reason.FAILED: Ending.FAILED,
}
_ROUNDS = "rounds"


def execute(job: Job, tell: Callable[[Event], None]) -> Finding:
    """Return what a job finds; whatever it raises is a finding too.

    Parameters
    ----------
    job
        What is asked of whom.
    tell
        Receives events: the start, the trace as it grows, the answer.
    """
    try:
        return _asked(job, tell)
    except InfeasibleError as problem:
        return Finding(ending=Ending.INFEASIBLE, detail=str(problem))
    except NoAnswerError as problem:
        return Finding(ending=Ending.NO_ANSWER, detail=str(problem))
    except InputError as problem:
        return Finding(ending=Ending.REFUSED, detail=str(problem))
    except MemoryError:
        return Finding(ending=Ending.OUT_OF_MEMORY, detail="memory was refused")
    except Exception as problem:  # noqa: BLE001  (a row, whatever it is)
        detail = f"{type(problem).__name__}: {problem}"
        return Finding(ending=Ending.FAILED, detail=" ".join(detail.split()))


def _asked(job: Job, tell: Callable[[Event], None]) -> Finding:
    if job.solver == OWN or is_callable(job.solver):
        ask = _callable(job) if is_callable(job.solver) else _own(job.problem)
        clock = Clock(tell)
        answer = ask(job.instance, job.seed)
        clock.progress(float(answer.value), _float(answer.bound))
        clock.stop()
        certain = job.solver == OWN
        return _finding(job, check_own(job, answer, certain=certain), clock)
    if job.problem == COMPLETION_TIME:
        return _synthesised(job, tell)
    return _solved(job, tell)


def _own(problem: str) -> Callable[..., OwnAnswer]:
    from lightloom.problems import own_algorithm

    return own_algorithm(problem).solve


def _callable(job: Job) -> Callable[..., OwnAnswer]:
    """Return the function that ``module:function`` names."""
    module, _, function = job.solver.partition(":")
    try:
        found: Callable[..., OwnAnswer] = getattr(
            importlib.import_module(module), function
        )
    except (ImportError, AttributeError) as problem:
        what = f"cannot import the solver: {problem}"
        raise InputError(what, found=job.solver) from None
    return found


def _synthesised(job: Job, tell: Callable[[Event], None]) -> Finding:
    """Return what an algorithm for schedules finds."""
    from lightloom.synth.synthesise import synthesise

    clock = Clock(tell)
    outcome = synthesise(job.instance, job.solver, job.parameters, seed=job.seed)
    clock.progress(outcome.objective, outcome.bound)
    clock.stop()
    assert outcome.incumbent is not None
    given = check_schedule(outcome.incumbent.schedule, claim=None)
    return _finding(job, given, clock)


def _solved(job: Job, tell: Callable[[Event], None]) -> Finding:
    """Return what a solver finds: start it, state the model, run, verify."""
    from lightloom.bench.warm_up import warm_up
    from lightloom.models import problem_of
    from lightloom.solvers import SolveOptions, run, usable
    from lightloom.solvers.model_size import check_size

    problem = problem_of(job.problem)
    warm_up(usable(job.solver))
    clock = Clock(tell)
    limit_s = job.time_limit_s
    if job.problem == _ROUNDS and not job.parameters:
        options = SolveOptions(time_limit_s=limit_s, seed=job.seed)
        return _searched(job, options, clock)
    size = problem.size(job.instance, **job.parameters)
    check_size(size.rows, size.columns, size.nonzeros, where=job.instance.name)
    model = problem.build(job.instance, **job.parameters)
    clock.built()
    left_s = max(0.0, limit_s - clock.elapsed_s())
    outcome: Outcome[Any] = run(
        model,
        job.solver,
        SolveOptions(time_limit_s=left_s, seed=job.seed),
        lambda news: clock.progress(news.objective, news.bound),
    )
    clock.progress(outcome.objective, outcome.bound)
    clock.stop()
    if outcome.incumbent is None:
        return _without_answer(outcome, clock)
    given = check_solver(job, problem, problem.decode(model), outcome)
    return _finding(job, given, clock, _ENDINGS[outcome.reason])


def _searched(job: Job, options: SolveOptions, clock: Clock) -> Finding:
    """Return the fewest rounds, horizon by horizon, as ``lightloom solve`` does."""
    from lightloom.problems.fewest_rounds.exact_rounds import fewest_rounds

    outcome = fewest_rounds(job.instance, solver=job.solver, options=options)
    clock.progress(outcome.objective, outcome.bound)
    clock.stop()
    exact = outcome.incumbent
    if exact is None:
        return _without_answer(outcome, clock)
    claim = exact.rounds
    given = check_schedule(exact.schedule, claim=claim)
    proved = exact.bound.rounds == exact.rounds
    bound = None if outcome.bound is None else Fraction(outcome.bound)
    given = given.with_bound(
        bound,
        Proof.CHECKED if proved or bound == exact.bound.rounds else Proof.CLAIMED,
        exact.bound.kind if bound == exact.bound.rounds else "",
    )
    return _finding(job, given, clock, _ENDINGS[outcome.reason])


def _without_answer(outcome: Outcome[Any], clock: Clock) -> Finding:
    ending = _ENDINGS[outcome.reason]
    if outcome.limit is Limit.MEMORY:
        ending = Ending.OUT_OF_MEMORY
    return Finding(
        ending=ending,
        bound=outcome.bound,
        proof=Proof.NONE if outcome.bound is None else Proof.CLAIMED,
        proof_s=clock.solve_s if ending is Ending.INFEASIBLE else None,
        build_s=clock.build_s,
        solve_s=clock.solve_s,
        cpu_s=clock.cpu_s,
        trace=tuple(clock.points),
        detail="; ".join(outcome.detail),
    )


def _finding(
    job: Job, given: Given, clock: Clock, ending: Ending | None = None
) -> Finding:
    """Return the finding of a run that gave an answer."""
    if ending is None:
        ending = Ending.OPTIMAL if given.value == given.bound else Ending.ANSWER
    if given.fault:
        ending = Ending.WRONG
    gap = None
    if given.bound is not None:
        off = abs(Fraction(given.value) - given.bound)
        gap = (
            float(off / abs(Fraction(given.value))) if given.value else float(off != 0)
        )
    detail = "; ".join(filter(None, [given.fault, *given.detail]))
    if clock.solve_s > job.time_limit_s:
        detail = "; ".join(filter(None, [detail, "over its time limit"]))
    return Finding(
        ending=ending,
        answer=str(given.value),
        bound_exact=None if given.bound is None else str(given.bound),
        objective=float(given.value),
        bound=_float(given.bound),
        gap=gap,
        proof=given.proof,
        witness=given.witness,
        verified=given.verified,
        first_answer_s=clock.first_answer_s(),
        proof_s=clock.solve_s if ending is Ending.OPTIMAL else None,
        build_s=clock.build_s,
        solve_s=clock.solve_s,
        cpu_s=clock.cpu_s,
        trace=tuple(clock.points),
        detail=detail,
    )


def _float(value: float | Fraction | None) -> float | None:
    return None if value is None else float(value)
