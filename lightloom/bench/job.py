"""Jobs: who can be asked a problem, one question to one of them, how it is asked."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from lightloom.bench.isolation import EventClock
from lightloom.bench.measures import MEASURES, STAGE
from lightloom.bench.results import Ending, Finding, Proof, Row, code_version
from lightloom.core.certificate import COMPLETION_TIME, gap
from lightloom.core.errors import (
    InputError,
    unknown_name,
)
from lightloom.core.outcome import Limit, Outcome, Reason
from lightloom.core.task import Collective, Demand, Workload
from lightloom.problems.problem import LIGHTLOOM, Problem, ProblemAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from lightloom.bench.isolation import Event
    from lightloom.bench.results import Measured, Parameter
    from lightloom.instances.instance import Instance


MEASURE = "measure"
"""What is measured besides answers, see `lightloom.bench.measures`."""
OWN = LIGHTLOOM
"""Our own algorithm for a problem, as in ``lightloom solve``."""
_SOONEST_END = Problem(
    name=COMPLETION_TIME,
    summary="soonest end of a task",
    sense="minimise",
    unit="ps",
    schedule_objective=COMPLETION_TIME,
)
"""Algorithms take part, no solvers."""
_MEASURED = Problem(
    name=MEASURE, summary="what work in stages takes", sense="minimise", unit=""
)
"""Measures take part, whose numbers count what each says."""
_AUTO = "auto"
_KEY_LENGTH = 24
"""Hexadecimal digits of the key of a run: 96 bits do not collide in a file of
results."""
_GRACE_S = 8.0
"""A solver is told its time limit, and given this much more to stop by itself."""
_CALLABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True)
class Entrant:
    """Somebody who is asked a problem.

    `solver`: a solver, ``lightloom``, an algorithm, or ``module:function``.
    `parameters`: the variant of the model, or the parameters of the algorithm.
    `version`: of the solver's package, or of our code; ``None`` where not installed.
    `sense`, `unit`: what the problem asks for.
    """

    solver: str
    parameters: dict[str, Parameter]
    version: str | None
    sense: str
    unit: str


def is_callable(solver: str) -> bool:
    """Return whether this names a function rather than a solver."""
    return _CALLABLE.fullmatch(solver) is not None


def entrant(problem: str, by: str | Mapping[str, Any], where: str) -> Entrant:
    """Return who is meant by an entry of ``by``.

    `problem`: a problem of `lightloom.problems`, ``completion-time`` or ``measure``.
    `by`: a name, or a table of ``solver`` and parameters.

    Raises `InputError`: unknown problem, solver, algorithm or parameter.
    """
    table: dict[str, Any] = {"solver": by} if isinstance(by, str) else dict(by)
    solver = table.pop("solver", None)
    if not isinstance(solver, str):
        fix = 'write solver = "NAME"'
        raise InputError("no solver is named", where=where, found=solver, fix=fix)
    asked = problem_named(problem, where.rpartition(".by")[0])
    if problem == COMPLETION_TIME:
        return _algorithm(solver, table, where)
    if problem == MEASURE:
        return _measure(solver, table, where)
    if not is_callable(solver) and solver != OWN:
        return _solver(asked, solver, table, where)
    if table:
        what = f"{solver} takes no parameters"
        raise InputError(what, where=where, found=sorted(table))
    if solver == OWN and asked.solve is None:
        what = f"lightloom has no algorithm of its own for {problem}"
        raise InputError(what, where=where)
    return Entrant(solver, {}, code_version(), asked.sense, asked.unit)


def problem_named(name: str, where: str = "problem") -> Problem:
    """Return the problem of a name, ``completion-time`` and ``measure`` included.

    Raises `InputError`: unknown problem.
    """
    from lightloom.problems import PROBLEMS

    if name == COMPLETION_TIME:
        return _SOONEST_END
    if name == MEASURE:
        return _MEASURED
    if name not in PROBLEMS:
        known = sorted([*PROBLEMS, COMPLETION_TIME, MEASURE])
        raise unknown_name("problem", name, known, where=where)
    return PROBLEMS[name]


def _solver(
    problem: Problem, name: str, parameters: dict[str, Parameter], where: str
) -> Entrant:
    from lightloom.solvers import SOLVERS

    if name not in SOLVERS:
        raise unknown_name(
            "solver", name, [OWN, *SOLVERS, "module:function"], where=where
        )
    problem.check_variant(parameters, where)
    version = SOLVERS[name].status().version
    return Entrant(name, parameters, version, problem.sense, problem.unit)


def _measure(name: str, parameters: dict[str, Parameter], where: str) -> Entrant:
    from lightloom.bench.measures import MEASURES, check_parameters

    if name not in MEASURES:
        raise unknown_name("measure", name, sorted(MEASURES), where=where)
    measure = MEASURES[name]
    check_parameters(measure, parameters, where)
    version = code_version()
    return Entrant(name, parameters, version, _MEASURED.sense, measure.unit)


def _algorithm(name: str, parameters: dict[str, Parameter], where: str) -> Entrant:
    from lightloom.plans.algorithms import ALGORITHMS
    from lightloom.synth.demand_algorithms import ON_DEMANDS

    known = [_AUTO, *ALGORITHMS, *ON_DEMANDS]
    if name not in known and not is_callable(name):
        raise unknown_name("algorithm", name, [*known, "module:function"], where=where)
    asked = _SOONEST_END
    return Entrant(name, parameters, code_version(), asked.sense, asked.unit)


@dataclass(frozen=True, kw_only=True)
class BenchJob:
    """A problem put to an entrant, in a run that is to be made.

    `lightloom.bench.results.Row` says what the fields are.
    """

    suite: str
    problem: str
    entrant: Entrant
    instance: Instance
    seed: int
    time_limit_s: float
    instance_sha256: str
    memory_limit_bytes: int | None

    @property
    def key(self) -> str:
        """The hash of what decides the outcome."""
        decisive = [
            self.instance_sha256,
            self.problem,
            self.entrant.solver,
            self.entrant.parameters,
            self.entrant.version,
            self.time_limit_s,
            self.memory_limit_bytes,
            self.seed,
        ]
        text = json.dumps(decisive, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]

    @property
    def search_limit_s(self) -> float:
        """Seconds after which the search is ended."""
        solver = self.entrant.solver
        told = solver != OWN and not is_callable(solver)
        told = told and self.problem != COMPLETION_TIME
        return self.time_limit_s + (_GRACE_S if told else 0.0)

    def find(self, tell: Callable[[Event], None]) -> Finding:
        """Return what is answered."""
        return ask(self, tell)

    def row(self, finding: Finding, measured: Measured) -> Row:
        """Return the row of this job."""
        return Row(
            key=self.key,
            suite=self.suite,
            problem=self.problem,
            sense=self.entrant.sense,
            unit=self.entrant.unit,
            instance=self.instance.name,
            instance_sha256=self.instance_sha256,
            size=size_of(self.instance),
            solver=self.entrant.solver,
            parameters=self.entrant.parameters,
            version=self.entrant.version,
            time_limit_s=self.time_limit_s,
            memory_limit_bytes=self.memory_limit_bytes,
            seed=self.seed,
            finding=finding,
            peak_bytes=measured.peak_bytes,
            wall_s=measured.wall_s,
            started=measured.started,
            lightloom=code_version(),
            machine=measured.machine,
        )


def instance_hash(instance: Instance) -> str:
    """Return the SHA-256 of what an instance asks, its name left out."""
    asked = {**instance.table(), "requests": instance.requests}
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def size_of(instance: Instance) -> int:
    """Return how many requests, pairs, operations, ranks or nodes an instance has."""
    if instance.requests is not None:
        return len(instance.requests)
    if isinstance(instance.task, Demand):
        return len(instance.task.src)
    if isinstance(instance.task, Workload):
        return len(instance.task.op)
    if isinstance(instance.task, Collective):
        return instance.task.rank_count
    return instance.fabric.node_count


_ENDINGS = {
    Reason.PROVEN_OPTIMAL: Ending.OPTIMAL,
    Reason.STOPPED_WITH_ANSWER: Ending.ANSWER,
    Reason.STOPPED_WITHOUT_ANSWER: Ending.NO_ANSWER,
    Reason.PROVEN_INFEASIBLE: Ending.INFEASIBLE,
    Reason.FAILED: Ending.FAILED,
}


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
