"""Executing a job: ask, time, verify. Runs in the process of the run."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import msgspec

from lightloom.bench.isolation import EventClock
from lightloom.bench.job import MEASURE, OWN, is_callable, problem_named
from lightloom.bench.measures import MEASURES, STAGE
from lightloom.bench.results import Ending, Finding, Proof
from lightloom.core.certificate import COMPLETION_TIME, gap
from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.outcome import Limit, Outcome, Reason
from lightloom.problems.problem import ProblemAnswer

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from lightloom.bench.isolation import Event, IsolatedJob
    from lightloom.bench.job import BenchJob
    from lightloom.instances.instance import Instance
    from lightloom.problems import Problem


_ENDINGS = {
    Reason.PROVEN_OPTIMAL: Ending.OPTIMAL,
    Reason.STOPPED_WITH_ANSWER: Ending.ANSWER,
    Reason.STOPPED_WITHOUT_ANSWER: Ending.NO_ANSWER,
    Reason.PROVEN_INFEASIBLE: Ending.INFEASIBLE,
    Reason.FAILED: Ending.FAILED,
}


def execute(job: IsolatedJob, tell: Callable[[Event], None]) -> Finding:
    """Return what a job finds; whatever it raises is a finding too."""
    try:
        return job.find(tell)
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


def ask(job: BenchJob, tell: Callable[[Event], None]) -> Finding:
    """Return what is answered to a question."""
    problem = problem_named(job.problem)
    if job.problem == MEASURE:
        return _measured(job, tell)
    solver = job.entrant.solver
    if solver == OWN or is_callable(solver):
        solve = problem.solve if solver == OWN else _callable(solver)
        assert solve is not None
        clock = EventClock(tell)
        answer = solve(job.instance, job.seed)
        clock.progress(float(answer.value), _float(answer.bound))
        clock.stop()
        return _finding(job, answer, clock, trusted=solver == OWN)
    if job.problem == COMPLETION_TIME:
        return _synthesised(job, tell)
    return _solved(problem, job, tell)


def _measured(job: BenchJob, tell: Callable[[Event], None]) -> Finding:
    """Return the number that the timed stage comes to."""
    measure = MEASURES[job.entrant.solver]
    parameters = dict(job.entrant.parameters)
    stage = parameters.pop(STAGE, measure.stages[-1])
    stages = measure.run(job.instance, job.seed, **parameters)
    for name in measure.stages:
        if name == stage:
            break
        next(stages)
    clock = EventClock(tell)
    value = next(stages)
    clock.progress(float(value), None)
    clock.stop()
    return _finding(job, ProblemAnswer(value, None), clock)


def _callable(solver: str) -> Callable[[Instance, int], ProblemAnswer]:
    """Return the function that ``module:function`` names."""
    module, _, function = solver.partition(":")
    try:
        solve: Callable[[Instance, int], ProblemAnswer] = getattr(
            importlib.import_module(module), function
        )
    except (ImportError, AttributeError) as problem:
        what = f"cannot import the solver: {problem}"
        raise InputError(what, found=solver) from None
    return solve


def _synthesised(job: BenchJob, tell: Callable[[Event], None]) -> Finding:
    """Return what an algorithm for schedules finds."""
    from lightloom.synth.synthesise import synthesise

    clock = EventClock(tell)
    outcome = synthesise(
        job.instance, job.entrant.solver, job.entrant.parameters, seed=job.seed
    )
    clock.progress(outcome.objective, outcome.bound)
    clock.stop()
    assert outcome.incumbent is not None
    schedule = outcome.incumbent.schedule
    value = schedule.footer.completion_time_ps
    answer = ProblemAnswer(value, None, schedule=lambda: schedule)
    finding = _finding(job, answer, clock)
    return msgspec.structs.replace(finding, algorithm=schedule.algorithm.name)


def _solved(problem: Problem, job: BenchJob, tell: Callable[[Event], None]) -> Finding:
    """Return what a solver finds: start it, state the model, run, verify."""
    from lightloom.solvers import SolveOptions, usable
    from lightloom.solvers.adapter import smallest_model
    from lightloom.solvers.child import solve_in_child

    adapter = usable(job.entrant.solver)
    solve_in_child(adapter, smallest_model(adapter), SolveOptions())
    clock = EventClock(tell)
    if problem.search is not None and not job.entrant.parameters:
        options = SolveOptions(time_limit_s=job.time_limit_s, seed=job.seed)
        outcome = problem.search(
            job.instance, job.entrant.solver, options, lambda _: None
        )
        clock.progress(outcome.objective, outcome.bound)
        clock.stop()
    else:
        outcome = _by_model(problem, job, clock)
    answer = outcome.incumbent
    if answer is None:
        return _without_answer(outcome, clock)
    ending, trusted = _ENDINGS[outcome.reason], bool(answer.bound_kind)
    return _finding(job, answer, clock, ending, trusted=trusted)


def _by_model(
    problem: Problem, job: BenchJob, clock: EventClock
) -> Outcome[ProblemAnswer]:
    """Return the outcome of a solver that is given the model; decoding is not timed."""
    from lightloom.problems.solver_model import model_that_fits, solver_answer
    from lightloom.solvers import SolveOptions, run

    asked, variant = job.instance, job.entrant.parameters
    formulation = model_that_fits(problem, asked, variant, lambda _: None)
    model = formulation.build(asked, **variant)
    clock.built()
    left_s = max(0.0, job.time_limit_s - clock.elapsed_s())
    outcome: Outcome[Any] = run(
        model,
        job.entrant.solver,
        SolveOptions(time_limit_s=left_s, seed=job.seed),
        lambda news: clock.progress(news.objective, news.bound),
    )
    clock.progress(outcome.objective, outcome.bound)
    clock.stop()
    if outcome.incumbent is None:
        return outcome
    answer = solver_answer(formulation, asked, model, outcome)
    return outcome.standing_for(answer)


def _without_answer(outcome: Outcome[Any], clock: EventClock) -> Finding:
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
    job: BenchJob,
    answer: ProblemAnswer,
    clock: EventClock,
    ending: Ending | None = None,
    *,
    trusted: bool = False,
) -> Finding:
    """Return the finding of a run that gave an answer, once it was checked."""
    from lightloom.problems.checked_answer import check_answer

    problem, value = problem_named(job.problem), answer.value
    given = check_answer(problem, job.instance, answer, trusted=trusted)
    if ending is None:
        ending = Ending.OPTIMAL if value == given.bound else Ending.ANSWER
    if given.fault:
        ending = Ending.WRONG
    proof = Proof.NONE
    if given.bound is not None:
        proof = Proof.CHECKED if given.certified else Proof.CLAIMED
    detail = "; ".join(filter(None, [given.fault, *given.detail]))
    if clock.solve_s > job.time_limit_s:
        detail = "; ".join(filter(None, [detail, "over its time limit"]))
    return Finding(
        ending=ending,
        answer=str(value),
        bound_exact=None if given.bound is None else str(given.bound),
        objective=float(value),
        bound=_float(given.bound),
        gap=gap(value, given.bound),
        proof=proof,
        witness=given.kind,
        verified=given.verified,
        first_answer_s=clock.first_answer_s(),
        proof_s=clock.solve_s if ending is Ending.OPTIMAL else None,
        build_s=clock.build_s,
        solve_s=clock.solve_s,
        cpu_s=clock.cpu_s,
        check_s=clock.since_stop_s(),
        trace=tuple(clock.points),
        detail=detail,
    )


def _float(value: float | Fraction | None) -> float | None:
    return None if value is None else float(value)
